//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// relay passes requests on to a server, or fails them as a network does.
type relay struct {
	*httptest.Server

	mu     sync.Mutex
	faults map[string]fault // by the last part of the path; "" for all others
	claim  map[string]any   // replaces members of the answer to a claim
	asked  []string         // the last part of each path
	keys   []string         // the idempotency keys of claims
}

// fault is what a relay does with a request.
type fault int

const (
	forwarded      fault = iota
	unanswered           // accepts the request and never answers
	severed              // closes the connection instead of sending the request
	answerLost           // sends the request and closes the connection instead of answering
	answerLostOnce       // lost for one request
	badGateway           // answers 502
	forbidden            // answers 403 as the server would
)

// relayTo starts a relay to the server at an address.
func relayTo(t *testing.T, address string) *relay {
	t.Helper()
	return relayAt(t, address, "127.0.0.1")
}

// relayAt starts a relay that listens at an address of this machine.
func relayAt(t *testing.T, address, host string) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{faults: map[string]fault{}}
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(p *httputil.ProxyRequest) { p.SetURL(to) },
		ErrorHandler:   func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ModifyResponse: r.changed,
	}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		switch r.take(in) {
		case unanswered:
			_, _ = io.Copy(io.Discard, in.Body) // so that the server notices when the client gives up
			<-in.Context().Done()
		case severed:
			panic(http.ErrAbortHandler)
		case answerLost, answerLostOnce:
			proxy.ServeHTTP(httptest.NewRecorder(), in)
			panic(http.ErrAbortHandler)
		case badGateway:
			w.WriteHeader(http.StatusBadGateway)
		case forbidden:
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"status": 403, "detail": "no", "requestId": "r"}`)
		case forwarded:
			proxy.ServeHTTP(w, in)
		}
	}))
	_ = r.Listener.Close() // another one takes its place
	r.Listener = listener
	r.Start()
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

// on sets the fault of requests.
func (r *relay) on(last string, f fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults[last] = f
}

// take records a request and returns its fault.
func (r *relay) take(in *http.Request) fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := filepath.Base(in.URL.Path)
	r.asked = append(r.asked, last)
	if last == "claim" {
		r.keys = append(r.keys, in.Header.Get("Idempotency-Key"))
	}
	f, is := r.faults[last]
	if !is {
		f = r.faults[""]
	}
	if f == answerLostOnce {
		delete(r.faults, last)
	}
	return f
}

// changed replaces members of the answer to a claim.
func (r *relay) changed(answer *http.Response) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.claim == nil || answer.StatusCode != http.StatusOK || filepath.Base(answer.Request.URL.Path) != "claim" {
		return nil
	}
	var members map[string]any
	if err := json.NewDecoder(answer.Body).Decode(&members); err != nil {
		return err
	}
	for name, value := range r.claim {
		members[name] = value
	}
	data, err := json.Marshal(members)
	answer.Body = io.NopCloser(bytes.NewReader(data))
	answer.ContentLength = int64(len(data))
	answer.Header.Del("Content-Length")
	return err
}

// count returns how many requests there were of a kind.
func (r *relay) count(last string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, one := range r.asked {
		if one == last {
			n++
		}
	}
	return n
}

// claimKeys returns the different idempotency keys of claims.
func (r *relay) claimKeys() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(r.keys)))
}
