package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// breaking is a store that rejects writes from outside while it has a fault. It still stores the
// controller's own writes, like a store with a reserve.
type breaking struct {
	store.Store
	fault atomic.Pointer[store.Fault]
}

func (b *breaking) PutReadings(ctx context.Context, writes []store.Write, now time.Time) ([]store.Put, error) {
	if f := b.fault.Load(); f != nil {
		return nil, f
	}
	return b.Store.PutReadings(ctx, writes, now)
}

func (b *breaking) trouble() error {
	if f := b.fault.Load(); f != nil {
		return f
	}
	return nil
}

// status sends a request, and returns the status and body of the answer.
func (s *service) status(method, path, body string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequest(method, s.address+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	var text strings.Builder
	if err := resp.Write(&text); err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, text.String()
}

// If a store is full, read-only, damaged or on a failing disk, the controller is unready, sends no
// heartbeat, answers writes with 507 and a remedy, and raises one alarm.
func TestStoreThatTakesNoChanges(t *testing.T) {
	for _, kind := range []store.FaultKind{store.Full, store.ReadOnly, store.Damaged, store.Failing} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			var beats atomic.Int64
			heart := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { beats.Add(1) }))
			defer heart.Close()
			s := serve(t, site{
				pipelines: map[string]string{"shelf.yaml": shelfFile},
				config:    fmt.Sprintf("egress: {allow: [127.0.0.1]}\nwatchdog: {interval: 1s, heartbeatURL: %q}\n", heart.URL),
				breaking:  &breaking{},
			})
			s.until("a heartbeat", func() bool { return beats.Load() > 0 })
			s.breaking.fault.Store(&store.Fault{Kind: kind, Remedy: "do this and that"})

			if status, text := s.status(http.MethodGet, "/readyz", ""); status != http.StatusServiceUnavailable || !in(text, "store: do this and that") {
				t.Errorf("readyz: %s", text)
			}
			for method, path := range map[string]string{
				http.MethodPut: "/api/v1/pipelines/shelf/sensors/stock", http.MethodPost: "/api/v1/pipelines/shelf/pause",
			} {
				status, text := s.status(method, path, `{"count": 1}`)
				if status != http.StatusInsufficientStorage || !in(text, "problem:store-"+string(kind), "do this and that", "application/problem+json") {
					t.Errorf("%s: got %s", path, text)
				}
			}
			if status, text := s.status(http.MethodGet, "/api/v1/pipelines/shelf", ""); status != http.StatusOK {
				t.Errorf("a read got %s", text)
			}
			s.until("the heartbeat stops", func() bool {
				_, text := s.status(http.MethodGet, "/readyz", "")
				return in(text, "heartbeat not sent")
			})
			last := beats.Load()
			s.until("an alarm", func() bool { return in(s.run("events").stdout, "INFRA_ALARM", "do this and that") })
			if n := beats.Load(); n != last {
				t.Errorf("%d heartbeats were sent", n-last)
			}

			s.breaking.fault.Store(nil)
			if status, text := s.status(http.MethodGet, "/readyz", ""); status != http.StatusOK {
				t.Errorf("readyz: %s", text)
			}
			s.until("heartbeats again", func() bool { return beats.Load() > last })
			s.until("the end of the alarm", func() bool { return strings.Count(s.run("events").stdout, "INFRA_ALARM") == 2 })
			s.must(0, "sensor", "set", "shelf", "stock", "count=1")
		})
	}
}
