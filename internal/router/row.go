package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// A dry run has the same life as a run, in rows of its own: what is here knows which of the two a pipeline has.

// keyOf is the pipeline's own run of a period.
func keyOf(e *catalog.Entry, p period.Period) run.Key {
	return run.Key{Pipeline: e.ID, Schedule: e.Opens, Period: p}
}

// row gives a run or dry run; the zero Run if there is none.
func (r *Router) row(ctx context.Context, e *catalog.Entry, key run.Key) (run.Run, error) {
	read := r.store.Run
	if e.DryRun {
		read = r.store.DryRun
	}
	found, err := read(ctx, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return run.Run{}, fmt.Errorf("read run %s: %w", key, err)
	}
	return found, nil
}

// rows gives the runs or dry runs of some periods; those that are not there are left out.
func (r *Router) rows(ctx context.Context, e *catalog.Entry, keys []run.Key) (map[run.Key]run.Run, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	if !e.DryRun {
		found, err := r.store.RunsAt(ctx, keys)
		if err != nil {
			return nil, fmt.Errorf("read runs of %s: %w", e.ID, err)
		}
		return found, nil
	}
	found := make(map[run.Key]run.Run, len(keys))
	for _, key := range keys {
		one, err := r.row(ctx, e, key)
		if err != nil {
			return nil, err
		}
		if one.Status != "" {
			found[key] = one
		}
	}
	return found, nil
}

// swap replaces a run or dry run; read is the zero Run if it is new.
func swap(b *store.Batch, e *catalog.Entry, read, next run.Run) {
	if e.DryRun {
		b.SwapDryRun(read, next)
		return
	}
	b.Swap(read, next)
}

// advanceID names the task that carries a run's open attempt on.
func advanceID(key run.Key) string { return "advance/" + key.String() }

// dryID names the task that carries a dry run on.
func dryID(key run.Key) string { return "dry/" + key.String() }

// advance is the task for the next step of a run or dry run.
func advance(dry bool, key run.Key, due time.Time) store.Task {
	t := store.Task{ID: advanceID(key), Kind: store.Advance, Pipeline: key.Pipeline, Key: key, Due: instant(due)}
	if dry {
		t.ID, t.Kind = dryID(key), store.AdvanceDry
	}
	return t
}

// pipelineTask is a task of a pipeline as a whole; its id begins with what it is.
func pipelineTask(kind store.TaskKind, prefix string, id pipeline.ID, due time.Time) store.Task {
	return store.Task{ID: prefix + string(id), Kind: kind, Pipeline: id, Due: instant(due)}
}

// The tasks of a pipeline as a whole.
const (
	firePrefix   = "fire/"
	armPrefix    = "arm/"
	resumePrefix = "resume/"
	reopenPrefix = "reopen/"
)

// name is how a decision about a run is called: the version says on what it was decided.
func name(what string, r run.Run) string {
	return fmt.Sprintf("%s/%s/v%d", what, r.Key, r.Version)
}

// nameOf is name for a run or a dry run, which may have the same key and version.
func nameOf(what string, e *catalog.Entry, key run.Key, read run.Run) string {
	read.Key = key
	if e.DryRun {
		what += "-dry"
	}
	return name(what, read)
}
