package api

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// response records the status and size of a response, and turns the standard library's plain-text
// errors into problems.
type response struct {
	http.ResponseWriter
	request  *http.Request
	status   int
	bytes    int64
	replaced bool // the body that the handler writes was replaced
}

// Unwrap lets http.ResponseController reach the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *response) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	if status >= http.StatusBadRequest && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		standardProblem(w.request, status, w.Header().Get("Allow")).write(w, w.request)
		w.replaced = true
		return
	}
	if status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(b []byte) (int, error) {
	if w.replaced {
		return len(b), nil
	}
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// standardProblem returns a Problem for an error of the standard library.
func standardProblem(r *http.Request, status int, allow string) *Problem {
	switch status {
	case http.StatusNotFound:
		return noPath(r)
	case http.StatusMethodNotAllowed:
		return problem(status, plainKind, "%s is not allowed here; use %s", r.Method, allow).with("Allow", allow)
	}
	return problem(status, plainKind, "%s", http.StatusText(status))
}

// tagged buffers a response until its ETag is known, so that a client which already has it gets
// only 304.
type tagged struct {
	http.ResponseWriter
	status int
	body   []byte
}

// Unwrap lets http.ResponseController reach the connection.
func (w *tagged) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *tagged) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *tagged) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.body = append(w.body, b...)
	return len(b), nil
}

// send writes the buffered response, or 304 if the client already has it.
func (w *tagged) send(r *http.Request) {
	w.WriteHeader(http.StatusOK)
	if w.status == http.StatusOK {
		sum := sha256.Sum256(w.body)
		tag := `"` + hex.EncodeToString(sum[:12]) + `"`
		w.Header().Set("ETag", tag)
		w.Header().Set("Cache-Control", "no-cache")
		if matches(r.Header.Get("If-None-Match"), tag) {
			w.Header().Del("Content-Type")
			w.ResponseWriter.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.ResponseWriter.WriteHeader(w.status)
	_, _ = w.ResponseWriter.Write(w.body) // the client may have disconnected
}

// matches reports whether a list of ETags contains tag, or is *.
func matches(list, tag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == tag {
			return true
		}
	}
	return false
}
