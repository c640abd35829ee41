package router

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// rewindReach is how far back Rewind looks for fires that have neither a run nor a report. The
// clock may have been corrected long before, while no controller ran.
const rewindReach = 24 * time.Hour

// Rewind undoes what a clock that was ahead wrote into a pipeline's row: FiredThrough, the horizon
// and the acceptances of its file. All of them would stop its schedule until that instant. A fire
// that has a run, was suppressed, or was reported as missed and can no longer open, stays as it is.
// The clock is read after the row, which other replicas move with the time.
func (h *fireHandler) Rewind(ctx context.Context, id pipeline.ID, clock func() time.Time) error {
	return store.Again(func() error {
		e, row, err := h.catalog.Active(ctx, id)
		if err != nil || e == nil {
			return err
		}
		now := clock()
		next, changed := notAfter(row, period.Instant(now))
		if row.FiredThrough.After(now) {
			if next.FiredThrough, err = h.accountedThrough(ctx, e, next, now); err != nil {
				return err
			}
		}
		if !changed && next.FiredThrough.Equal(row.FiredThrough) {
			return nil
		}
		b := store.Batch{ID: fmt.Sprintf("rewind/%s/v%d/%d", id, row.Version, now.UnixNano())}
		b.SwapPipeline(row, next)
		if e.Opens == pipeline.ByCron {
			b.Schedule(store.PipelineTask(store.Fire, id, now))
		}
		b.Schedule(store.PipelineTask(store.Arm, id, now))
		if err := h.commit(ctx, b, now); err != nil {
			return err
		}
		return h.catalog.Refresh(ctx, id)
	})
}

// notAfter returns a row whose horizon and acceptances are not after at, and whether any was.
func notAfter(row store.Pipeline, at time.Time) (next store.Pipeline, changed bool) {
	next = row
	next.Earlier = slices.Clone(row.Earlier)
	all := []*time.Time{&next.Horizon, &next.AcceptedAt}
	for i := range next.Earlier {
		all = append(all, &next.Earlier[i].At)
	}
	for _, instant := range all {
		if instant.After(at) {
			*instant, changed = at, true
		}
	}
	return next, changed
}

// accountedThrough returns the last instant up to which every fire has a run, was suppressed, or
// was reported as missed and can no longer open.
func (h *fireHandler) accountedThrough(ctx context.Context, e *catalog.Entry, row store.Pipeline, now time.Time) (time.Time, error) {
	row.FiredThrough = period.Later(period.Instant(now.Add(-rewindReach)), row.AcceptedAt)
	if e.Opens != pipeline.ByCron {
		return row.FiredThrough, nil
	}
	reported, err := h.reportedMissed(ctx, e)
	if err != nil {
		return time.Time{}, err
	}
	t := &fires{handler: h, entry: e, row: row, now: now}
	if err := t.plan(ctx); err != nil {
		return time.Time{}, err
	}
	through := row.FiredThrough
	for _, d := range t.due {
		if d.fate != settled && !(d.fate == missing && reported[d.Period.String()]) {
			break
		}
		through = period.Instant(d.FireAt)
	}
	return through, nil
}

// reportedMissed returns the periods that the latest reports of missed fires name.
func (h *fireHandler) reportedMissed(ctx context.Context, e *catalog.Entry) (map[string]bool, error) {
	dates := map[string]bool{}
	for _, kind := range []event.Type{event.ScheduleMissed, event.IrregularScheduleMissed} {
		page, err := h.store.Events(ctx, store.EventQuery{Pipeline: e.ID, Type: kind, Limit: store.MaxPage})
		if err != nil {
			return nil, fmt.Errorf("read the missed fires of %s: %w", e.ID, err)
		}
		for _, reported := range page.Items {
			missed, _ := reported.Detail.Extra.(event.Missed)
			for _, date := range missed.Dates {
				dates[date] = true
			}
		}
	}
	return dates, nil
}
