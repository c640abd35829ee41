package orchestrator

import (
	"context"
	"fmt"
	"strings"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
)

// A dry run takes the steps of a run, with the same window and interval, and ends where the job of a
// run would start. It follows edits of its file, it waits neither for the end of a pause nor for a
// slot, and its events are its own.

// follow makes a dry run go on by the active version of its file. If the pipeline was removed or is
// no longer a dry run, it silently ends the dry run, and reports that: left open, its row would stay
// forever and block the period's next dry run.
func (w *work) follow(ctx context.Context) (left bool, err error) {
	w.active, _, err = w.o.Catalog.Active(ctx, w.run.Pipeline)
	switch {
	case err != nil || w.run.Status != run.Pending:
		return false, err
	case w.active != nil && w.active.DryRun:
		w.run.Progress.Opening.ConfigVersion = w.active.Version
		return false, nil
	}
	next, err := w.run.Exhausted("the pipeline was no longer a dry run", run.NothingLeft, w.now)
	if err == nil {
		_, err = w.commit(ctx, w.batch("left"), next)
	}
	return true, err
}

// wouldNotTrigger ends a dry run whose gate stayed closed; message also names the rules.
func (w *work) wouldNotTrigger(ctx context.Context, read run.Run, reason, message string) (lifecycle.Step, error) {
	next, err := read.Exhausted(reason, run.NothingLeft, w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	b := w.batch("exhausted")
	b.Emit(event.New(event.DryRunCompleted, event.Of(w.run, w.now), "nothing would have started: "+message, nil))
	return w.commit(ctx, b, next)
}

// wouldTrigger reports what a run would do now, and ends the dry run with the snapshot that late
// data and drift are compared with.
func (w *work) wouldTrigger(ctx context.Context, evaluated run.Run, view gate.View) (lifecycle.Step, error) {
	snapshot := view.Snapshot(w.run, period.Instant(w.now))
	snapshot.ID, snapshot.Read = run.SnapshotID("dry/"+w.run.Life()), view.Read
	next, err := w.completeDry(evaluated, run.Start{Snapshot: snapshot.ID, Degraded: view.Lacking()})
	if err != nil {
		return lifecycle.Step{}, err
	}
	b := w.batch("would trigger")
	b.Snapshots = append(b.Snapshots, snapshot)
	about, gateIs := event.Of(w.run, w.now), "open"
	switch {
	case !view.Open():
		gateIs = "bypassed"
	case len(view.Degraded) > 0:
		gateIs = "open without " + strings.Join(view.Degraded, "; ")
	}
	b.Emit(event.New(event.DryRunWouldTrigger, about, fmt.Sprintf("the gate is %s: %s job would start now", gateIs, w.def.Job.Type),
		event.Gate{Rules: view.Rules(), Degraded: view.Degraded}))
	deadline, err := w.earliestDeadline(ctx, w.active, w.run.Period)
	if err != nil {
		return lifecycle.Step{}, err
	}
	if p, ok := project(deadline, w.def.SLA.Expected, w.now); ok {
		message := fmt.Sprintf("estimated to end at %s, %s the deadline of %s",
			period.Stamp(p.EstimatedCompletion), relationText[p.Status], period.Stamp(p.Deadline))
		b.Emit(event.New(event.DryRunSLAProjection, about, message, p))
	}
	b.Emit(event.New(event.DryRunCompleted, about, "the dry run is over", nil))
	if err := w.capture(ctx, &b, next, view.PostRun); err != nil {
		return lifecycle.Step{}, err
	}
	return w.commit(ctx, b, next)
}

// completeDry moves a dry run to its end, as if its job had started and succeeded at once.
func (w *work) completeDry(evaluated run.Run, s run.Start) (run.Run, error) {
	next, err := evaluated.Trigger(s, w.now)
	if err != nil {
		return next, err
	}
	o := run.Outcome{Key: next.Key, Attempt: next.Attempt, Report: run.Report{Result: run.ResultSuccess, Message: "dry run"}}
	if next, err = next.Reported(o, w.now); err != nil {
		return next, err
	}
	return next.Complete(w.now)
}
