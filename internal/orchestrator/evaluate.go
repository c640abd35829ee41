package orchestrator

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/prober"
	"github.com/interlock-go/interlock/internal/rerun"
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
	ask, err := gate.Ask(ctx, w.o.Store, gate.Situation{Question: w.question(), Row: row, Run: w.run, Starting: true}, w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	if ask.Blocked(gate.Paused) {
		return w.paused(ctx, row)
	}
	evaluated, err := w.run.Evaluated(ask.Passes(), w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	switch {
	case !evaluated.Progress.GateOpen:
		return w.closed(ctx, evaluated.EvaluateBy(ask.OpensAt), ask.View, row)
	case w.run.DryRun:
		return w.wouldTrigger(ctx, evaluated, ask.View)
	case w.run.Offered():
		return w.record(ctx, "offered", w.run.StillOffered)
	case ask.Blocked(gate.MaxActive):
		return w.waitForSlot(ctx, evaluated, ask.View, row)
	case !ask.Allowed():
		return w.wait(ctx, lifecycle.Step{Kind: lifecycle.Wait, Due: w.now.Add(w.interval()), Reason: ask.Blocks[0].Reason.String()})
	}
	return w.trigger(ctx, evaluated, ask, row)
}

// question is about the gate of the attempt.
func (w *work) question() gate.Question {
	return gate.Question{
		Definition: w.def, Upstream: w.o.Catalog.Current().Definition, Period: w.run.Period, Opened: w.run.Progress.WindowStart, PostRun: true,
	}
}

// evaluateGate evaluates the gate at w.now.
func (w *work) evaluateGate(ctx context.Context) (gate.View, error) {
	return gate.Evaluate(ctx, w.o.Store, w.question(), w.now)
}

// row returns the pipeline's row; an empty one if it has none. A dry run gets none: it starts nothing,
// so neither a pause nor the slots concern it.
func (w *work) row(ctx context.Context) (store.Pipeline, error) {
	if w.run.DryRun {
		return store.Pipeline{}, nil
	}
	return store.IfFound(w.o.Store.Pipeline(ctx, w.run.Pipeline))
}

// closed records a closed gate. A start that was to be repeated releases its slot and waits for the
// gate again, unless an earlier start call had no answer: its job may exist, and keeps the slot.
func (w *work) closed(ctx context.Context, evaluated run.Run, view gate.View, row store.Pipeline) (lifecycle.Step, error) {
	step := lifecycle.Next(evaluated, w.now)
	if step.Kind == lifecycle.ValidationExhausted {
		return w.endUnstarted(ctx, w.batch("closed"), evaluated, row, view, step.Reason)
	}
	b := w.batch("closed")
	gate.ReleaseSlot(&b, row, w.run, w.def, evaluated.HoldsSlot())
	prober.Need(&b, w.o.Catalog.Current(), w.def, view, w.run.Key, w.now)
	return w.commit(ctx, b, evaluated)
}

// waitForSlot records an open gate without a free slot. The commit depends on the pipeline's row: if
// a slot is freed, an older run leaves the queue, or the pipeline is paused before, the attempt
// decides again.
func (w *work) waitForSlot(ctx context.Context, evaluated run.Run, view gate.View, row store.Pipeline) (lifecycle.Step, error) {
	next, err := evaluated.WaitForSlot(w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	b := w.batch("trigger")
	w.emitPassed(&b, view)
	b.ExpectPipeline(w.run.Pipeline, row)
	return w.commit(ctx, b, next)
}

// exhaust ends a run whose last evaluation found its gate closed, whose offer no worker claimed, or
// that got no slot in time. It evaluates again only to report which rules keep the gate closed.
func (w *work) exhaust(ctx context.Context, reason string) (lifecycle.Step, error) {
	row, err := w.row(ctx)
	if err != nil {
		return lifecycle.Step{}, err
	}
	if w.run.Offered() && row.Paused() { // during a pause no worker could claim it
		reason += "; the pipeline is " + row.PauseText()
	}
	return w.exhaustIn(ctx, w.batch("exhausted"), row, reason)
}

// exhaustPaused ends a run whose window ends during a pause. The commit depends on the pipeline's
// row: if the pause has ended meanwhile, the gate is evaluated instead.
func (w *work) exhaustPaused(ctx context.Context, row store.Pipeline) (lifecycle.Step, error) {
	return w.exhaustIn(ctx, w.batch("exhausted"), row, "its window ended while the pipeline was "+row.PauseText())
}

func (w *work) exhaustIn(ctx context.Context, b store.Batch, row store.Pipeline, reason string) (lifecycle.Step, error) {
	view, err := w.evaluateGate(ctx)
	if err != nil {
		return lifecycle.Step{}, err
	}
	return w.endUnstarted(ctx, b, w.run, row, view, reason)
}

// endUnstarted ends a run whose attempt did not start in time, reports that, and stores the state of
// the gate. If a start call had no answer, its job may exist, and is stopped. A retry that is too
// late ends the run as failed: what failed is the attempt before.
func (w *work) endUnstarted(ctx context.Context, b store.Batch, read run.Run, row store.Pipeline, view gate.View, reason string) (lifecycle.Step, error) {
	if w.run.DryRun {
		return w.wouldNotTrigger(ctx, read, reason, reason+view.Unmet(w.now))
	}
	left, trouble := job.Left(w.def, w.run)
	var next run.Run
	var err error
	late := (read.Status == run.Pending || read.Offered()) && read.Progress.Opening.RetryTooLate(w.now)
	if late {
		reason = "no retry starts after the start condition's deadline, " + period.Stamp(read.Progress.Opening.Until)
		next, err = read.GiveUp(reason, w.now)
		next.Progress.Left = left
	} else {
		if read.Progress.Opening.TooLate(w.now) {
			reason += "; there is no automatic start after the start condition's deadline, " + period.Stamp(read.Progress.Opening.Until)
		}
		next, err = read.Exhausted(reason, left, w.now)
	}
	if err != nil {
		return lifecycle.Step{}, err
	}
	w.leave(&b, row, left)
	if left != run.NothingLeft {
		reason += "; " + w.leftText(left)
	}
	if trouble != nil {
		reason += " (" + brief(trouble.Error()) + ")"
	}
	b.Snapshots = append(b.Snapshots, ending(next, view))
	reason += view.Unmet(w.now)
	if late {
		cause := read.Progress.Opening.Cause
		budget := rerun.BudgetOf(w.def.Job, read, cause)
		b.Emit(event.New(event.RetryExhausted, w.about(), reason, event.Budget{Cause: cause, Used: budget.Used, Max: budget.Max}))
	} else {
		b.Emit(event.New(event.ValidationExhausted, w.about(), reason, event.Gate{Rules: view.Rules()}))
	}
	if len(b.Pipelines) == 0 {
		b.ExpectPipeline(w.run.Pipeline, row)
	}
	return w.commit(ctx, b, next)
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
