package router

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// readByOlder handles the write for the open attempts of a pipeline whose version is not the active
// one, or whose file is gone: the definition that an attempt opened with says whether the write
// wakes it. During a pause it does nothing: the end of the pause wakes them.
func (h *readingHandler) readByOlder(ctx context.Context, id pipeline.ID, c store.Change, now time.Time) error {
	row, err := h.pipelineRow(ctx, id)
	if err != nil || row.Paused() {
		return err
	}
	attempts, err := h.olderAttempts(ctx, row)
	if err != nil {
		return err
	}
	if len(attempts) == 0 {
		return h.forgetOlder(ctx, id, row, now)
	}
	var errs []error
	for _, one := range attempts {
		def, err := catalog.IfKnown(h.catalog.Of(ctx, one))
		if err != nil || def == nil { // without its version, no attempt evaluates its gate
			errs = append(errs, err)
			continue
		}
		sw := h.newSensorWrite(&catalog.Entry{Definition: def, Version: one.Progress.Opening.ConfigVersion, Horizon: row.Horizon}, row, c)
		if sw.isFor(one.Period) {
			_, err = h.wakeFor(ctx, sw, one, now)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// isFor reports whether the write may count for a run of period p.
func (sw sensorWrite) isFor(p period.Period) bool {
	switch {
	case sw.Period.IsZero():
		return true
	case sw.upstream != nil:
		return sw.Period == p || slices.Contains(sw.entry.Awaited(sw.upstream, p), sw.Period)
	}
	return sw.Period.Holds(p) || sw.over && sw.sliceOf(p)
}

// olderAttempts lists the open runs of a pipeline whose attempts have a version that is not active.
// It reads no runs if the row knows of none.
func (c *core) olderAttempts(ctx context.Context, row store.Pipeline) ([]run.Run, error) {
	if len(row.Older) == 0 {
		return nil, nil
	}
	open, err := c.store.OpenRuns(ctx, row.ID)
	if err != nil {
		return nil, fmt.Errorf("list open runs of %s: %w", row.ID, err)
	}
	return slices.DeleteFunc(open, func(r run.Run) bool { return r.Progress.Opening.ConfigVersion == row.Config }), nil
}

// forgetOlder records that no open attempt has an older version, so that writes need not search for
// one. If the row has changed meanwhile, the next write does.
func (c *core) forgetOlder(ctx context.Context, id pipeline.ID, row store.Pipeline, now time.Time) error {
	if len(row.Older) > 0 {
		next := row
		next.Older = nil
		b := store.Batch{ID: fmt.Sprintf("forget-older/%s/v%d", id, row.Version)}
		b.SwapPipeline(row, next)
		if err := c.commit(ctx, b, now); err != nil {
			if errors.Is(err, store.ErrConflict) {
				return nil
			}
			return err
		}
		row.Version++
	}
	c.catalog.ForgetOlder(id, row.Version)
	return nil
}

// olderVersions lists the versions of row's Older that open attempts still have.
func (c *core) olderVersions(ctx context.Context, row store.Pipeline) ([]string, error) {
	attempts, err := c.olderAttempts(ctx, row)
	if err != nil {
		return nil, err
	}
	var used []string
	for _, version := range row.Older {
		if slices.ContainsFunc(attempts, func(r run.Run) bool { return r.Progress.Opening.ConfigVersion == version }) {
			used = append(used, version)
		}
	}
	return used, nil
}
