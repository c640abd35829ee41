package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
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

func TestHealthFailsIfTheControllerFallsBehind(t *testing.T) {
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
		t.Errorf("unreachable server: %+v", got)
	}
}

// mute is a store that never answers.
type mute struct{ store.Store }

func (mute) Backlog(ctx context.Context, _ string) (int, time.Time, error) {
	<-ctx.Done()
	return 0, time.Time{}, ctx.Err()
}

func TestHealthDoesNotWaitForAStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mute{memory.New()}
		loaded := make(chan struct{})
		close(loaded)
		c := &controller{
			loaded: loaded,
			engine: engine.New(engine.Options{Store: s, Logger: slog.New(slog.DiscardHandler)}), store: records{Store: s}, archive: &archiving{store: s}, catalog: catalog.New(s, nil),
		}
		h := c.health(t.Context())
		if h.Ready || !in(h.Checks[0].Detail, "the store does not answer") {
			t.Errorf("got %+v", h)
		}
	})
}

func TestTasksThatKeepFailingAreReported(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"shelf.yaml": shelfFile}})
	b := store.Batch{ID: "of a newer version"}
	b.Schedule(store.Task{ID: "new/shelf", Kind: "not invented yet", Pipeline: "shelf", Due: time.Now()})
	if err := s.c.store.Commit(t.Context(), b, time.Now()); err != nil {
		t.Fatal(err)
	}
	s.until("readyz reports it", func() bool {
		return in(fmt.Sprint(s.fetch("/readyz")), "failing tasks", "new/shelf", "not invented yet")
	})
	if shown := s.metrics(); !in(shown, "interlock_failing_tasks 1\n") {
		t.Errorf("the failing task is not counted in\n%s", shown)
	}
	s.must(0, "health") // it blocks nothing else
	s.until("it is announced", func() bool { return in(s.run("events").stdout, "INFRA_FAILURE", "new/shelf") })
}
