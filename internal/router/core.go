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

// maxTries is how often a decision is made again because of a conflict.
const maxTries = 10

// again repeats f while it returns store.ErrConflict.
func again(f func() error) error {
	var err error
	for range maxTries {
		if err = f(); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return err
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

// pipelineRow returns a pipeline's row; the zero row, which is not in force, if there is none.
func (c *core) pipelineRow(ctx context.Context, id pipeline.ID) (store.Pipeline, error) {
	row, err := c.store.Pipeline(ctx, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Pipeline{}, fmt.Errorf("read pipeline %s: %w", id, err)
	}
	return row, nil
}

// look evaluates a pipeline's own gate for a period.
func (c *core) look(ctx context.Context, e *catalog.Entry, p period.Period, now time.Time) (gate.View, error) {
	return gate.Look(ctx, c.store, c.question(e, p), now)
}

func (c *core) question(e *catalog.Entry, p period.Period) gate.Question {
	return gate.Question{Definition: e.Definition, Upstream: c.catalog.Current().Definition, Period: p}
}

// startMet reports whether the start condition is met for a period now.
func (c *core) startMet(ctx context.Context, e *catalog.Entry, p period.Period, now time.Time) (bool, error) {
	if e.Start == nil {
		return false, nil
	}
	q := c.question(e, p)
	q.Gate = e.Start.Gate
	view, err := gate.Look(ctx, c.store, q, now)
	return view.Open(), err
}

// unlessClosed calls react with the pipeline's current row, for something that happened at an instant. If the pipeline
// is paused meanwhile, it calls react again with the paused row. If at is before the pause but it is handled during the
// pause, the end of the pause handles it again.
func (c *core) unlessClosed(ctx context.Context, id pipeline.ID, at, now time.Time, react func(row store.Pipeline) error) error {
	var err error
	for range maxTries {
		var row store.Pipeline
		if row, err = c.pipelineRow(ctx, id); err != nil || row.Config == "" {
			return err
		}
		if err = c.holdBack(ctx, row, at, now); err == nil {
			err = react(row)
		}
		if !errors.Is(err, errClosed) && !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return err
}

// holdBack makes the end of a pause handle something that happened before the pause but was handled only during it.
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

// row returns a run or dry run; the zero Run if there is none.
func (c *core) row(ctx context.Context, e *catalog.Entry, key run.Key) (run.Run, error) {
	read := c.store.Run
	if e.DryRun {
		read = c.store.DryRun
	}
	found, err := read(ctx, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return run.Run{}, fmt.Errorf("read run %s: %w", key, err)
	}
	return found, nil
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

// swap replaces a run or dry run; read is the zero Run if it is new.
func swap(b *store.Batch, dry bool, read, next run.Run) {
	if dry {
		b.SwapDryRun(read, next)
		return
	}
	b.Swap(read, next)
}

// ending returns the snapshot on which the end of a run's latest attempt was decided; the zero Snapshot if it is no
// longer stored. A dry run ends where the job of a real run would start.
func (c *core) ending(ctx context.Context, e *catalog.Entry, old run.Run) (store.Snapshot, error) {
	id := old.EndSnapshot()
	if e.DryRun {
		id = old.Progress.Snapshot
	}
	return c.snapshot(ctx, id)
}

// snapshot returns a stored snapshot; the zero Snapshot if it does not exist, or no longer.
func (c *core) snapshot(ctx context.Context, id run.SnapshotID) (store.Snapshot, error) {
	if id == "" {
		return store.Snapshot{}, nil
	}
	s, err := c.store.Snapshot(ctx, id)
	if ignoreMissing(err) != nil {
		return store.Snapshot{}, fmt.Errorf("read snapshot %s: %w", id, err)
	}
	return s, nil
}

// postRunRow returns the post-run record of a completed run; the zero row if there is none.
func (c *core) postRunRow(ctx context.Context, key run.Key) (store.PostRun, error) {
	post, err := c.store.PostRun(ctx, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.PostRun{}, fmt.Errorf("read the post-run record of %s: %w", key, err)
	}
	return post, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// remembered is how long the mark of a reported event is kept: as long as events, which have unique ids.
const remembered = 90 * 24 * time.Hour

// emitOnce emits an event unless its mark is set, and sets the mark. Many writes may lead to it, and most find it set.
func (c *core) emitOnce(ctx context.Context, mark string, e event.Event, now time.Time) error {
	told, err := c.store.Marked(ctx, []string{mark})
	if err != nil {
		return fmt.Errorf("read mark %s: %w", mark, err)
	}
	if told[mark] {
		return nil
	}
	b := store.Batch{ID: mark}
	b.SetMark(mark, now.Add(remembered))
	b.Emit(e)
	if err := c.commit(ctx, b, now); err != nil && !errors.Is(err, store.ErrConflict) {
		return err
	}
	return nil // a conflict means that the event is already emitted
}
