package demo

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// storyOn returns a story on s, and its output.
func storyOn(s *memory.Store) (*story, *bytes.Buffer) {
	var out bytes.Buffer
	return newStory(Options{Store: s, Out: &out, Speed: 1, Now: time.Now}), &out
}

// happen stores events.
func happen(t *testing.T, s *memory.Store, id string, events ...event.Event) {
	t.Helper()
	b := store.Batch{ID: id}
	b.Emit(events...)
	if err := s.Commit(t.Context(), b, now); err != nil {
		t.Fatal(err)
	}
}

func TestTheStoryGoesOnWhenAllThatItWaitsForHasHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memory.New()
		s, out := storyOn(db)
		started := about(event.JobTriggered, 1, "started", event.Started{})
		happen(t, db, "first", started)
		done := make(chan error)
		go func() {
			done <- s.await(t.Context(), completed(quakeSilver, someMinute, 1), want{event.JobTriggered, quakeSilver, someMinute, 1})
		}()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("went on without a completion: %v", err)
		default:
		}
		happen(t, db, "second", about(event.JobCompleted, 1, "exit code 0", event.Finished{}))
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got := strings.Count(out.String(), "\n"); got != 2 {
			t.Errorf("told %d events: %s", got, out)
		}
	})
}

func TestTheAuditRecordIsNotPartOfTheStory(t *testing.T) {
	s, out := storyOn(memory.New())
	s.event(t.Context(), event.New(event.Audit, event.About{Pipeline: quakeSilver, At: now}, "pause by operator: done", event.Audited{}))
	if out.Len() > 0 {
		t.Errorf("told %s", out)
	}
}

func TestAnEventThatDoesNotComeIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := storyOn(memory.New())
		err := s.await(t.Context(), completed(quakeSilver, someMinute, 1))
		want := "timed out after 30s waiting for JOB_COMPLETED of earthquake-silver 2026-03-03T10:15"
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

func TestAnInterruptedStoryIsNotAFailure(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	err := Run(ctx, Options{Store: memory.New(), Address: "http://127.0.0.1:0", Out: &out, Speed: 1, Now: time.Now})
	if err != nil || !strings.Contains(out.String(), "What you have seen so far") || strings.Count(out.String(), "(not reached)") != len(chapters) {
		t.Errorf("%v: %s", err, out.String())
	}
}

func TestAStoryThatCannotBeToldIsAFailure(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	var out bytes.Buffer
	err := Run(t.Context(), Options{Store: memory.New(), Address: server.URL, Out: &out, Speed: 1, Now: time.Now})
	if err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("%v: %s", err, out.String())
	}
}

func TestASourcePushesOverHTTP(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, r.Method+" "+r.URL.String(), strings.TrimSpace(string(body)))
		_, _ = io.WriteString(w, "{}")
	}))
	defer server.Close()
	r := reading{quakeSilver, quality, someMinute, sensor.Fields{"rejected": 2}}
	if err := r.write(t.Context(), clientOf(t, server), checker); err != nil {
		t.Fatal(err)
	}
	want := []string{"PUT /api/v1/pipelines/earthquake-silver/sensors/quality?source=quality+check", `{"date":"2026-03-03","hour":10,"minute":15,"rejected":2}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheGateIsAskedForAPeriod(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("date") != someMinute.String() {
			t.Errorf("asked %s", r.URL)
		}
		_, _ = io.WriteString(w, `{"open": false, "rules": [{"key": "quality", "effectiveOutcome": "unknown", "reason": "no reading"}]}`)
	}))
	defer server.Close()
	s, out := storyOn(memory.New())
	s.api = clientOf(t, server)
	if err := s.showGate(t.Context(), someMinute); err != nil || !strings.Contains(out.String(), "is closed:\n    ? quality        no reading\n") {
		t.Errorf("%v: %s", err, out)
	}
}

func clientOf(t *testing.T, server *httptest.Server) *client.Client {
	t.Helper()
	c, err := client.New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestItIsTooLateWhenNoWindowIsOpen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := now.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "now")))
		paused := start.Add(-time.Duration(rapid.Int64Range(0, int64(10*time.Minute)).Draw(t, "ago")))
		fire := paused.Truncate(time.Minute).Add(time.Minute)
		got := tooLate(start, fire)
		switch {
		case got.Before(start) || got.Before(fire.Add(slack)):
			t.Errorf("%s is too early for %s at %s", got, fire, start)
		case got.Sub(got.Truncate(time.Minute)) < slack:
			t.Errorf("at %s a window may be open", got)
		case got.Sub(start) > time.Minute+slack:
			t.Errorf("at %s one waits until %s", start, got)
		}
	})
}
