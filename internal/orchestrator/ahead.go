package orchestrator

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/store"
)

// Worker takes a step on a task that was claimed in the commit that stored it, beside whoever asks for that, and renews the
// lease meanwhile. It is kept free for it: of its methods one is called, once.
type Worker interface {
	Carry(c store.Claim, step func(ctx context.Context, c store.Claim, clock func() time.Time) error)
	Dismiss()
}

// Ahead puts the start of a job into the batch that opens its attempt, where the gate is open already: one commit instead of
// two between the last fact that was missing and the job. Whatever came of sending the batch, what Ahead gives is called then:
// it makes the start call if the batch has happened.
//
// It gives nil, and leaves b as it is, for all else and wherever anything is in doubt: a closed gate, a limit on how many may
// run, a pipeline without a job, a busy host. Then the attempt's task is claimed like any other.
func (o *Orchestrator) Ahead(ctx context.Context, b *store.Batch, row store.Pipeline, now time.Time) func() {
	if o.Worker == nil || len(b.Runs) != 1 || len(b.Tasks) != 1 {
		return nil
	}
	w := &work{o: o, now: now, run: b.Runs[0].Next}
	if lifecycle.Next(w.run, now).Kind != lifecycle.Evaluate || paused(row, now) {
		return nil
	}
	var err error
	if w.def, err = o.definition(ctx, w.run); err != nil || w.def.Job == nil || w.def.MaxActive > 0 {
		return nil
	}
	view, err := w.look(ctx)
	if err != nil || !view.Open() {
		return nil
	}
	worker := o.Worker()
	if worker == nil {
		return nil
	}
	if err := w.triggerIn(b, view); err != nil {
		worker.Dismiss()
		return nil
	}
	c, task, hold := w.prepare(), b.Tasks[0], b.Hold
	return func() {
		if hold.Given == (store.Lease{}) { // it has not happened, or the lease is lost by now
			worker.Dismiss()
			return
		}
		worker.Carry(store.Claim{Task: task, Lease: hold.Given}, w.begin(c))
	}
}

// triggerIn puts TRIGGERING into the batch that opens the attempt, or leaves it as it is.
func (w *work) triggerIn(b *store.Batch, view gate.View) error {
	evaluated, err := w.run.Evaluated(true, w.now)
	if err != nil {
		return err
	}
	with := *b
	w.tellPassed(&with, view)
	next, err := w.triggered(&with, evaluated, view)
	if err != nil {
		return err
	}
	with.Runs[0].Next = next
	with.ID += w.o.marked()
	with.Hold = &store.Hold{Task: b.Tasks[0].ID, For: w.o.Lease}
	*b, w.run = with, next
	return nil
}

// begin makes a start call that is stored. What changed meanwhile is looked at as in any other step.
func (w *work) begin(c call) func(context.Context, store.Claim, func() time.Time) error {
	return func(ctx context.Context, claim store.Claim, clock func() time.Time) error {
		w.claim, w.clock = &claim, clock
		_, err := w.start(ctx, c)
		if isConflict(err) {
			_, err = w.o.Step(ctx, claim, clock)
		}
		return err
	}
}
