package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Broken tells that whoever carried an attempt on could not go on, and why. The run stays as it is, with its task: somebody else
// takes it from there. Who says which of several it was; the same one telling it twice is one event.
func (o *Orchestrator) Broken(ctx context.Context, key run.Key, attempt int, who, cause string, now time.Time) (run.Run, error) {
	r, err := o.Store.Run(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("read run %s: %w", key, err)
	}
	if r.Status.Ended() {
		return r, nil // there is nothing left to continue
	}
	about := event.About{
		Pipeline: key.Pipeline, Schedule: key.Schedule, Date: key.Period, Attempt: attempt, At: now, Which: "broken " + who, CausedBy: lifecycle.TaskID(key),
	}
	b := store.Batch{ID: fmt.Sprintf("broken/%s/%s", key.Attempt(attempt), who)}
	b.Emit(event.New(event.InfraFailure, about, fmt.Sprintf("%s cannot continue: %s", who, brief(cause)), event.Infra{Error: brief(cause)}))
	if err := o.Store.Commit(ctx, b, now); err != nil {
		return r, fmt.Errorf("report that %s of %s cannot continue: %w", who, key, err)
	}
	return r, nil
}
