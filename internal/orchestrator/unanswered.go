package orchestrator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// searchResult is the result of searching for a job whose start had no answer.
type searchResult int

const (
	unsearchable searchResult = iota // the target cannot be searched
	searchFailed                     // the search failed
	notFound
	jobFound
)

// unanswered handles a start without an answer. It searches for the job at once and adopts it. If
// there is none, the start is repeated if that cannot start a second job, or if the file accepts
// that risk; otherwise an operator decides.
func (w *work) unanswered(ctx context.Context, cause string) (lifecycle.Step, error) {
	kind, attempt, err := w.job()
	if err != nil {
		return w.hold(ctx, fmt.Sprintf("%s, and its job cannot be searched for: %s", cause, brief(err.Error())))
	}
	h, saw, trouble := w.find(ctx, kind, attempt)
	w.now = w.clock()
	if saw == notFound && refusesRepeats(kind) && w.now.Before(w.callOver(kind, attempt)) {
		saw, trouble = searchFailed, "the target has no such job yet, and the call may still be in progress"
	}
	if trouble != "" {
		cause += "; " + trouble
	}
	switch {
	case saw == jobFound:
		return w.started(ctx, h, "found after an unanswered start call")
	case w.mayRepeat(kind, saw):
		return w.refused(ctx, job.Refusal{Category: run.Transient, Reason: cause}, saw != notFound)
	case saw == searchFailed && w.now.Before(w.patientUntil()):
		return w.wait(ctx, lifecycle.Step{Kind: lifecycle.Wait, Due: w.now.Add(w.limits().StartBackoff), Reason: cause})
	default:
		return w.hold(ctx, cause)
	}
}

// refusedLater handles a refusal that would end an attempt of which an earlier start call had no
// answer. The refusal says nothing about that call, so the attempt fails only if the target says
// that there is no job, or if the file accepts the risk of a second one.
func (w *work) refusedLater(ctx context.Context, why job.Refusal) (lifecycle.Step, error) {
	kind, attempt, err := w.job()
	if err != nil {
		return w.hold(ctx, fmt.Sprintf("%s; an earlier start call of this attempt was not answered, and its job cannot be searched for: %s", brief(why.Reason), brief(err.Error())))
	}
	h, saw, trouble := w.find(ctx, kind, attempt)
	w.now = w.clock()
	switch saw {
	case jobFound:
		return w.started(ctx, h, "found after an unanswered start call")
	case notFound:
		return w.refused(ctx, why, false)
	}
	if w.acceptsRisk() {
		return w.refused(ctx, why, false)
	}
	reason := brief(why.Reason) + "; an earlier start call of this attempt was not answered, so its job may exist"
	if trouble != "" {
		reason += "; " + trouble
	}
	return w.hold(ctx, reason)
}

// find searches for the attempt's job.
func (w *work) find(ctx context.Context, kind job.Type, a job.Attempt) (run.Handle, searchResult, string) {
	finder, ok := kind.(job.Finder)
	if !ok {
		return "", unsearchable, ""
	}
	call, cancel := w.o.ask(ctx)
	defer cancel()
	h, found, err := finder.Find(call, a)
	switch {
	case err != nil:
		return "", searchFailed, "the search for its job failed: " + brief(err.Error())
	case !found:
		return "", notFound, "the target has no such job"
	default:
		return h, jobFound, ""
	}
}

// mayRepeat reports whether repeating the call cannot start a second job, or the file accepts the
// risk. A target that deduplicates by id may be called without a search. But once the tries are
// used up, the attempt must not fail, which would let another attempt start, before the target has
// said that there is no job.
func (w *work) mayRepeat(kind job.Type, saw searchResult) bool {
	triesLeft := w.run.Progress.StartTries-w.run.Progress.Postponed < w.limits().StartTries
	if refusesRepeats(kind) {
		return saw == notFound || triesLeft
	}
	if saw == searchFailed && w.now.Before(w.patientUntil()) {
		return false
	}
	return w.acceptsRisk()
}

// acceptsRisk reports whether the file accepts the risk of a second job.
func (w *work) acceptsRisk() bool {
	risk, ok := w.def.Job.Config.(interface{ RetriesUnanswered() bool })
	return ok && risk.RetriesUnanswered()
}

// patientUntil returns until when a target whose search fails is given time.
func (w *work) patientUntil() time.Time {
	const patience = 5 * time.Minute
	return w.run.Progress.AskedAt.Add(patience)
}

// hold leaves the run to an operator, and reports it.
func (w *work) hold(ctx context.Context, reason string) (lifecycle.Step, error) {
	next, err := w.run.Hold(reason, w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	b := w.batch("hold")
	b.Append(w.entry(store.JobHeld, "", reason))
	b.Emit(w.infraFailure("held", "the start is held until an operator decides: "+reason, event.Infra{Held: true, Error: reason}))
	return w.commit(ctx, b, next)
}

// overtaken handles an answer to a start that the run no longer waits for. Only the answer says
// which job to stop.
func (w *work) overtaken(ctx context.Context, current run.Run, c call) (lifecycle.Step, error) {
	w.now = w.clock()
	step := lifecycle.Next(current, w.now)
	b := w.batch("overtaken")
	switch {
	case current.Attempt == w.run.Attempt && (current.Status.Ended() || current.Status == run.Failed) && current.Progress.StartedAt.IsZero() && !resultKnown(current):
		if err := w.answerLeft(ctx, &b, current, c); err != nil {
			return lifecycle.Step{}, err
		}
	case c.err == nil && c.started.Result == nil && !w.follows(current, c.started.Handle):
		w.abandon(ctx, &b, current.Status, c.started.Handle)
	}
	if w.claim != nil {
		w.schedule(&b, current, step)
	}
	if b.Empty() {
		return step, nil
	}
	err := w.send(ctx, b)
	if isConflict(err) && w.claim != nil { // another worker has the task by now
		b.Lease, b.Finished, err = nil, nil, nil
		b.Tasks = slices.DeleteFunc(b.Tasks, func(t store.Task) bool { return t.ID == lifecycle.TaskID(w.run.Key) })
		if !b.Empty() {
			err = w.send(ctx, b)
		}
	}
	return step, err
}

// answerLeft records the answer to a start call whose attempt has ended meanwhile: the job, which
// must be stopped now, or that there is none. Without an answer, the task that watches left-over
// jobs finds out.
func (w *work) answerLeft(ctx context.Context, b *store.Batch, current run.Run, c call) error {
	var next run.Run
	var err error
	became := fmt.Sprintf("its start was answered after the run became %s: ", current.Status)
	switch {
	case c.err == nil && c.started.Result == nil:
		next, err = current.LeftStarted(c.started.Handle, w.now)
		b.Append(w.entry(store.JobLate, c.started.Handle, became+"the job is being stopped"))
		if err == nil {
			err = w.occupy(ctx, b, current)
		}
	case c.err == nil:
		b.Append(w.entry(store.JobLate, c.started.Handle, fmt.Sprintf("%sits result is %s", became, c.started.Result.Result)))
		if !current.Progress.Left.MayRun() {
			return nil
		}
		next, err = current.SettleLeft(run.NothingLeft, w.now)
	case refusalIn(c.err) != nil && current.Progress.Left.MayRun() && !current.Progress.Unanswered:
		next, err = current.SettleLeft(run.NothingLeft, w.now)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	b.Swap(current, next)
	if next.Progress.Left == run.NothingLeft {
		b.Schedule(store.LeftTask(next, w.now)) // it handles what the job held back
		return w.vacate(ctx, b, false)
	}
	b.Schedule(store.LeftTask(next, w.now))
	return nil
}

// abandon stops a job that no run follows, and records it.
func (w *work) abandon(ctx context.Context, b *store.Batch, became run.Status, h run.Handle) {
	left, trouble := run.JobMayRun, error(nil)
	if kind, attempt, err := w.job(); err != nil {
		trouble = err
	} else {
		left, trouble = w.stop(ctx, kind, attempt, h)
	}
	e := w.entry(store.JobLate, h, fmt.Sprintf("started while the run became %s; %s", became, leftText(left)))
	if left == run.JobStopped {
		e.Event = store.JobStopped
	}
	b.Append(e)
	if trouble == nil {
		return
	}
	which := fmt.Sprintf("overtaken at try %d", w.run.Progress.StartTries)
	b.Emit(w.infraFailure(which, e.Message, event.Infra{Error: brief(trouble.Error())}))
}

// follows reports whether the current run follows this very job, or has its result.
func (w *work) follows(current run.Run, h run.Handle) bool {
	if current.Attempt != w.run.Attempt {
		return false
	}
	return current.Status == run.Running && current.Progress.Handle == h || resultKnown(current)
}

// resultKnown reports whether the attempt's job has ended with a known result. A rejected start is no
// result.
func resultKnown(r run.Run) bool {
	return r.Progress.Report.Result != "" && !r.Progress.Report.Refused
}

func refusesRepeats(kind job.Type) bool {
	d, ok := kind.(job.Deduplicator)
	return ok && d.RefusesRepeats()
}

func leftText(left run.Leftover) string {
	switch left {
	case run.JobStopped:
		return "the job was stopped"
	case run.JobStopping:
		return "the job is being stopped"
	case run.JobMayRun:
		return "the job may still be running"
	default:
		return "no job is running"
	}
}

// startUnanswered says why it is unknown whether the job was started.
func startUnanswered(err error) string {
	text := brief(err.Error())
	if rest, found := strings.CutPrefix(text, "no answer"); found {
		return "the start call was not answered" + rest
	}
	return "the start call was not answered: " + text
}
