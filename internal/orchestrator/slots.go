package orchestrator

import (
	"context"
	"slices"

	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// takeSlots makes b store the pipeline's slots with the attempt's own, in the commit that precedes
// the start. In any case b depends on the row: if the pipeline is paused before b is committed, the
// attempt decides again.
func takeSlots(b *store.Batch, id pipeline.ID, row store.Pipeline, slots []run.AttemptID) {
	if slots == nil {
		b.ExpectPipeline(id, row)
		return
	}
	taken := row
	taken.Slots = slots
	b.SwapPipeline(row, taken)
}

// vacate frees the slot of the attempt in the commit that ends it, and wakes the runs that yielded to
// it. If keeps is set, its job may go on, and keeps the slot. Without a version of the file, the
// attempt may have a slot.
func (w *work) vacate(ctx context.Context, b *store.Batch, keeps bool) error {
	if w.def != nil && w.def.MaxActive == 0 {
		return nil
	}
	row, err := w.row(ctx)
	if err != nil {
		return err
	}
	gate.ReleaseSlot(b, row, w.run, w.def, keeps)
	return nil
}

// occupy takes a slot for a job that turned up although its attempt has none any more.
func (w *work) occupy(ctx context.Context, b *store.Batch, current run.Run) error {
	if w.def.MaxActive == 0 || current.HoldsSlot() {
		return nil
	}
	row, err := w.row(ctx)
	if err != nil || row.Version == 0 || slices.Contains(row.Slots, current.ID()) {
		return err
	}
	takeSlots(b, w.run.Pipeline, row, append(slices.Clone(row.Slots), w.run.ID()))
	return nil
}
