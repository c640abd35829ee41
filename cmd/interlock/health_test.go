package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestHealthIsTheControllersOwnWord(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"shelf.yaml": shelfFile}})
	if got := s.must(0, "health"); !in(got.stdout, "ready\n", "✓  engine") {
		t.Errorf("got %s", got.stdout)
	}
	if got := s.must(0, "health", "--format", "json"); !in(got.stdout, `"status": "ready"`) {
		t.Errorf("got %s", got.stdout)
	}
}

func TestHealthOfAControllerThatFallsBehindIsNo(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"status": 503, "detail": "feed 3m behind"}`)
	}))
	defer server.Close()
	if got := interlock("health", "--server", server.URL); got.code != 1 || got.stdout != "" || got.stderr != "interlock: feed 3m behind\n" {
		t.Errorf("got %+v", got)
	}
	server.Close()
	if got := interlock("health", "--server", server.URL); got.code != 3 {
		t.Errorf("nobody answers: %+v", got)
	}
}
