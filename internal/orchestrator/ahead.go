package orchestrator

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/store"
)

// Worker takes a step on a task that was claimed in the commit that stored it, beside whoever asks for that, and renews the
// lease meanwhile. It is kept free for it: of its methods one is called, once.
//
// Carry asks for the claim first: again and again while there is no answer, and with store.ErrConflict there is none to be had.
type Worker interface {
	Carry(ask func(ctx context.Context) (store.Claim, error), step func(ctx context.Context, c store.Claim, clock func() time.Time) error)
	Dismiss()
}

// Ahead puts the start of a job into the batch that opens its attempt, where the gate is open already: one commit instead of
// two between the last fact that was missing and the job. What came of sending the batch is given to what Ahead gives: it
// makes the start call if the batch has happened, and where nobody knows that, finds out first.
//
// It gives nil, and leaves b as it is, for all else and wherever anything is in doubt: a closed gate, a limit on how many may
// run, a pipeline without a job, a busy host, an instant that has long passed. Then the attempt's task is claimed like any other.
func (o *Orchestrator) Ahead(ctx context.Context, b *store.Batch, row store.Pipeline, now time.Time) func(sent error) {
	if o.Worker == nil || len(b.Runs) != 1 || len(b.Tasks) != 1 || o.stale(now, o.Clock) {
		return nil
	}
	w := &work{o: o, now: now, run: b.Runs[0].Next}
	if lifecycle.Next(w.run, now).Kind != lifecycle.Evaluate || row.Paused() {
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
	worker := o.Worker(w.startBlocks())
	if worker == nil {
		return nil
	}
	if err := w.triggerIn(b, view); err != nil {
		worker.Dismiss()
		return nil
	}
	c, opening := w.prepare(), *b
	return func(sent error) {
		if isConflict(sent) {
			worker.Dismiss()
			return
		}
		worker.Carry(w.opened(opening, sent == nil), w.begin(c))
	}
}

// freshness is how old a look at the gate may be that a job is started on in the commit that opens its run. What was written
// since has been handled as if there were no run.
const freshness = time.Second

func (o *Orchestrator) stale(looked time.Time, clock func() time.Time) bool {
	return elapsed(looked, clock()) > min(freshness, o.Lease/4)
}

// opened asks for the claim that comes with an opening. Where it is not known whether that has happened it is sent again: the
// store knows it by its id. A lease that was lost meanwhile, with nothing started under it, leaves the start to others.
func (w *work) opened(b store.Batch, known bool) func(context.Context) (store.Claim, error) {
	return func(ctx context.Context) (store.Claim, error) {
		if !known {
			if err := w.o.Store.Commit(ctx, b, w.o.Clock()); err != nil {
				return store.Claim{}, err
			}
		}
		if b.Hold.Given == (store.Lease{}) {
			if _, err := w.withdraw(ctx, w.o.Clock()); err != nil {
				return store.Claim{}, err
			}
			return store.Claim{}, store.ErrConflict
		}
		return store.Claim{Task: b.Tasks[0], Lease: b.Hold.Given}, nil
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

// begin makes a start call that is stored, unless the look that it rests on is old by now. What changed meanwhile is looked at
// as in any other step.
func (w *work) begin(c call) func(context.Context, store.Claim, func() time.Time) error {
	return func(ctx context.Context, claim store.Claim, clock func() time.Time) error {
		w.claim, w.clock = &claim, clock
		var err error
		if w.o.stale(w.now, clock) {
			_, err = w.withdraw(ctx, clock())
		} else {
			_, err = w.start(ctx, c)
		}
		if isConflict(err) {
			_, err = w.o.Step(ctx, claim, clock)
		}
		return err
	}
}

// withdraw says that a start which is stored was not made, and will not be: it is decided anew. That is true for as long as
// the run waits for the answer to that start, whoever holds the lease by now.
func (w *work) withdraw(ctx context.Context, now time.Time) (lifecycle.Step, error) {
	w.now = now
	var err error
	for range answerTries {
		next, refused := w.run.Withdrawn(now)
		if refused != nil {
			return lifecycle.Step{}, refused
		}
		var step lifecycle.Step
		if step, err = w.commit(ctx, w.batch("withdraw"), next); !isConflict(err) {
			return step, err
		}
		current, unread := w.o.Store.Run(ctx, w.run.Key)
		if unread != nil {
			return lifecycle.Step{}, fmt.Errorf("read it again: %w", unread)
		}
		if !sameStart(w.run, current) {
			break
		}
		if current.Version == w.run.Version {
			w.claim = nil // not the run has changed, so the lease is gone
		}
		w.run = current
	}
	return lifecycle.Step{}, err
}
