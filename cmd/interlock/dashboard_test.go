package main

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// TestBuiltPageKeepsToThePolicy checks the shipped files against the content security policy: the
// browser would block anything else.
func TestBuiltPageKeepsToThePolicy(t *testing.T) {
	h, err := newDashboard()
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	page := w.Body.String()
	if found := regexp.MustCompile(`(?s)<style|style=|<script[^>]*>[^<]|\bon[a-z]+="|https?://`).FindString(page); found != "" {
		t.Errorf("the page contains %q", found)
	}
	for _, src := range regexp.MustCompile(`(?:src|href)="(/[^"]+)"`).FindAllStringSubmatch(page, -1) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", src[1], nil))
		if w.Code != 200 || strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			t.Errorf("%s: status %d %s", src[1], w.Code, w.Header().Get("Content-Type"))
		}
	}
}
