package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
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

// refusing is a store that rejects everything while it has a fault, like one without any reserve.
type refusing struct{ breaking }

func (r *refusing) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	if f := r.fault.Load(); f != nil {
		return f
	}
	return r.Store.Commit(ctx, b, now)
}

// An alarm that could not be stored when it began is stored when it ends.
func TestAlarmOfAStoreThatTookNothingIsStoredAfterwards(t *testing.T) {
	r := &refusing{breaking{Store: memory.New()}}
	c := &controller{logger: slog.New(slog.DiscardHandler), store: records{Store: r, probe: func(context.Context) error { return r.trouble() }}}
	w := &storeWatch{c: c}
	noon := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	for minute, fault := range []*store.Fault{nil, {Kind: store.Full, Remedy: "free some space"}, {Kind: store.Full, Remedy: "free some space"}, nil, nil} {
		r.fault.Store(fault)
		if err := w.check(t.Context(), noon.Add(time.Duration(minute)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	events, err := r.EventsAfter(t.Context(), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprintf("%s %s %s", e.Event.Time.Format("15:04"), e.Event.Detail.Extra.(event.Alarm).State, e.Event.Detail.Message))
	}
	if diff := cmp.Diff([]string{"12:01 ALARM free some space", "12:03 OK the store accepts writes again"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
