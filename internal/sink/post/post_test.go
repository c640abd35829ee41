package post_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/sink/post"
	"github.com/interlock-go/interlock/internal/sink/sinktest"
)

var noon = sinktest.Noon

// client returns a client that may reach allow besides public addresses.
func client(t *testing.T, allow ...string) *http.Client {
	t.Helper()
	g, err := egress.New(allow)
	if err != nil {
		t.Fatal(err)
	}
	return g.Client(time.Minute)
}

func send(t *testing.T, c *http.Client, url string) (post.Answer, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	return post.Do(c, req, "hook", noon)
}

func TestAnswersAreClassified(t *testing.T) {
	for code, want := range map[int]string{
		200: "taken", 204: "taken", 301: "mend", 307: "mend", 400: "refused", 401: "mend", 403: "mend", 404: "mend", 405: "mend", 408: "again", 410: "mend",
		413: "refused", 422: "refused", 425: "again", 429: "busy", 500: "again", 502: "again", 503: "busy",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(code)
		}))
		_, err := send(t, client(t, "127.0.0.1"), server.URL)
		server.Close()
		if got := sinktest.Verdict(err); got != want {
			t.Errorf("%d: %s (%v), want %s", code, got, err, want)
		}
	}
}

func TestRetryAfterIsObeyedInBothFormsAndBounded(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"7": 7 * time.Second, "86400": time.Hour, "9999999999999": time.Hour, noon.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		noon.Add(24 * time.Hour).Format(http.TimeFormat): time.Hour, "": 0, "soon": 0, "-5": 0, noon.Add(-time.Hour).Format(http.TimeFormat): 0,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		_, err := send(t, client(t, "127.0.0.1"), server.URL)
		server.Close()
		var busy *sink.Busy
		switch asked := errors.As(err, &busy); {
		case want == 0 && (asked || err == nil):
			t.Errorf("%q: got %v", header, err)
		case want > 0 && (!asked || busy.After != want):
			t.Errorf("%q: got %v, want %s", header, err, want)
		}
	}
}

func TestBlockedAddressIsMisconfigured(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, err := send(t, client(t), server.URL+"/s3cret")
	if sinktest.Verdict(err) != "mend" || !strings.Contains(err.Error(), "egress.allow") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
}

func TestUnknownCertificateIsMisconfigured(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	if _, err := send(t, client(t, "127.0.0.1"), server.URL); sinktest.Verdict(err) != "mend" {
		t.Errorf("got %v", err)
	}
}

func TestUnreachableSinkIsRetried(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	_, err := send(t, client(t, "127.0.0.1"), server.URL+"/s3cret")
	if sinktest.Verdict(err) != "again" || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
}

func TestBeginningOfAnAnswerIsKept(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		w.Write([]byte(strings.Repeat("x", 10_000)))
	}))
	defer server.Close()
	if got, err := send(t, client(t, "127.0.0.1"), server.URL); got.Status != 400 || len(got.Body) != 4096 || sinktest.Verdict(err) != "refused" {
		t.Errorf("got %d, %d bytes, %v", got.Status, len(got.Body), err)
	}
}
