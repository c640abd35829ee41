package api_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

func TestBoardDistinguishesOverdueAtRiskAndOnTrack(t *testing.T) {
	w := running(t)
	board := func() (states []string) {
		t.Helper()
		for _, item := range w.get("/api/v1/deadlines/board").object(200)["items"].([]any) {
			states = append(states, fmt.Sprint(at(item, "date"), " ", at(item, "state"), " ", at(item, "phase"), " ", at(item, "owner")))
		}
		return states
	}
	on := []string{"2026-03-04 on-track running data", "2026-03-05 on-track <nil> data"}
	if diff := cmp.Diff(on, board()); diff != "" {
		t.Errorf("without completed runs (-want +got):\n%s", diff)
	}
	key := w.Key("orders/cron/2026-03-02")
	ended := w.Now().Add(-24 * time.Hour)
	long := run.Run{Key: key, Version: 1, Status: run.Completed, Attempt: 1, OpenedAt: ended.Add(-6 * time.Hour), UpdatedAt: ended, EndedAt: ended}
	long.Progress.StartedAt = ended.Add(-6 * time.Hour)
	b := store.Batch{ID: "past"}
	b.Create(long)
	w.Check(w.Store.Commit(ctx, b, ended))
	w.Settle()
	risk := []string{"2026-03-04 at-risk running data", "2026-03-05 at-risk <nil> data"}
	if diff := cmp.Diff(risk, board()); diff != "" {
		t.Errorf("jobs that take six hours (-want +got):\n%s", diff)
	}
}

// The run is completed as soon as the controller gets to it.
func TestBoardShowsARunWithAnAcknowledgedSuccessOnTrack(t *testing.T) {
	w := running(t)
	key := w.Key("orders/cron/2026-03-04")
	page, err := w.Store.Deadlines(ctx, store.DeadlineQuery{Key: key})
	w.Check(err)
	warned := page.Items[0]
	warned.Warned = true
	b := store.Batch{ID: "warn"}
	b.SwapDeadline(page.Items[0], warned)
	w.Check(w.Store.Commit(ctx, b, w.Now()))
	first := func() any { return w.get("/api/v1/deadlines/board?pipeline=orders").object(200)["items"].([]any)[0] }
	if item := first(); at(item, "state") != "at-risk" {
		t.Errorf("warned: %v", item)
	}
	w.post("/api/v1/runs/orders/cron/2026-03-04/job", `{"result":"success"}`).object(200)
	if item := first(); at(item, "state") != "on-track" || at(item, "expectedAt") == nil {
		t.Errorf("with a success: %v", item)
	}
}

// A run that failed finally is overdue once its deadline has passed, and has no expected end
// before.
func TestBoardShowsFailedRunsWithTheirDeadline(t *testing.T) {
	w := running(t)
	for range 2 { // the second time there is no retry left
		w.post("/api/v1/runs/orders/cron/2026-03-04/job", `{"result":"fail","category":"PERMANENT","message":"no such table"}`).object(200)
		w.Settle()
		w.Pass(30 * time.Minute)
	}
	first := func() any { return w.get("/api/v1/deadlines/board?pipeline=orders").object(200)["items"].([]any)[0] }
	item := first()
	for key, want := range map[string]any{"state": "at-risk", "date": "2026-03-04", "phase": "failed", "kind": "absolute", "critical": false, "warned": false, "expectedAt": nil} {
		if got := at(item, key); got != want {
			t.Errorf("%s is %v, want %v: %v", key, got, want, item)
		}
	}
	w.Pass(6 * time.Hour)
	if item := first(); at(item, "state") != "overdue" || at(item, "date") != "2026-03-04" || at(item, "phase") != "failed" {
		t.Errorf("after its deadline: %v", item)
	}
	w.get("/api/v1/deadlines/board?pipeline=nothing").problem(404, "problem:unknown-pipeline")
}
