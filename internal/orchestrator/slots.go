package orchestrator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// giveBack releases the slot of an attempt in the commit that ends its job. It does nothing if the
// attempt has none.
func giveBack(b *store.Batch, row store.Pipeline, id run.AttemptID) {
	at := slices.Index(row.Slots, id)
	if at < 0 {
		return
	}
	next := row
	next.Slots = slices.Delete(slices.Clone(row.Slots), at, at+1)
	b.SwapPipeline(row, next)
}

// vacate is giveBack for w's attempt. If its version of the file is not available, the attempt may
// have a slot.
func (w *work) vacate(ctx context.Context, b *store.Batch) error {
	if w.def != nil && w.def.MaxActive == 0 {
		return nil
	}
	row, err := w.row(ctx)
	if err != nil {
		return err
	}
	giveBack(b, row, w.run.ID())
	return nil
}

// takeSlot takes one of the pipeline's slots in the commit that precedes the start, and reports
// whether one was free. Waiting runs of older periods go first. In any case b depends on the row:
// if a slot is freed, an older run leaves the queue, or the pipeline is paused before b is
// committed, the attempt decides again.
func (w *work) takeSlot(ctx context.Context, b *store.Batch, row store.Pipeline) (bool, error) {
	next, free, err := w.slots(ctx, row)
	if err != nil {
		return false, err
	}
	if len(next) == 0 {
		b.ExpectPipeline(w.run.Pipeline, row)
		return free, nil
	}
	taken := row
	taken.Slots = next
	b.SwapPipeline(row, taken)
	return true, nil
}

// slots returns the pipeline's slots after the attempt has taken one; none if it takes none,
// because none is free or it needs none.
func (w *work) slots(ctx context.Context, row store.Pipeline) (next []run.AttemptID, free bool, err error) {
	if w.def.MaxActive == 0 || slices.Contains(row.Slots, w.run.ID()) {
		return nil, true, nil
	}
	next = row.Slots
	if len(next) >= w.def.MaxActive {
		if next, err = w.inUse(ctx, row.Slots); err != nil {
			return nil, false, err
		}
	}
	if w.run.Status == run.Pending {
		if len(next) >= w.def.MaxActive {
			return nil, false, nil
		}
		if first, err := w.first(ctx, w.def.MaxActive-len(next)); err != nil || !first {
			return nil, false, err
		}
	}
	return append(slices.Clone(next), w.run.ID()), true, nil
}

// inUse drops slots of attempts that no longer have a job, in case one ended without releasing its
// slot.
func (w *work) inUse(ctx context.Context, slots []run.AttemptID) ([]run.AttemptID, error) {
	var keys []run.Key
	for _, id := range slots {
		if key, _, err := run.ParseAttemptID(string(id)); err == nil {
			keys = append(keys, key)
		}
	}
	runs, err := w.o.Store.RunsAt(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("read the runs that hold slots of %s: %w", w.run.Pipeline, err)
	}
	used := map[run.AttemptID]bool{}
	for _, r := range runs {
		used[r.ID()] = r.Status == run.Triggering || r.Status == run.Running || r.Progress.Left == run.JobStopping
	}
	return slices.DeleteFunc(slices.Clone(slots), func(id run.AttemptID) bool { return !used[id] }), nil
}

// firstLook is how long younger runs yield to an older run that is due for its first evaluation.
const firstLook = time.Minute

// first reports whether fewer older runs wait, or are about to be evaluated for the first time,
// than slots are free: of runs that open together, the oldest starts first, whichever is evaluated
// first.
func (w *work) first(ctx context.Context, free int) (bool, error) {
	open, err := w.o.Store.OpenRuns(ctx, w.run.Pipeline)
	if err != nil {
		return false, fmt.Errorf("read the open runs of %s: %w", w.run.Pipeline, err)
	}
	before := 0
	for _, r := range open {
		if r.Status == run.Pending && r.Period.Compare(w.run.Period) < 0 && (!r.Progress.WaitingSince.IsZero() || w.aboutToLook(r)) {
			before++
		}
	}
	return before < free, nil
}

// aboutToLook reports whether a run is due for its first evaluation.
func (w *work) aboutToLook(r run.Run) bool {
	due := r.Progress.NextEvaluation
	return r.Progress.LastEvaluation.IsZero() && !due.After(w.now) && w.now.Sub(due) < firstLook
}

// wakeYielding changes the pipeline's row if an attempt leaves the queue for slots without taking
// one. This wakes the runs that yielded to it, and makes one that is about to yield decide again.
func (w *work) wakeYielding(b *store.Batch, row store.Pipeline) {
	if row.Version > 0 && w.queued() {
		b.SwapPipeline(row, row)
	}
}

// leaveQueue is wakeYielding for callers that have not read the pipeline's row.
func (w *work) leaveQueue(ctx context.Context, b *store.Batch) error {
	if !w.queued() {
		return nil
	}
	row, err := w.row(ctx)
	if err != nil {
		return err
	}
	w.wakeYielding(b, row)
	return nil
}

// queued reports whether others yield to the attempt: it waits for a slot, or is due for its first
// evaluation.
func (w *work) queued() bool {
	if w.def != nil && w.def.MaxActive == 0 || w.run.Status != run.Pending {
		return false
	}
	return !w.run.Progress.WaitingSince.IsZero() || w.run.Progress.LastEvaluation.IsZero()
}
