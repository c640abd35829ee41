package router

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Reopen looks at what is due after a pause or a change of the file: it is the handler of ReopenPeriods tasks. The fires
// of the schedule in force are asked for. What was written during a pause is reacted to as if it came now, and the
// failures that waited are settled.
func (r *Router) Reopen(ctx context.Context, claim store.Claim, now time.Time) error {
	return again(func() error {
		e, row, err := r.inForce(ctx, claim.Task.Pipeline)
		if err != nil {
			return err
		}
		b := store.Batch{ID: fmt.Sprintf("reopen/%s/%d", claim.Task.Pipeline, claim.Lease.Token), Lease: &claim.Lease}
		b.Finish(claim.Task.ID)
		if e == nil || row.Paused() {
			return r.commit(ctx, b, now)
		}
		if !row.PausedFrom.IsZero() {
			if err := r.replay(ctx, e, row.PausedFrom, now); err != nil {
				return err
			}
			next := row
			next.PausedFrom = time.Time{}
			b.SwapPipeline(row, next)
		}
		if e.Opens == pipeline.ByCron {
			b.Schedule(pipelineTask(store.Fire, firePrefix, e.ID, now))
		}
		return r.commit(ctx, b, now)
	})
}

// replay reacts to everything that a pause held back since an instant. All of it may have been reacted to before.
func (r *Router) replay(ctx context.Context, e *catalog.Entry, since, now time.Time) error {
	changes, err := r.writtenSince(ctx, e, since)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if err := r.readBy(ctx, e, c, now); err != nil {
			return err
		}
	}
	if err := r.completedSince(ctx, e, since, now); err != nil {
		return err
	}
	if err := r.settleAll(ctx, e.ID, now); err != nil {
		return err
	}
	return r.wakeAll(ctx, e, now)
}

// writtenSince lists the last writes, for each period, of all sensors that e reads, oldest first, as the changes they were.
func (r *Router) writtenSince(ctx context.Context, e *catalog.Entry, since time.Time) ([]store.Change, error) {
	var changes []store.Change
	for _, ref := range sensorsOf(e) {
		writes, err := r.historySince(ctx, ref, since)
		if err != nil {
			return nil, err
		}
		changes = append(changes, lastChanges(e, ref.Pipeline, writes, since)...)
	}
	slices.SortFunc(changes, func(a, b store.Change) int { return int(a.Version - b.Version) })
	return changes, nil
}

// sensorsOf lists the sensors that e reads, each once.
func sensorsOf(e *catalog.Entry) []store.ReadingQuery {
	gates := []*rule.Gate{e.Gate}
	if e.Start != nil {
		gates = append(gates, e.Start.Gate)
	}
	if e.PostRun != nil {
		gates = append(gates, e.PostRun.Gate)
	}
	var all []store.ReadingQuery
	for _, g := range gates {
		for _, ref := range g.Refs() {
			at := store.ReadingQuery{Pipeline: e.ID, Key: ref.Key}
			if ref.From != "" {
				at.Pipeline = pipeline.ID(ref.From)
			}
			if !slices.Contains(all, at) {
				all = append(all, at)
			}
		}
	}
	return all
}

// completedSince looks, for runs that completed during a pause, at what had changed while their jobs ran.
func (r *Router) completedSince(ctx context.Context, e *catalog.Entry, since, now time.Time) error {
	page, err := r.store.Runs(ctx, store.RunQuery{Pipeline: e.ID, Status: run.Completed, Limit: store.MaxPage})
	if err != nil {
		return fmt.Errorf("list completed runs of %s: %w", e.ID, err)
	}
	var errs []error
	for _, one := range page.Items {
		if !one.EndedAt.Before(since) {
			errs = append(errs, r.completed(ctx, e, one, now))
		}
	}
	return errors.Join(errs...)
}

// wakeAll has every waiting attempt look at its gate again.
func (r *Router) wakeAll(ctx context.Context, e *catalog.Entry, now time.Time) error {
	open, err := r.store.OpenRuns(ctx, e.ID)
	if err != nil {
		return fmt.Errorf("list open runs of %s: %w", e.ID, err)
	}
	var errs []error
	for _, one := range open {
		if one.Status == run.Pending {
			errs = append(errs, r.wakePending(ctx, one.Key, now))
		}
	}
	return errors.Join(errs...)
}
