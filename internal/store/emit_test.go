package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// interrupted is a store in which another process acts before the next commit.
type interrupted struct {
	*memory.Store
	other func()
}

func (s *interrupted) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	if other := s.other; other != nil {
		s.other = nil
		other()
	}
	return s.Store.Commit(ctx, b, now)
}

func TestOneOfTwoProcessesEmitsWhatIsEmittedOnce(t *testing.T) {
	now := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	s := &interrupted{Store: memory.New()}
	emit := func(to *interrupted) bool {
		t.Helper()
		e := event.New(event.PipelineExcluded, event.About{Pipeline: "orders", At: now}, "excluded", event.Exclusion{Rule: "weekend"})
		emitted, err := store.EmitOnce(t.Context(), to, "excluded", time.Time{}, e, now)
		if err != nil {
			t.Fatal(err)
		}
		return emitted
	}
	s.other = func() {
		if !emit(&interrupted{Store: s.Open()}) {
			t.Error("the first commit emitted nothing")
		}
	}
	if emit(s) {
		t.Error("the second commit reports that it has emitted the event")
	}
}
