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

// Broken reports that the host of an attempt could not continue, and why. The run and its task stay unchanged:
// another worker continues. who identifies the host; a repeated report from the same host is one event.
func (o *Orchestrator) Broken(ctx context.Context, key run.Key, attempt int, who, cause string, now time.Time) (run.Run, error) {
	r, err := o.Store.Run(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("read run %s: %w", key, err)
	}
	if r.Status.Ended() {
		return r, nil // nothing left to continue
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
