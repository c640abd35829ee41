package explain_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

func TestAttemptWithARefusedStartHasEnded(t *testing.T) {
	at := time.Date(2026, 3, 3, 6, 0, 0, 0, time.UTC)
	refused := func(attempt int, after time.Duration) store.JobEntry {
		return store.JobEntry{Attempt: attempt, Event: store.JobRefused, At: at.Add(after), Category: run.Transient, Message: "connection refused"}
	}
	got := explain.Attempts(run.Run{Attempt: 3}, []store.JobEntry{
		refused(1, 0), refused(1, time.Minute),
		refused(2, 2*time.Minute),
		{Attempt: 2, Event: store.JobStarted, At: at.Add(3 * time.Minute)},
		refused(3, 4*time.Minute),
	}, nil)
	if a := got[0]; !a.EndedAt.Equal(at.Add(time.Minute)) || a.Result != run.ResultFail || a.Category != run.Transient || a.Message != "connection refused" {
		t.Errorf("attempt 1: %+v", a)
	}
	for _, a := range got[1:] {
		if !a.EndedAt.IsZero() || a.Result != "" {
			t.Errorf("attempt %d: ended at %v with %q", a.Number, a.EndedAt, a.Result)
		}
	}
}

func TestReplacedAttemptEndsWhenTheNextOneOpens(t *testing.T) {
	at := time.Date(2026, 3, 3, 6, 0, 0, 0, time.UTC)
	got := explain.Attempts(run.Run{Attempt: 2, Progress: run.Progress{Opening: run.Opening{At: at}}}, nil, nil)
	if a := got[0]; !a.EndedAt.Equal(at) || a.Result != "" {
		t.Errorf("attempt 1: %+v", a)
	}
	if a := got[1]; !a.EndedAt.IsZero() {
		t.Errorf("attempt 2: %+v", a)
	}
}

func TestAnotherAttemptDoesNotChangeWhenAnAttemptEnded(t *testing.T) {
	at := time.Date(2026, 3, 3, 6, 0, 0, 0, time.UTC)
	ended := at.Add(time.Minute)
	about := event.About{Pipeline: "orders", Attempt: 1, At: ended}
	reported := run.Progress{Opening: run.Opening{At: at}, StartedAt: at}
	reported.Report.Result, reported.Report.At = run.ResultSuccess, ended.Add(-time.Millisecond)
	for name, c := range map[string]struct {
		progress run.Progress
		log      []store.JobEntry
		event    event.Event
	}{
		"exhausted": {run.Progress{Opening: run.Opening{At: at}}, nil, event.New(event.ValidationExhausted, about, "", event.Gate{})},
		"cancelled": {run.Progress{Opening: run.Opening{At: at}, StartedAt: at}, nil, event.New(event.RunCancelled, about, "", event.Left{})},
		"left":      {run.Progress{Opening: run.Opening{At: at}, StartedAt: at}, nil, event.New(event.JobPollExhausted, about, "", event.Left{})},
		"succeeded": {reported, []store.JobEntry{{Attempt: 1, Event: store.JobSuccess, At: ended}}, event.New(event.JobCompleted, about, "", event.Finished{})},
	} {
		first := run.Run{Attempt: 1, Progress: c.progress, EndedAt: ended}
		second := run.Run{Attempt: 2, Progress: run.Progress{Opening: run.Opening{At: at.Add(time.Hour)}}}
		for _, r := range []run.Run{first, second} {
			if got := explain.Attempts(r, c.log, []event.Event{c.event})[0]; !got.EndedAt.Equal(ended) {
				t.Errorf("%s, of %d: ended at %s, want %s", name, r.Attempt, got.EndedAt, ended)
			}
		}
	}
}
