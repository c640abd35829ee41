package orchestrator

import (
	"context"
	"fmt"
	"strings"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// trigger performs the start that an open gate allows: it stores TRIGGERING with the snapshot,
// makes the call, and stores the result.
func (w *work) trigger(ctx context.Context, evaluated run.Run, ask gate.Answer, row store.Pipeline) (lifecycle.Step, error) {
	b := w.batch("trigger")
	w.emitPassed(&b, ask.View)
	takeSlots(&b, w.run.Pipeline, row, ask.Slots)
	learned, err := w.learned(ctx)
	if err != nil {
		return lifecycle.Step{}, err
	}
	next, err := w.triggered(&b, evaluated, ask.View, learned)
	if err != nil {
		return lifecycle.Step{}, err
	}
	switch {
	case w.def.Job == nil:
		return w.gateOnly(ctx, b, next)
	case w.external():
		return w.commit(ctx, b, next)
	}
	// The call follows the commit at once: a start that is stored but not made blocks the run.
	if err := w.enter(ctx, w.startBlocks()); err != nil {
		return lifecycle.Step{}, err
	}
	// Two workers may hold the same claim and decide alike. The unique suffix makes their commits
	// distinct, so that only the worker whose commit succeeds makes the call. The task stays
	// unchanged until the answer is known.
	b.ID += w.o.starts.Suffix()
	b.Swap(w.run, next)
	c := w.newCall()
	if err := w.send(ctx, b); err != nil {
		return lifecycle.Step{}, err
	}
	w.run = next
	return w.start(ctx, c)
}

// triggered returns the run with its start, or its offer, and adds the snapshot of the gate to b.
func (w *work) triggered(b *store.Batch, evaluated run.Run, view gate.View, learned run.Learned) (run.Run, error) {
	snapshot := view.Snapshot(evaluated, evaluated.UpdatedAt)
	snapshot.Files = w.o.Catalog.Used(w.def, snapshot.Sensors)
	b.Snapshots = append(b.Snapshots, snapshot)
	s := run.Start{Snapshot: snapshot.ID, Degraded: view.Lacking(), Replica: w.replica(), Learned: learned}
	if w.external() {
		return evaluated.Offer(s, w.now)
	}
	return evaluated.Trigger(s, w.now)
}

// learned returns how long the pipeline's latest jobs took, if polls may be left out. It reads few pages,
// so that a pipeline whose runs do not complete costs little.
func (w *work) learned(ctx context.Context) (run.Learned, error) {
	l := w.limits()
	if !l.LearnPolls || l.PollInterval <= 0 {
		return run.Learned{}, nil
	}
	var runs []run.Run
	q := store.RunQuery{Pipeline: w.run.Pipeline, Limit: run.LearnLast + 5}
	for range 4 {
		page, err := w.o.Store.Runs(ctx, q)
		if err != nil {
			return run.Learned{}, fmt.Errorf("read how long its jobs took: %w", err)
		}
		runs = append(runs, page.Items...)
		if q.Cursor = page.Next; q.Cursor == "" || run.Learn(runs).Runs == run.LearnLast {
			break
		}
	}
	return run.Learn(runs), nil
}

// gateOnly handles a pipeline without a job: the client that asked runs it, and reports the result.
func (w *work) gateOnly(ctx context.Context, b store.Batch, triggered run.Run) (lifecycle.Step, error) {
	next, err := triggered.Started("", w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	next.Reason = "gate open; its result is reported from outside"
	return w.commit(ctx, b, next)
}

// replica returns the controller that owns the job, if its type binds jobs to one controller.
func (w *work) replica() string {
	if w.def.Job == nil {
		return ""
	}
	if local, ok := w.o.Jobs[w.def.Job.Type].(job.Local); ok && local.OnThisReplica() {
		return w.o.Replica
	}
	return ""
}

// ending returns the facts on which the end of the attempt was decided; later writes are compared
// with it, by version.
func ending(ended run.Run, view gate.View) store.Snapshot {
	return store.Snapshot{
		ID: ended.EndSnapshot(), Key: ended.Key, Attempt: ended.Attempt, At: ended.EndedAt, Config: ended.Progress.Opening.ConfigVersion,
		Outcome: view.Verdict.Outcome, Sensors: gate.WithoutData(view.Sensors), PostRun: gate.WithoutData(view.PostRun), Read: view.Read,
	}
}

// emitPassed adds the event of the open gate to b, once per attempt: the event's id ensures that.
func (w *work) emitPassed(b *store.Batch, view gate.View) {
	message := "the gate is open"
	switch n := len(view.Degraded); {
	case n == 1:
		message = "the gate is open without 1 preferred rule: " + view.Degraded[0]
	case n > 1:
		message = fmt.Sprintf("the gate is open without %d preferred rules: %s", n, strings.Join(view.Degraded, "; "))
	}
	if o := w.run.Progress.Opening; o.GateBypassed && !view.Open() {
		message = fmt.Sprintf("the gate is %s and was bypassed by %s: %s", view.Verdict.Outcome, o.By, o.Reason)
	}
	b.Emit(event.New(event.ValidationPassed, w.about(), message, event.Gate{Rules: view.Rules(), Degraded: view.Degraded}))
}

// call is a start call: prepared, then made. err prevents it, or is its answer.
type call struct {
	kind    job.Type
	attempt job.Attempt
	started job.Started
	err     error
}

// newCall prepares a start call: it fills in the job's variables and secrets.
func (w *work) newCall() (c call) {
	c.kind, c.attempt, c.err = w.job()
	return c
}

// start makes the call for a run whose TRIGGERING is stored, and stores the answer.
func (w *work) start(ctx context.Context, c call) (lifecycle.Step, error) {
	if stalled := elapsed(w.now, w.clock()); c.err == nil && stalled > w.o.Lease/2 {
		c.err = job.Refuse(run.Transient, "not started: this controller was suspended for %s, and another may have taken over", stalled)
	}
	if c.err == nil {
		limited, cancel := context.WithTimeout(ctx, w.o.startLimit(c.kind, c.attempt))
		called, end := w.o.Span(limited, "start "+w.def.Job.Type, w.run)
		c.started, c.err = c.kind.Start(called, c.attempt)
		end(c.err)
		cancel()
	}
	return w.storeAnswer(ctx, c)
}

// answerTries is how often storing the answer to a start call is retried because the run has
// changed. Each changed input changes the run, and an answer that is not stored is lost.
const answerTries = 100

// storeAnswer stores the answer to a start call. The call has been made, even if the lease is lost
// or the caller is shutting down, so the answer is applied to the run's current state.
func (w *work) storeAnswer(ctx context.Context, c call) (lifecycle.Step, error) {
	if c.err != nil && refusalIn(c.err) == nil && ctx.Err() != nil {
		return lifecycle.Step{}, fmt.Errorf("start its job: %w", c.err) // the next worker searches for it
	}
	ctx = context.WithoutCancel(ctx)
	var err error
	for range answerTries {
		w.now = w.clock()
		var step lifecycle.Step
		if step, err = w.answered(ctx, c); !isConflict(err) {
			return step, err
		}
		var current run.Run
		if current, err = w.o.Store.Run(ctx, w.run.Key); err != nil {
			return lifecycle.Step{}, fmt.Errorf("read it after its start: %w", err)
		}
		if !c.appliesTo(w.run, current) {
			if step, err = w.overtaken(ctx, current, c); !isConflict(err) {
				return step, err
			}
			continue
		}
		if current.Version == w.run.Version {
			w.claim = nil // the run is unchanged, so the lease is lost
		}
		w.run = current
	}
	return lifecycle.Step{}, err
}

// appliesTo reports whether the answer decides what the run does next. If it says that there is a job,
// the attempt follows that, even if another worker is about to repeat the start or the gate has closed
// again. Any other answer is only about the latest start call.
func (c call) appliesTo(asked, current run.Run) bool {
	if current.Attempt != asked.Attempt || current.Progress.Report.Result != "" {
		return false
	}
	if c.err == nil {
		return current.Status == run.Triggering || current.Status == run.Pending
	}
	return current.Status == run.Triggering && !current.Progress.AskedAt.IsZero() && current.Progress.StartTries == asked.Progress.StartTries
}

// answered stores the result of a start call.
func (w *work) answered(ctx context.Context, c call) (lifecycle.Step, error) {
	refusal := refusalIn(c.err)
	switch {
	case c.err == nil && c.started.Result == nil:
		return w.started(ctx, c.started.Handle, "")
	case c.err == nil:
		return w.ended(ctx, c.started.Handle, *c.started.Result)
	case refusal != nil:
		return w.refused(ctx, *refusal, w.run.Progress.Unanswered)
	default:
		return w.unanswered(ctx, startUnanswered(c.err))
	}
}

// started stores a running job: known from the answer, or found again.
func (w *work) started(ctx context.Context, h run.Handle, found string) (lifecycle.Step, error) {
	next, err := w.run.Started(h, w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	if found != "" { // it has been running for a while: poll it at once
		next.Progress.NextPoll = next.UpdatedAt
	}
	b := w.batch("started")
	w.emitStarted(&b, h, found)
	if err := w.occupy(ctx, &b, w.run); err != nil {
		return lifecycle.Step{}, err
	}
	return w.commit(ctx, b, next)
}

// emitStarted adds the job log entry and the event of a started job to b.
func (w *work) emitStarted(b *store.Batch, h run.Handle, found string) {
	p := w.run.Progress
	b.Append(w.entry(store.JobStarted, h, found))
	message := fmt.Sprintf("%s job", w.def.Job.Type)
	if h != "" {
		message += " " + string(h)
	}
	if found != "" {
		message += ": " + found
	} else {
		message += " started"
	}
	b.Emit(event.New(event.JobTriggered, w.about(), message, event.Started{JobType: w.def.Job.Type, Handle: h, Snapshot: p.Snapshot}))
}

// entry returns a job log entry about the latest start.
func (w *work) entry(e store.JobEvent, h run.Handle, message string) store.JobEntry {
	return store.JobEntry{
		Key: w.run.Key, Attempt: w.run.Attempt, At: period.Instant(w.now), Event: e,
		Try: w.run.Progress.StartTries, Handle: h, Message: message,
	}
}

// refused stores a start that certainly did not happen. It is retried after a while, or the attempt
// fails. unanswered means that the job of an earlier start call may exist.
func (w *work) refused(ctx context.Context, why job.Refusal, unanswered bool) (lifecycle.Step, error) {
	if why.Own && why.Category != run.Permanent {
		return w.postpone(ctx, why, unanswered)
	}
	report := run.Report{Result: run.ResultFail, Category: why.Category, Message: brief(why.Reason)}
	report.Category = w.classify(report, "")
	next, err := w.run.Refused(report, w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	if next.Status == run.Failed && unanswered {
		return w.refusedLater(ctx, why)
	}
	next.Progress.Unanswered = unanswered
	b := w.batch("refused")
	e := w.entry(store.JobRefused, "", report.Message)
	e.Category = report.Category
	b.Append(e)
	if next.Status != run.Failed {
		next.Progress.NextTry = period.Later(next.Progress.NextTry, next.UpdatedAt.Add(min(why.After, maxWish)))
		return w.commit(ctx, b, next)
	}
	if err := w.vacate(ctx, &b, false); err != nil {
		return lifecycle.Step{}, err
	}
	again, err := w.nextAttempt(ctx, next)
	if err != nil {
		return lifecycle.Step{}, err
	}
	b.Emit(event.New(event.JobFailed, w.about(), "the start was refused: "+report.Message, event.Finished{Category: report.Category, NextAttemptAt: again}))
	return w.commit(ctx, b, next)
}

// postpone stores that this controller could not make a start call for lack of descriptors, memory,
// processes or disk space. That is no failure of the job: the call is retried without counting as a
// try, and reported once per attempt.
func (w *work) postpone(ctx context.Context, why job.Refusal, unanswered bool) (lifecycle.Step, error) {
	next, err := w.run.Postpone(w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	next.Progress.Unanswered = unanswered
	reason := brief(why.Reason)
	b := w.batch("postponed")
	e := w.entry(store.JobRefused, "", "postponed, the controller lacks resources: "+reason)
	e.Category = run.Transient
	b.Append(e)
	b.Emit(w.infraFailure("postponed", "the start is postponed, since the controller lacks resources: "+reason, event.Infra{Error: reason}))
	return w.commit(ctx, b, next)
}
