package jobtest

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"sync"
)

// Call is a request that reached a target.
type Call struct {
	Method string
	Host   string
	URI    string // path and query, as they were sent
	Header http.Header
	Body   []byte
}

// Wire records the requests that reach an HTTP target.
type Wire struct {
	mu    sync.Mutex
	calls []Call
}

// Record records each request before the target sees it.
func (w *Wire) Record(target http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		w.mu.Lock()
		w.calls = append(w.calls, Call{Method: r.Method, Host: r.Host, URI: r.RequestURI, Header: r.Header.Clone(), Body: body})
		w.mu.Unlock()
		target.ServeHTTP(rw, r)
	})
}

// Calls returns the requests so far, in order.
func (w *Wire) Calls() []Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls)
}
