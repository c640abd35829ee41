package orchestrator

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/prober"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// evaluate evaluates the gate. If it is closed, the run waits for the next evaluation, or ends with
// its window. If it is open, the start is stored in the same commit, so that no start depends on an
// older evaluation than the one stored with it.
func (w *work) evaluate(ctx context.Context) (lifecycle.Step, error) {
	row, err := w.row(ctx)
	if err != nil {
		return lifecycle.Step{}, err
	}
	if row.Paused() {
		return w.paused(ctx, row)
	}
	view, err := w.evaluateGate(ctx)
	if err != nil {
		return lifecycle.Step{}, err
	}
	evaluated, err := w.run.Evaluated(view.Open(), w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	switch {
	case !evaluated.Progress.GateOpen:
		return w.closed(ctx, evaluated.EvaluateBy(view.OpensAt), view, row)
	case w.run.Offered():
		return w.record(ctx, "offered", w.run.StillOffered)
	}
	return w.trigger(ctx, evaluated, view, row)
}

// evaluateGate evaluates the gate at w.now.
func (w *work) evaluateGate(ctx context.Context) (gate.View, error) {
	return gate.Evaluate(ctx, w.o.Store, gate.Question{
		Definition: w.def, Upstream: w.o.Catalog.Current().Definition, Period: w.run.Period, Opened: w.run.Progress.WindowStart, PostRun: true,
	}, w.now)
}

// row returns the pipeline's row; an empty one if it has none.
func (w *work) row(ctx context.Context) (store.Pipeline, error) {
	return store.IfFound(w.o.Store.Pipeline(ctx, w.run.Pipeline))
}

// closed records a closed gate. A start that was to be repeated releases its slot and waits for the
// gate again.
func (w *work) closed(ctx context.Context, evaluated run.Run, view gate.View, row store.Pipeline) (lifecycle.Step, error) {
	b := w.batch("closed")
	if w.run.Status == run.Triggering {
		giveBack(&b, row, w.run.ID())
	} else {
		w.wakeYielding(&b, row)
	}
	step := lifecycle.Next(evaluated, w.now)
	if step.Kind != lifecycle.ValidationExhausted {
		prober.Need(&b, w.o.Catalog.Current(), w.def, view, w.run.Key, w.now)
		return w.commit(ctx, b, evaluated)
	}
	next, err := evaluated.Exhausted(step.Reason, w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	w.emitExhausted(&b, next, next.Reason, view)
	return w.commit(ctx, b, next)
}

// exhaust ends a run whose last evaluation found its gate closed, or whose offer no worker claimed.
// It evaluates again only to report which rules keep the gate closed.
func (w *work) exhaust(ctx context.Context, step lifecycle.Step) (lifecycle.Step, error) {
	b := w.batch("exhausted")
	if w.run.Offered() {
		return w.expire(ctx, b, step.Reason)
	}
	if err := w.leaveQueue(ctx, &b); err != nil {
		return lifecycle.Step{}, err
	}
	return w.exhaustIn(ctx, b, step.Reason)
}

// exhaustPaused ends a run whose window ends during a pause. The commit depends on the pipeline's
// row: if the pause has ended meanwhile, the gate is evaluated instead.
func (w *work) exhaustPaused(ctx context.Context, row store.Pipeline) (lifecycle.Step, error) {
	b := w.batch("exhausted")
	if w.wakeYielding(&b, row); len(b.Pipelines) == 0 {
		b.ExpectPipeline(w.run.Pipeline, row)
	}
	return w.exhaustIn(ctx, b, "its window ended while the pipeline was "+row.PauseText())
}

func (w *work) exhaustIn(ctx context.Context, b store.Batch, reason string) (lifecycle.Step, error) {
	view, err := w.evaluateGate(ctx)
	if err != nil {
		return lifecycle.Step{}, err
	}
	next, err := w.run.Exhausted(reason, w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	w.emitExhausted(&b, next, reason, view)
	return w.commit(ctx, b, next)
}

// emitExhausted reports that a window has ended, and stores the state of the gate.
func (w *work) emitExhausted(b *store.Batch, exhausted run.Run, reason string, view gate.View) {
	b.Snapshots = append(b.Snapshots, ending(exhausted, view))
	b.Emit(event.New(event.ValidationExhausted, w.about(), reason, event.Gate{Rules: view.Rules()}))
}

// paused starts nothing. The attempt checks again each interval, and when it is woken because the
// pause has ended. If its window ends during the pause, the attempt ends too, since nothing would
// be left of the window afterwards; but not if the pause is overdue to end. While the attempt waits
// for a slot its window does not run, unless the pipeline has been removed: then nothing would ever
// end the pause.
func (w *work) paused(ctx context.Context, row store.Pipeline) (lifecycle.Step, error) {
	p := w.run.Progress
	waits := !p.WaitingSince.IsZero() && row.Config != ""
	until := row.PausedUntil()
	ending := !until.IsZero() && !w.now.Before(until)
	if w.run.Status == run.Pending && !waits && !ending && !w.now.Before(p.WindowEnd) {
		return w.exhaustPaused(ctx, row)
	}
	due := w.now.Add(w.interval())
	for _, at := range []time.Time{p.WindowEnd, p.LimitAt} {
		if at.After(w.now) && at.Before(due) {
			due = at
		}
	}
	return w.wait(ctx, lifecycle.Step{Kind: lifecycle.Wait, Due: due, Reason: row.PauseText()})
}

func isConflict(err error) bool { return errors.Is(err, store.ErrConflict) }
