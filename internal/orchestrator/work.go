package orchestrator

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/excerpt"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// work is the state of one step.
type work struct {
	o     *Orchestrator
	claim *store.Claim // nil if no task is held: Await, or an answer that outlived its lease
	clock func() time.Time
	now   time.Time // time of the decision; updated after a slow call
	run   run.Run   // as it was read
	def   *pipeline.Definition

	active *catalog.Entry // of a dry run: the active version, which it follows
	stored run.Run        // as last committed; zero before that
}

// batch starts the commit of a decision on the version that was read, under the lease if there is
// one.
func (w *work) batch(what string) store.Batch {
	b := store.Batch{ID: fmt.Sprintf("%s/%s/v%d", what, w.run.Key, w.run.Version)}
	if w.run.DryRun {
		b.ID = "dry " + b.ID
	}
	if w.claim == nil {
		return b
	}
	b.Awaited = w.claim.Awaited
	if w.claim.Lease != (store.Lease{}) {
		b.Lease = &w.claim.Lease
	}
	return b
}

// about returns the subject of an event about the attempt. Its cause is the run's task, without the
// version: how often a run was woken depends on timing, and events must not.
func (w *work) about() event.About {
	a := event.Of(w.run, w.now)
	a.CausedBy = lifecycle.TaskID(w.run.Key)
	return a
}

// infraFailure returns an INFRA_FAILURE of the attempt; which distinguishes it from others of the
// same attempt.
func (w *work) infraFailure(which, message string, infra event.Infra) event.Event {
	about := w.about()
	about.Which = which
	return event.New(event.InfraFailure, about, message, infra)
}

// commit ends a step: it replaces the run with next, and schedules the task for the following step.
func (w *work) commit(ctx context.Context, b store.Batch, next run.Run) (lifecycle.Step, error) {
	b.Swap(w.run, next)
	step := lifecycle.Next(next, w.now)
	w.schedule(&b, next, step)
	if err := w.send(ctx, b); err != nil {
		return lifecycle.Step{}, err
	}
	w.stored = next
	if w.o.Running != nil && next.Status == run.Running && next.Progress.Replica == w.o.Replica {
		w.o.Running(next.Key, next.Attempt)
	}
	return step, nil
}

// record commits a change of the run alone.
func (w *work) record(ctx context.Context, what string, change func(time.Time) (run.Run, error)) (lifecycle.Step, error) {
	next, err := change(w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	return w.commit(ctx, w.batch(what), next)
}

// send commits a batch. If the reply is lost it commits again: the store recognises the batch by
// its id.
func (w *work) send(ctx context.Context, b store.Batch) error {
	err := w.o.Store.Commit(ctx, b, w.now)
	if err == nil || isConflict(err) || ctx.Err() != nil {
		return err
	}
	return w.o.Store.Commit(ctx, b, w.now)
}

// schedule moves the run's task to the step, or finishes it.
func (w *work) schedule(b *store.Batch, r run.Run, step lifecycle.Step) {
	if step.Kind == lifecycle.None {
		b.Finish(task(r, w.now).ID)
		return
	}
	due := w.now
	if step.Kind == lifecycle.Wait {
		due = step.Due
	}
	b.Schedule(task(r, due))
}

// task returns the task that advances r. While its job belongs to one replica, so does the task.
func task(r run.Run, due time.Time) store.Task {
	t := store.AdvanceTask(r, due)
	if r.Status == run.Triggering || r.Status == run.Running || r.MayHaveStarted() {
		t.Replica = r.Progress.Replica
	}
	return t
}

// wait moves the task to a later time and changes nothing else.
func (w *work) wait(ctx context.Context, step lifecycle.Step) (lifecycle.Step, error) {
	b := w.batch("wait until " + period.Exact(step.Due))
	w.schedule(&b, w.run, step)
	return step, w.send(ctx, b)
}

// drop finishes the task of a run that has nothing more to do.
func (w *work) drop(ctx context.Context, reason string) (lifecycle.Step, error) {
	b := store.Batch{ID: fmt.Sprintf("drop/%s", w.claim.Task.ID), Lease: &w.claim.Lease}
	b.Finish(w.claim.Task.ID)
	return lifecycle.Step{Kind: lifecycle.None, Reason: reason}, w.send(ctx, b)
}

// withoutDefinition handles a run whose version of the file is not available. Nothing can be
// decided, except that its time limit ends it; until then this is reported once. The run no longer
// waits for a slot: its time limit would not run, and others would yield to it.
func (w *work) withoutDefinition(ctx context.Context, step lifecycle.Step, cause error) (lifecycle.Step, error) {
	if step.Kind == lifecycle.InfraFailure {
		return w.timeOut(ctx, step)
	}
	b := w.batch("without definition")
	message := fmt.Sprintf("no step is possible: %v", cause)
	b.Emit(w.infraFailure("definition", message, event.Infra{Error: cause.Error()}))
	next := lifecycle.Step{Kind: lifecycle.Wait, Due: w.now.Add(w.interval()), Reason: message}
	if gate.Queued(w.run, nil) {
		left, err := w.run.LeaveQueue(w.now)
		if err != nil {
			return lifecycle.Step{}, err
		}
		if err := w.vacate(ctx, &b, true); err != nil {
			return lifecycle.Step{}, err
		}
		b.Swap(w.run, left)
	}
	w.schedule(&b, w.run, next)
	return next, w.send(ctx, b)
}

// interval returns how often the attempt evaluates its gate.
func (w *work) interval() time.Duration {
	return max(w.run.Progress.Opening.Limits.Interval, time.Second)
}

// limits returns the limits of the attempt.
func (w *work) limits() run.Limits { return w.run.Progress.Opening.Limits }

// maxMessage bounds messages of other systems in rows and events.
const maxMessage = 2000

func brief(text string) string { return excerpt.Bytes(text, maxMessage) }

// Broken reports that the host of an attempt could not continue, and why. The run and its task stay
// unchanged: another worker continues. who identifies the host; a repeated report from the same
// host is one event.
func (o *Orchestrator) Broken(ctx context.Context, key run.Key, attempt int, who, cause string, now time.Time) (run.Run, error) {
	r, err := store.IfFound(o.Store.Run(ctx, key))
	if err != nil || !r.Status.Open() {
		return r, err // nothing left to continue
	}
	about := event.About{
		Pipeline: key.Pipeline, Schedule: key.Schedule, Date: key.Period, Attempt: attempt, At: now, Which: "broken " + who, CausedBy: lifecycle.TaskID(key),
	}
	b := store.Batch{ID: fmt.Sprintf("broken/%s/%s", key.Attempt(attempt), who)}
	b.Emit(event.New(event.InfraFailure, about, fmt.Sprintf("%s cannot continue: %s", who, brief(cause)), event.Infra{Error: brief(cause)}))
	if err := o.Store.Commit(ctx, b, now); err != nil {
		return r, fmt.Errorf("report that %s of %s cannot continue: %w", who, key, err)
	}
	return r, nil
}
