package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// records is the part of a store that the router needs.
type records interface {
	store.Committer
	store.Sensors
	store.Reader
	Task(ctx context.Context, id string) (store.Task, error)
}

// core reads the state that the handlers decide on, and commits their decisions.
type core struct {
	store   records
	catalog *catalog.Catalog
}

// commit commits b, unless it is empty.
func (c *core) commit(ctx context.Context, b store.Batch, now time.Time) error {
	if b.Empty() {
		return nil
	}
	if err := c.store.Commit(ctx, b, now); err != nil {
		return fmt.Errorf("commit %s: %w", b.ID, err)
	}
	return nil
}

// pipelineRow returns a pipeline's row; the zero row, which is not active, if there is none.
func (c *core) pipelineRow(ctx context.Context, id pipeline.ID) (store.Pipeline, error) {
	return store.IfFound(c.store.Pipeline(ctx, id))
}

// evaluate evaluates a gate of a pipeline for a period; nil means the pipeline's own.
func (c *core) evaluate(ctx context.Context, e *catalog.Entry, g *rule.Gate, p period.Period, now time.Time) (gate.View, error) {
	q := c.question(e, p)
	q.Gate = g
	return gate.Evaluate(ctx, c.store, q, now)
}

func (c *core) question(e *catalog.Entry, p period.Period) gate.Question {
	return gate.Question{Definition: e.Definition, Upstream: c.catalog.Current().Definition, Period: p}
}

// startMet reports whether the start condition is met for a period now.
func (c *core) startMet(ctx context.Context, e *catalog.Entry, p period.Period, now time.Time) (bool, error) {
	if e.Start == nil {
		return false, nil
	}
	view, err := c.evaluate(ctx, e, e.Start.Gate, p, now)
	return view.Open(), err
}

// unlessClosed calls handle with an active pipeline's entry and row, for something that happened at
// an instant. If the pipeline is paused or edited meanwhile, it calls handle again with the new
// ones. If at is before the pause but it is handled during the pause, the end of the pause handles
// it again.
func (c *core) unlessClosed(ctx context.Context, id pipeline.ID, at, now time.Time, handle func(*catalog.Entry, store.Pipeline) error) error {
	return store.Again(func() error {
		row, err := c.pipelineRow(ctx, id)
		if err != nil || row.Config == "" {
			return err
		}
		if err = c.holdBack(ctx, row, at, now); err != nil {
			return err
		}
		e, err := c.catalog.EntryOf(ctx, row)
		if err != nil || e == nil {
			return err
		}
		err = handle(e, row)
		if errors.Is(err, errClosed) {
			return errors.Join(err, store.ErrConflict)
		}
		return err
	})
}

// holdBack makes the end of a pause handle something that happened before the pause but was handled
// only during it.
func (c *core) holdBack(ctx context.Context, row store.Pipeline, at, now time.Time) error {
	next := row
	next.HoldBack(at)
	if !row.Paused() || next.PausedFrom.Equal(row.PausedFrom) {
		return nil
	}
	b := store.Batch{ID: fmt.Sprintf("hold-back/%s/v%d/%d", row.ID, row.Version, at.UnixNano())}
	b.SwapPipeline(row, next)
	return c.commit(ctx, b, now)
}

// row returns a run or dry run; one without a status if there is none.
func (c *core) row(ctx context.Context, e *catalog.Entry, key run.Key) (run.Run, error) {
	read := c.store.Run
	if e.DryRun {
		read = c.store.DryRun
	}
	r, err := store.IfFound(read(ctx, key))
	r.Key, r.DryRun = key, e.DryRun
	return r, err
}

// found returns a run that a client names, or a Refusal.
func (c *core) found(ctx context.Context, key run.Key) (run.Run, error) {
	old, err := c.store.Run(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		err = refuse(NotFound, "there is no run %s", key)
	}
	return old, err
}

// rows returns the runs or dry runs of some keys, without those that do not exist.
func (c *core) rows(ctx context.Context, e *catalog.Entry, keys []run.Key) (map[run.Key]run.Run, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	if !e.DryRun {
		found, err := c.store.RunsAt(ctx, keys)
		if err != nil {
			return nil, fmt.Errorf("read runs of %s: %w", e.ID, err)
		}
		return found, nil
	}
	found := make(map[run.Key]run.Run, len(keys))
	for _, key := range keys {
		one, err := c.row(ctx, e, key)
		if err != nil {
			return nil, err
		}
		if one.Status != "" {
			found[key] = one
		}
	}
	return found, nil
}

// ending returns the snapshot on which the end of a run's latest attempt was decided; the zero
// Snapshot if it is no longer stored. A dry run ends where the job of a real run would start.
func (c *core) ending(ctx context.Context, e *catalog.Entry, old run.Run) (store.Snapshot, error) {
	id := old.EndSnapshot()
	if old.DryRun {
		id = old.Progress.Snapshot
	}
	return c.snapshot(ctx, id)
}

// snapshot returns a stored snapshot; the zero Snapshot if it does not exist, or no longer.
func (c *core) snapshot(ctx context.Context, id run.SnapshotID) (store.Snapshot, error) {
	if id == "" {
		return store.Snapshot{}, nil
	}
	return store.IfFound(c.store.Snapshot(ctx, id))
}

// eachOpen calls do for the open runs of a pipeline that have that status, oldest first. An error
// of one does not stop the others.
func (c *core) eachOpen(ctx context.Context, id pipeline.ID, status run.Status, do func(run.Run) error) error {
	open, err := c.store.OpenRuns(ctx, id)
	if err != nil {
		return fmt.Errorf("list open runs of %s: %w", id, err)
	}
	var errs []error
	for _, one := range open {
		if one.Status == status {
			errs = append(errs, do(one))
		}
	}
	return errors.Join(errs...)
}

// remembered is how long the mark of a reported event is kept: as long as events, which have unique
// ids.
const remembered = 90 * 24 * time.Hour

// emitOnce emits an event unless its mark is set, and sets the mark.
func (c *core) emitOnce(ctx context.Context, mark string, e event.Event, now time.Time) error {
	_, err := store.EmitOnce(ctx, c.store, mark, now.Add(remembered), e, now)
	return err
}
