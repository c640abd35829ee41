package gate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// turn decides whether the attempt may take one of the pipeline's slots: one must be free, and older
// periods that wait for one go first. It returns the slots after the attempt has taken its own; nil
// if it needs none, has one already, or may take none.
func (s Situation) turn(ctx context.Context, r reader, now time.Time) ([]run.AttemptID, Block, error) {
	most := s.Definition.MaxActive
	if most == 0 || s.Run.Status != "" && slices.Contains(s.Row.Slots, s.Run.ID()) {
		return nil, Block{}, nil
	}
	slots := s.Row.Slots
	if len(slots) >= most {
		var err error
		if slots, err = slotsInUse(ctx, r, s.Row); err != nil {
			return nil, Block{}, err
		}
	}
	if s.Run.Status != run.Triggering { // a repeated start has had its turn
		if len(slots) >= most {
			return nil, block(MaxActive, "as many jobs are running as schedule.maxActive allows (%d)", most), nil
		}
		first, err := s.olderFirst(ctx, r, most-len(slots), now)
		if err != nil || first != nil {
			return nil, yields(first), err
		}
	}
	if s.Run.Status == "" {
		return nil, Block{}, nil
	}
	return append(slices.Clone(slots), s.Run.ID()), Block{}, nil
}

// yields returns the block of an attempt that lets an older run go first.
func yields(first *run.Run) Block {
	if first == nil {
		return Block{}
	}
	return block(MaxActive, "the run of %s waits for a slot of schedule.maxActive too, and the oldest period goes first", first.Period)
}

// slotsInUse drops slots of attempts that no longer have a job, in case one ended without releasing
// its slot.
func slotsInUse(ctx context.Context, r reader, row store.Pipeline) ([]run.AttemptID, error) {
	var keys []run.Key
	for _, id := range row.Slots {
		if key, _, err := run.ParseAttemptID(string(id)); err == nil {
			keys = append(keys, key)
		}
	}
	runs, err := r.RunsAt(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("read the runs that hold slots of %s: %w", row.ID, err)
	}
	used := map[run.AttemptID]bool{}
	for _, one := range runs {
		used[one.ID()] = one.HoldsSlot()
	}
	return slices.DeleteFunc(slices.Clone(row.Slots), func(id run.AttemptID) bool { return !used[id] }), nil
}

// firstLook is how long younger runs yield to an older run that is due for its first evaluation.
const firstLook = time.Minute

// olderFirst returns the oldest of the older runs that wait for a slot, or are about to be evaluated
// for the first time, if they need all of the free slots: of runs that open together, the oldest
// starts first, whichever is evaluated first.
func (s Situation) olderFirst(ctx context.Context, r reader, free int, now time.Time) (*run.Run, error) {
	open, err := r.OpenRuns(ctx, s.Definition.ID)
	if err != nil {
		return nil, fmt.Errorf("read the open runs of %s: %w", s.Definition.ID, err)
	}
	var first *run.Run
	before := 0
	for i, one := range open {
		if one.Status != run.Pending || one.Period.Compare(s.Period) >= 0 || slices.Contains(s.Row.Slots, one.ID()) {
			continue
		}
		if !one.Progress.WaitingSince.IsZero() || aboutToLook(one, now) {
			if before++; first == nil || one.Period.Compare(first.Period) < 0 {
				first = &open[i]
			}
		}
	}
	if before < free {
		return nil, nil
	}
	return first, nil
}

// aboutToLook reports whether a run is due for its first evaluation.
func aboutToLook(r run.Run, now time.Time) bool {
	due := r.Progress.NextEvaluation
	return r.Progress.LastEvaluation.IsZero() && !due.After(now) && now.Sub(due) < firstLook
}

// ReleaseSlot makes b free the slot of an attempt that no longer needs one. If other runs may have
// yielded to the attempt, the row changes too: that wakes them, and makes one that is about to yield
// decide again. def is the version that the attempt opened with, nil if it is not available. If
// keeps is set, the attempt's job may go on, and keeps the slot. It reports whether b changes the
// row.
func ReleaseSlot(b *store.Batch, row store.Pipeline, r run.Run, def *pipeline.Definition, keeps bool) bool {
	if row.Version == 0 {
		return false
	}
	at := slices.Index(row.Slots, r.ID())
	frees := at >= 0 && !keeps
	if !frees && !Queued(r, def) {
		return false
	}
	next := row
	if frees {
		next.Slots = slices.Delete(slices.Clone(row.Slots), at, at+1)
	}
	b.SwapPipeline(row, next)
	return true
}

// Queued reports whether others yield to the attempt: it waits for a slot, or is due for its first
// evaluation.
func Queued(r run.Run, def *pipeline.Definition) bool {
	if def != nil && def.MaxActive == 0 || r.Status != run.Pending {
		return false
	}
	return !r.Progress.WaitingSince.IsZero() || r.Progress.LastEvaluation.IsZero()
}
