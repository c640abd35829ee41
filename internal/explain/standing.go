package explain

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/reason"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/run"
)

// standing explains a run that exists.
func (l *look) standing(ctx context.Context) error {
	r := l.x.Run
	switch r.Status {
	case run.Pending:
		return l.waiting(ctx)
	case run.ValidationExhausted:
		return l.exhausted(ctx)
	case run.Triggering:
		l.starting()
	case run.Running:
		l.running()
	case run.Failed, run.JobPollExhausted:
		l.x.State = Settling
		l.sum("settling", "attempt %d failed (%s); a retry is being decided", r.Attempt, orUnknown(r.Reason))
		if l.paused() {
			l.sum("paused", "attempt %d failed (%s); the pipeline is paused, so no retry opens", r.Attempt, orUnknown(r.Reason))
			l.x.resumesAt = l.row.PausedUntil()
		}
	case run.Completed:
		l.completed()
	case run.FailedFinal:
		l.x.State = Failed
		l.sum("failed", "%s", orUnknown(r.Reason))
		l.anotherAttempt("opens another attempt")
	case run.Cancelled:
		l.x.State = Cancelled
		l.sum("cancelled", "%s", orUnknown(r.Reason))
		l.anotherAttempt("opens another attempt")
	}
	l.leftover()
	var err error
	l.x.Gate, err = l.stored(ctx)
	return err
}

// leftover explains a job that may still be running although its attempt has ended.
func (l *look) leftover() {
	r := l.x.Run
	worker, lost := r.Progress.Offer.Worker, r.Progress.HeartbeatEnd()
	switch left := r.Progress.Left; {
	case left == run.JobMayRun && worker != "":
		l.because("job-may-run", "worker %s sends no heartbeats, so it was not asked to stop and may still be running attempt %d; a rerun is rejected until the worker reports a result", worker, r.Attempt)
	case left == run.JobMayRun:
		l.because("job-may-run", "the job of attempt %d could not be stopped and may still be running; a rerun is rejected while it is", r.Attempt)
	case left == run.JobStopping && worker != "":
		l.because("job-stopping", "the response to the next heartbeat asks worker %s to stop; until the worker reports a result, or counts as lost %s, it keeps its slot and a rerun is rejected", worker, l.when(lost))
	case left == run.JobStopping:
		l.because("job-stopping", "the job of attempt %d has been stopping since %s; until it has ended, it keeps its slot and a rerun is rejected", r.Attempt, l.when(r.EndedAt))
	}
}

func (l *look) starting() {
	r := l.x.Run
	p := r.Progress
	if r.Offered() {
		l.offered()
		return
	}
	if p.Held.Reason != "" {
		l.x.State = Held
		l.sum("held", "the start of attempt %d has been held since %s: %s", r.Attempt, l.when(p.Held.Since), p.Held.Reason)
		l.because("held", "it is unknown whether the job started, so it is not started again")
		l.timeLimit()
		l.opens("job-complete", "`interlock job complete %s success` or `fail`, once you know how the job ended", l.key)
		l.opens("cancel", "`interlock cancel %s`", l.key)
		return
	}
	l.x.State = Starting
	if p.NextTry.IsZero() {
		l.sum("starting", "start call %d of attempt %d was made %s and has not been answered", p.StartTries, r.Attempt, l.when(p.AskedAt))
		l.timeLimit()
		return
	}
	refused := fmt.Sprintf("start call %d of attempt %d %s (%s)", p.StartTries, r.Attempt, refusedWord(*r), orUnknown(l.x.Attempts[len(l.x.Attempts)-1].Message))
	if l.paused() {
		l.sum("paused", "%s; the pipeline is paused, so it is not repeated", refused)
		l.x.resumesAt = l.row.PausedUntil()
		l.timeLimit()
		return
	}
	l.sum("start-refused", "%s; the next one is %s", refused, l.when(p.NextTry))
}

// refusedWord says what became of a start call that is repeated.
func refusedWord(r run.Run) string {
	if r.Progress.Unanswered {
		return "failed"
	}
	return "was refused"
}

// timeLimit says when an attempt ends that nothing else ends.
func (l *look) timeLimit() {
	l.because("time-limit", "its time limit is %s; the run then ends as %s", l.when(l.x.Run.Progress.LimitAt), run.FailedFinal)
}

// offered explains an attempt that waits for a worker.
func (l *look) offered() {
	r := l.x.Run
	p := r.Progress
	l.x.State = Offered
	l.sum("offered", "attempt %d has been offered since %s; no worker has claimed it", r.Attempt, l.when(p.Offer.Since))
	if before := l.failedBefore(); before != nil {
		l.because("retrying", "attempt %d failed: %s", before.Number, before.Message)
	}
	if l.paused() {
		l.because("paused", "no worker can claim it while the pipeline is paused")
	}
	l.because("offer-expires", "the offer expires %s; if no worker claims it, the run ends as %s", l.when(p.OfferEnd()), run.ValidationExhausted)
	l.opens("exec", "`interlock exec %s --date %s -- COMMAND` claims it and runs the command", r.Pipeline, r.Period)
}

// claimed explains an attempt that a worker runs.
func (l *look) claimed() {
	r := l.x.Run
	p := r.Progress
	l.x.State = Running
	l.sum("running", "worker %s has been running attempt %d since %s", p.Offer.Worker, r.Attempt, l.when(p.StartedAt))
	if lost := p.HeartbeatEnd(); lost.IsZero() {
		l.because("heartbeat", "it sends no heartbeats (job.config.heartbeat: 0)")
	} else {
		l.because("heartbeat", "its last heartbeat was %s; without another one, the worker counts as lost %s and the attempt fails (%s)", l.when(p.Offer.Heartbeat), l.when(lost), run.Timeout)
	}
	l.because("poll-window", "its result must be reported before %s", l.when(p.PollEnd))
}

func (l *look) running() {
	r := l.x.Run
	p := r.Progress
	if r.Claimed() {
		l.claimed()
		return
	}
	l.x.State = Running
	l.sum("running", "attempt %d has been running since %s", r.Attempt, l.when(p.StartedAt))
	if u := p.Unread; u.Polls > 0 {
		l.because("status-unread", "its status has been unreadable since %s (%d polls failed): %s", l.when(u.Since), u.Polls, u.Reason)
	}
	switch interval := p.Opening.Limits.PollInterval; {
	case interval > 0 && l.reportsItself():
		l.because("reported-outside", "its job reports the result itself, until %s", l.when(p.PollEnd))
		l.opens("job-complete", "`interlock job complete %s success` or `fail`", l.key)
	case interval > 0:
		l.because("poll-window", "its job is polled every %s until %s", reason.For("interval", interval), l.when(p.PollEnd))
	default:
		l.because("reported-outside", "its result is reported from outside, until %s", l.when(p.LimitAt))
		l.opens("job-complete", "`interlock job complete %s success` or `fail`", l.key)
	}
}

// reportsItself reports whether polls do not show how the job ends: it calls back, or another program reports it.
func (l *look) reportsItself() bool {
	if l.def == nil || l.def.Job == nil {
		return false
	}
	c, ok := l.def.Job.Config.(job.SelfReporting)
	return ok && c.ReportsItself()
}

func (l *look) completed() {
	r := l.x.Run
	if l.x.DryRun {
		l.x.State = WouldStart
		l.sum("would-start", "the gate was open %s, and the job would have started", l.when(r.EndedAt))
		return
	}
	l.x.State = Completed
	l.sum("completed", "attempt %d succeeded, %s after the run opened", r.Attempt, reason.For("took", r.EndedAt.Sub(r.OpenedAt)))
	l.unused()
}

// unused lists the data that arrived after the completed attempt and did not open another.
func (l *look) unused() {
	found := false
	for _, e := range l.events {
		if (e.Type == event.LateDataArrival || e.Type == event.PostRunDrift) && e.Detail.Attempt == l.x.Run.Attempt {
			l.because("late-data", "%s", e.Detail.Message)
			found = true
		}
	}
	if found {
		l.anotherAttempt("runs it again")
	}
}

// waiting explains an open attempt that has not started.
func (l *look) waiting(ctx context.Context) error {
	x, r := &l.x, l.x.Run
	p := r.Progress
	x.State = Waiting
	def := l.definition(ctx)
	if def != nil {
		g, err := l.live(ctx, def, nil)
		if err != nil {
			return err
		}
		g.Bypassed = p.Opening.GateBypassed
		x.Gate = g
	}
	paused := !x.DryRun && l.paused()
	switch {
	case paused:
		l.sum("paused", "the pipeline is paused, so attempt %d does not start", r.Attempt)
	case l.now.Before(p.WindowStart):
		l.notBegun(def)
	case !p.WaitingSince.IsZero():
		l.sum("max-active", "the gate is open, but as many jobs are running as schedule.maxActive allows, since %s", l.when(p.WaitingSince))
		l.opens("slot", "the end of a running job of %s; the oldest period starts first", l.key.Pipeline)
	case x.Gate.Open():
		if external(def) {
			l.sum("starts-at", "the gate is open; attempt %d is offered to workers %s", r.Attempt, l.when(p.NextEvaluation))
			break
		}
		l.sum("starts-at", "the gate is open; the job starts %s", l.when(p.NextEvaluation))
	case x.Gate != nil:
		l.sum("gate-closed", "the gate is closed: %s", count(x.Gate))
	default:
		l.sum("gate-closed", "the gate has not opened")
	}
	switch {
	case !p.WaitingSince.IsZero():
		l.because("window", "its window is paused until a job ends, with %s left", reason.For("left", p.WindowEnd.Sub(p.WaitingSince)))
	case l.now.Before(p.WindowStart):
		l.because("window", "the window is open from %s until %s", l.when(p.WindowStart), l.when(p.WindowEnd))
	default:
		l.because("window", "waiting since %s; the window is open until %s", l.when(p.WindowStart), l.when(p.WindowEnd))
	}
	switch {
	case paused:
		l.unevaluated()
	case !p.LastEvaluation.IsZero():
		l.because("evaluation", "the gate was last evaluated %s; next %s, and at once when one of its sensors is written", l.when(p.LastEvaluation), l.when(p.NextEvaluation))
	}
	return l.hints(ctx, "")
}

// unevaluated explains a waiting attempt whose gate is not evaluated because of a pause. If the window ends first, so
// does the attempt; the window of one that waits for a slot does not run.
func (l *look) unevaluated() {
	p := l.x.Run.Progress
	if until := l.row.PausedUntil(); !p.WaitingSince.IsZero() || !until.IsZero() && !until.After(p.WindowEnd) {
		l.x.resumesAt = until
		l.because("evaluation", "the gate is not evaluated before the pause ends")
		return
	}
	l.because("evaluation", "the gate is not evaluated during the pause; unless the pipeline is resumed before the window ends, %s, the run ends as %s",
		l.when(p.WindowEnd), run.ValidationExhausted)
}

// notBegun explains an attempt whose window has not begun: a retry during its backoff, or schedule.time.
func (l *look) notBegun(def *pipeline.Definition) {
	r := l.x.Run
	begins, starts := l.when(r.Progress.WindowStart), "starts"
	if external(def) {
		starts = "is offered to workers"
	}
	if r.Attempt < 2 {
		l.sum("not-due", "attempt %d %s %s (schedule.time)", r.Attempt, starts, begins)
		return
	}
	before := l.failedBefore()
	if before == nil {
		l.sum("not-due", "attempt %d %s %s", r.Attempt, starts, begins)
		return
	}
	l.sum("retrying", "attempt %d failed (%s); attempt %d %s %s", before.Number, before.Message, r.Attempt, starts, begins)
}

// failedBefore returns the attempt before the latest, if it failed with a message.
func (l *look) failedBefore() *Attempt {
	if l.x.Run.Attempt < 2 {
		return nil
	}
	before := &l.x.Attempts[l.x.Run.Attempt-2]
	if before.Result == run.ResultSuccess || before.Message == "" {
		return nil
	}
	return before
}

// external reports whether external workers run the pipeline's job. Its attempts start only if one claims them.
func external(def *pipeline.Definition) bool {
	if def == nil {
		return false
	}
	_, is := job.Offers(def.Job)
	return is
}

// exhausted explains a run whose gate did not open in time, based on the current state of the gate.
func (l *look) exhausted(ctx context.Context) error {
	x, r := &l.x, l.x.Run
	x.State = Exhausted
	def := l.definition(ctx)
	deadline := l.expired(def)
	final := r.StartDeadlinePassed
	switch {
	case r.Unclaimed():
		l.sum("unclaimed", "attempt %d was offered from %s until %s, and no worker claimed it", r.Attempt, l.when(r.Progress.Offer.Since), l.when(r.EndedAt))
	case final:
		l.sum("start-deadline", "the start condition was not met before its deadline, %s", l.when(deadline))
	case r.EndedInPause():
		l.sum("paused", "the window of attempt %d ended %s, while the pipeline was paused", r.Attempt, l.when(r.Progress.WindowEnd))
		final = !deadline.IsZero() && deadline.Equal(r.Progress.WindowEnd)
	case !deadline.IsZero() && deadline.Equal(r.Progress.WindowEnd):
		final = true
		l.sum("start-deadline", "the gate stayed closed until the start condition's deadline, %s", l.when(deadline))
	default:
		l.sum("gate-closed", "the gate stayed closed until the window of attempt %d ended, %s", r.Attempt, l.when(r.Progress.WindowEnd))
	}
	if final {
		l.because("start-deadline", "after the deadline no reading opens the run; only an operator can")
	}
	if l.def == nil {
		return nil
	}
	var err error
	if x.Gate, err = l.live(ctx, l.def, nil); err != nil {
		return err
	}
	if x.Gate.Open() {
		l.because("open-now", "the gate would be open now")
	}
	opens := "opens another attempt with a new window"
	if r.Attempt == 0 {
		opens = "opens the run"
	}
	l.anotherAttempt(opens)
	if start := l.def.Start; start != nil && !final && rerun.Reopen(*r, l.now).Open {
		l.opens("reading", "a changed reading of %s that meets the start condition reopens the run", start.Rule.Key)
	}
	return l.hints(ctx, "that attempt also needs ")
}

// expired returns the deadline that closed the run's automatic window: the reported one, or else the file's.
func (l *look) expired(def *pipeline.Definition) time.Time {
	for _, e := range l.events {
		if x, ok := e.Detail.Extra.(event.Deadline); ok && e.Type == event.SensorDeadlineExpired {
			return x.Deadline
		}
	}
	if deadline := startDeadline(def, l.key); !deadline.IsZero() {
		return deadline
	}
	if l.x.Run.StartDeadlinePassed {
		return l.x.Run.EndedAt // the file no longer has one; use the time it was noticed
	}
	return time.Time{}
}

// definition returns the version that the open attempt uses, or the version in force if that can no longer be read.
func (l *look) definition(ctx context.Context) *pipeline.Definition {
	version := l.x.Run.Progress.Opening.ConfigVersion
	if version == "" {
		return l.def
	}
	def, err := l.Catalog.Definition(ctx, l.key.Pipeline, version)
	if err != nil {
		// An explanation based on the version in force is better than none.
		l.because("old-version", "the version it opened with, %s, cannot be read; these are the rules of the active version", version)
		return l.def
	}
	return def
}

// anotherAttempt adds the command that opens another attempt, in a form that would be accepted.
func (l *look) anotherAttempt(does string) {
	if l.def == nil {
		return // a pipeline that is not in force cannot be rerun
	}
	l.paused()
	r := *l.x.Run
	if l.x.DryRun {
		r.Attempt = 0 // a dry run spends no budget
	}
	if budget, spent := manualSpent(l.def, r); spent {
		does += fmt.Sprintf(" (%s: %d used up)", budget.Key, budget.Max)
	}
	if external(l.def) {
		does += "; a worker must claim it"
	}
	_, command := Again(l.def, r)
	l.opens("again", "`%s` %s", command, does)
}

// manualSpent reports whether the budget for manual reruns of r is used up. The first attempt uses none.
func manualSpent(def *pipeline.Definition, r run.Run) (rerun.Budget, bool) {
	budget := rerun.BudgetOf(def.Job, r, run.CauseManual)
	return budget, r.Attempt > 0 && budget.Used >= budget.Max
}

// Again returns the command that opens another attempt of an ended run, in a form that would be accepted, and its
// code: trigger or rerun. Both are empty for a nil definition.
func Again(def *pipeline.Definition, r run.Run) (code, command string) {
	if def == nil {
		return "", ""
	}
	_, spent := manualSpent(def, r)
	force := spent || def.Schedule.Excluded(r.Period) != ""
	switch {
	case r.Attempt == 0 && force:
		return "trigger", fmt.Sprintf("interlock trigger %s --date %s --force --reason TEXT", r.Pipeline, r.Period)
	case r.Attempt == 0:
		return "trigger", fmt.Sprintf("interlock trigger %s --date %s", r.Pipeline, r.Period)
	case force:
		return "rerun", fmt.Sprintf("interlock rerun %s --date %s --force --reason TEXT", r.Pipeline, r.Period)
	}
	return "rerun", fmt.Sprintf("interlock rerun %s --date %s --reason TEXT", r.Pipeline, r.Period)
}

// paused reports whether the pipeline is paused and, if so, adds since when, by whom and why.
func (l *look) paused() bool {
	for _, p := range l.row.Pauses() {
		name := string(l.key.Pipeline)
		if p.All {
			name = "--all"
		}
		l.why(pausedSince(p))
		l.opens("resume", "`interlock resume %s`", name)
	}
	return l.row.Paused()
}

// sum sets the summary.
func (l *look) sum(code reason.Code, format string, args ...any) {
	l.x.Said.Summary = reason.Say(code, format, args...)
	l.x.Summary = l.x.Said.Summary.Tell(l.now)
}

// because adds a reason.
func (l *look) because(code reason.Code, format string, args ...any) {
	l.why(reason.Say(code, format, args...))
}

func (l *look) why(r reason.Reason) {
	l.x.Said.Reasons = append(l.x.Said.Reasons, r)
	l.x.Reasons = append(l.x.Reasons, r.Tell(l.now))
}

// opens adds something that would open the run.
func (l *look) opens(code reason.Code, format string, args ...any) {
	r := reason.Say(code, format, args...)
	l.x.Said.Opens = append(l.x.Said.Opens, r)
	l.x.Opens = append(l.x.Opens, r.Tell(l.now))
}
