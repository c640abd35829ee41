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

// records is what the router needs of a store.
type records interface {
	store.Committer
	store.Sensors
	store.Reader
	Task(ctx context.Context, id string) (store.Task, error)
}

// core reads what all handlers decide on, and commits what they decided.
type core struct {
	store   records
	catalog *catalog.Catalog
}

// maxTries is how often a decision is made anew because something changed between reading and committing.
const maxTries = 10

// again repeats f while it finds that something changed meanwhile.
func again(f func() error) error {
	var err error
	for range maxTries {
		if err = f(); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return err
}

// commit hands b over, unless there is nothing in it.
func (c *core) commit(ctx context.Context, b store.Batch, now time.Time) error {
	if b.Empty() {
		return nil
	}
	if err := c.store.Commit(ctx, b, now); err != nil {
		return fmt.Errorf("commit %s: %w", b.ID, err)
	}
	return nil
}

// pipelineRow gives a pipeline's own row; the zero row, which is not in force, if there is none.
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

// startMet says whether the start condition holds for a period on what the store shows now.
func (c *core) startMet(ctx context.Context, e *catalog.Entry, p period.Period, now time.Time) (bool, error) {
	if e.Start == nil {
		return false, nil
	}
	q := c.question(e, p)
	q.Gate = e.Start.Gate
	view, err := gate.Look(ctx, c.store, q, now)
	return view.Open(), err
}

// unlessClosed reacts to what happened at an instant, on the pipeline's row as it is. If the pipeline is paused meanwhile, the
// reaction is made again as that of a paused pipeline. What happened before a pause and is handled during it is reacted to
// when the pause ends.
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

// holdBack has the end of a pause react to what happened before it began, and is handled only during it.
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

// row gives a run or dry run; the zero Run if there is none.
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

// rows gives the runs or dry runs of some periods; those that are not there are left out.
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

// ending is what the end of a run's latest attempt was decided on; the zero Snapshot if that is no longer kept. A dry run ends
// where the job of another would start.
func (c *core) ending(ctx context.Context, e *catalog.Entry, old run.Run) (store.Snapshot, error) {
	id := old.EndSnapshot()
	if e.DryRun {
		id = old.Progress.Snapshot
	}
	return c.snapshot(ctx, id)
}

// snapshot gives stored facts; the zero Snapshot if they are not there, or no longer.
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

// postRunRow is what is remembered of a completed run; the zero row if that is nothing.
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

// remembered is how long it is known that something was told: as long as events are kept, which have ids of their own.
const remembered = 90 * 24 * time.Hour

// tellOnce announces an event unless its mark is set, and sets it. Many writes may lead to it, and most find it told.
func (c *core) tellOnce(ctx context.Context, mark string, e event.Event, now time.Time) error {
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
	return nil // a conflict means that it is told already
}
