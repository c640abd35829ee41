package explain_test

import (
	"testing"
	"time"

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
