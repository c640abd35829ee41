package explain

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/reason"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
)

// standing explains a run that exists.
func (b *builder) standing(ctx context.Context) error {
	r := b.x.Run
	var err error
	switch r.Status {
	case run.Pending:
		return b.waiting(ctx)
	case run.ValidationExhausted:
		return b.exhausted(ctx)
	case run.Triggering:
		b.starting()
	case run.Running:
		b.running()
	case run.JobPollExhausted:
		b.x.State = Settling
		b.sum("settling", "attempt %d ended (%s) and is not retried", r.Attempt, orUnknown(r.Reason))
	case run.Failed:
		b.x.State = Settling
		b.sum("settling", "attempt %d failed (%s); a retry is being decided", r.Attempt, orUnknown(r.Reason))
		if b.paused() {
			b.sum("paused", "attempt %d failed (%s); the pipeline is paused, so no retry opens", r.Attempt, orUnknown(r.Reason))
			b.x.resumesAt = b.row.PausedUntil()
		}
	case run.Completed:
		b.completed()
	case run.FailedFinal:
		b.x.State = Failed
		b.sum("failed", "%s", orUnknown(r.Reason))
		err = b.nextAttempt(ctx)
	case run.Cancelled:
		b.x.State = Cancelled
		b.sum("cancelled", "%s", orUnknown(r.Reason))
		err = b.nextAttempt(ctx)
	}
	if err != nil {
		return err
	}
	b.leftover()
	b.x.Gate, err = b.stored(ctx)
	return err
}

// nextAttempt adds the command that opens another attempt, and what would keep that one waiting.
func (b *builder) nextAttempt(ctx context.Context) error {
	b.anotherAttempt("another attempt")
	if b.def == nil {
		return nil
	}
	var err error
	if b.x.Gate, err = b.live(ctx, b.def, nil); err != nil {
		return err
	}
	return b.hints(ctx, b.def, "that attempt also needs ", b.def.Gate)
}

// leftover explains a job that may still be running although its attempt has ended.
func (b *builder) leftover() {
	r := b.x.Run
	worker, lost := r.Progress.Offer.Worker, r.Progress.NextBy()
	switch left := r.Progress.Left; {
	case left == run.JobMayRun && worker != "":
		b.because("job-may-run", "worker %s sends no heartbeats, so it was not asked to stop and may still be running attempt %d; a rerun is rejected until the worker reports a result", worker, r.Attempt)
	case left == run.JobMayRun:
		b.because("job-may-run", "the job of attempt %d could not be stopped and may still be running; a rerun is rejected while it is", r.Attempt)
	case left == run.JobStopping && worker != "":
		b.because("job-stopping", "the response to the next heartbeat asks worker %s to stop; until the worker reports a result, or counts as lost %s, it keeps its slot and a rerun is rejected", worker, b.when(lost))
	case left == run.JobStopping:
		b.because("job-stopping", "the job of attempt %d has been stopping since %s; until it has ended, it keeps its slot and a rerun is rejected", r.Attempt, b.when(r.EndedAt))
	}
}

func (b *builder) starting() {
	r := b.x.Run
	p := r.Progress
	if r.Offered() {
		b.offered()
		return
	}
	if p.Held.Reason != "" {
		b.x.State = Held
		b.sum("held", "the start of attempt %d has been held since %s: %s", r.Attempt, b.when(p.Held.Since), p.Held.Reason)
		b.because("held", "it is unknown whether the job started, so it is not started again")
		b.timeLimit()
		b.opens("job-complete", "a report of how the job ended, once you know it (fail in place of success if it failed): `interlock job complete %s success`", b.key)
		b.opens("cancel", "or give it up: interlock cancel %s", b.key)
		return
	}
	b.x.State = Starting
	if p.NextTry.IsZero() {
		b.sum("starting", "start call %d of attempt %d was made %s and has not been answered", p.StartTries, r.Attempt, b.when(p.AskedAt))
		b.timeLimit()
		return
	}
	refused := fmt.Sprintf("start call %d of attempt %d %s (%s)", p.StartTries, r.Attempt, refusedWord(*r), orUnknown(b.x.Attempts[len(b.x.Attempts)-1].Message))
	if b.paused() {
		b.sum("paused", "%s; the pipeline is paused, so it is not repeated", refused)
		b.x.resumesAt = b.row.PausedUntil()
		b.timeLimit()
		return
	}
	b.sum("start-refused", "%s; the next one is %s", refused, b.when(p.NextTry))
}

// refusedWord returns how a start call failed that will be repeated.
func refusedWord(r run.Run) string {
	if r.Progress.Unanswered {
		return "failed"
	}
	return "was refused"
}

// timeLimit adds the attempt's time limit, at which the run ends if it has not ended before.
func (b *builder) timeLimit() {
	b.because("time-limit", "its time limit is %s; the run then ends as %s", b.when(b.x.Run.Progress.LimitAt), run.FailedFinal)
}

// offered explains an attempt that waits for a worker.
func (b *builder) offered() {
	r := b.x.Run
	p := r.Progress
	b.x.State = Offered
	b.sum("offered", "attempt %d has been offered since %s; no worker has claimed it", r.Attempt, b.when(p.Offer.Since))
	if before := b.failedBefore(); before != nil {
		b.because("retrying", "attempt %d failed: %s", before.Number, before.Message)
	}
	if b.paused() {
		b.because("paused", "no worker can claim it while the pipeline is paused")
	}
	b.because("offer-expires", "the offer expires %s; if no worker claims it, the run ends as %s", b.when(p.OfferEnd()), run.ValidationExhausted)
	if !b.row.Removed() { // exec asks the gate first, which a removed pipeline has not
		b.opens("exec", "a worker that claims it and runs the command: interlock exec %s --date %s -- COMMAND", r.Pipeline, r.Period)
	}
}

// claimed explains an attempt that a worker runs.
func (b *builder) claimed() {
	r := b.x.Run
	p := r.Progress
	b.x.State = Running
	b.sum("running", "worker %s has been running attempt %d since %s", p.Offer.Worker, r.Attempt, b.when(p.StartedAt))
	if lost := p.NextBy(); lost.IsZero() {
		b.because("heartbeat", "it sends no heartbeats (job.config.heartbeat: 0)")
	} else {
		b.because("heartbeat", "its last heartbeat was %s; without another one, the worker counts as lost %s and the attempt fails (%s)", b.when(p.Offer.Heartbeat), b.when(lost), run.Timeout)
	}
	b.because("poll-window", "its result must be reported before %s", b.when(p.PollEnd))
}

func (b *builder) running() {
	r := b.x.Run
	p := r.Progress
	if r.Claimed() {
		b.claimed()
		return
	}
	b.x.State = Running
	b.sum("running", "attempt %d has been running since %s", r.Attempt, b.when(p.StartedAt))
	if u := p.Unread; u.Polls > 0 {
		b.because("status-unread", "its status has been unreadable since %s (%d polls failed): %s", b.when(u.Since), u.Polls, u.Reason)
	}
	switch interval := p.Opening.Limits.PollInterval; {
	case interval > 0 && b.reportsItself():
		b.because("reported-outside", "its job reports the result itself, until %s", b.when(p.PollEnd))
		b.reportHint()
	case interval > 0:
		b.because("poll-window", "its job is polled every %s until %s", reason.For("interval", interval), b.when(p.PollEnd))
		b.nextPoll(p)
	default:
		b.because("reported-outside", "the pipeline has no job: its result is reported from outside, until %s", b.when(p.LimitAt))
		b.unreported()
		b.reportHint()
	}
}

// nextPoll says when the job is polled next, and why not before.
func (b *builder) nextPoll(p run.Progress) {
	next := period.Earlier(p.NextPoll, p.PollEnd)
	from := lifecycle.PollsFrom(p)
	if !next.After(b.now) {
		return // it is due
	}
	if p.LastPoll.IsZero() || !from.After(p.LastPoll.Add(p.Opening.Limits.PollInterval)) {
		b.because("next-poll", "its next poll is %s", b.when(next))
		return
	}
	b.because("next-poll", "its next poll is %s: until %s polls are left out (job.learnPolls), because the p10 duration of its last %s completed runs is %s; "+
		"at most for 10m, and for a tenth of the time to a deadline, at a time",
		b.when(next), b.when(from), reason.Int("runs", p.Learned.Runs), reason.For("p10", p.Learned.P10))
}

// reportHint adds the command that reports the result of a job from outside.
func (b *builder) reportHint() {
	b.opens("job-complete", "its result, only if true (fail in place of success if it failed): `interlock job complete %s success`", b.key)
}

// unreported says when the run's deadlines are breached if its result is not reported.
func (b *builder) unreported() {
	for _, d := range b.x.Deadlines {
		if d.State == sla.Armed {
			b.because("deadline-needs-result", "its %s deadline is breached unless the result is reported before %s", reason.Str("kind", d.Kind), b.when(d.BreachAt))
		}
	}
}

// reportsItself reports whether polls do not show how the job ends: it calls back, or another
// program reports it.
func (b *builder) reportsItself() bool {
	if b.def == nil || b.def.Job == nil {
		return false
	}
	c, ok := b.def.Job.Config.(job.SelfReporting)
	return ok && c.ReportsItself()
}

func (b *builder) completed() {
	r := b.x.Run
	if b.x.DryRun {
		b.x.State = WouldStart
		b.sum("would-start", "the gate was open %s, and the job would have started", b.when(r.EndedAt))
		return
	}
	b.x.State = Completed
	b.sum("completed", "attempt %d succeeded, %s after the run opened", r.Attempt, reason.For("took", r.EndedAt.Sub(r.OpenedAt)))
	b.unused()
}

// unused lists the data that arrived after the completed attempt and did not open another.
func (b *builder) unused() {
	found := false
	for _, e := range b.events {
		if (e.Type == event.LateDataArrival || e.Type == event.PostRunDrift) && e.Detail.Attempt == b.x.Run.Attempt {
			b.because("late-data", "%s", e.Detail.Message)
			found = true
		}
	}
	if found {
		b.anotherAttempt("to run it again")
	}
}

// waiting explains an open attempt that has not started.
func (b *builder) waiting(ctx context.Context) error {
	x, r := &b.x, b.x.Run
	p := r.Progress
	x.State = Waiting
	def, err := b.definition(ctx)
	if err != nil {
		return err
	}
	var ask gate.Answer
	if def != nil {
		if ask, err = b.start(ctx, def); err == nil {
			x.Gate, err = b.shown(ctx, ask.View)
		}
		if err != nil {
			return err
		}
		x.Gate.Bypassed = p.Opening.GateBypassed
	}
	paused := !x.DryRun && b.paused()
	switch {
	case paused:
		b.sum("paused", "the pipeline is paused, so attempt %d does not start", r.Attempt)
	case b.now.Before(p.WindowStart):
		b.notBegun(def)
	case !p.WaitingSince.IsZero():
		b.sum("max-active", "the gate is open, but as many jobs are running as schedule.maxActive allows, since %s", b.when(p.WaitingSince))
		b.opens("slot", "the end of a running job of %s; the oldest period starts first", b.key.Pipeline)
	case ask.Blocked(gate.StartDeadline):
		b.sum("start-deadline", "nothing starts by itself since the start condition's deadline, %s", b.when(p.Opening.Until))
	case ask.Blocked(gate.MaxActive):
		b.sum("max-active", "the gate is open, but %s", ask.Blocks[0].Reason.String())
	case x.Gate.Open():
		if external(def) {
			b.sum("starts-at", "the gate is open; attempt %d is offered to workers %s", r.Attempt, b.when(p.NextEvaluation))
			break
		}
		b.sum("starts-at", "the gate is open; the job starts %s", b.when(p.NextEvaluation))
	case x.Gate != nil:
		b.sum("gate-closed", "the gate is closed: %s", count(x.Gate))
	default:
		b.sum("gate-closed", "the gate has not opened")
	}
	switch {
	case !p.WaitingSince.IsZero():
		b.because("window", "its window is paused until a job ends, with %s left", reason.For("left", p.WindowEnd.Sub(p.WaitingSince)))
	case b.now.Before(p.WindowStart):
		b.because("window", "the window is open from %s until %s", b.when(p.WindowStart), b.when(p.WindowEnd))
	default:
		b.because("window", "waiting since %s; the window is open until %s", b.when(p.WindowStart), b.when(p.WindowEnd))
	}
	switch {
	case paused:
		b.unevaluated()
	case !p.LastEvaluation.IsZero():
		b.because("evaluation", "the gate was last evaluated %s; next %s, and at once when one of its sensors is written", b.when(p.LastEvaluation), b.when(p.NextEvaluation))
	}
	return b.hints(ctx, def, "", gateOf(def)...)
}

// gateOf returns the gate of a definition, which may be nil.
func gateOf(def *pipeline.Definition) []*rule.Gate {
	if def == nil {
		return nil
	}
	return []*rule.Gate{def.Gate}
}

// unevaluated explains a waiting attempt whose gate is not evaluated because of a pause. If the
// window ends first, so does the attempt; the window of one that waits for a slot does not run.
func (b *builder) unevaluated() {
	p := b.x.Run.Progress
	if until := b.row.PausedUntil(); !p.WaitingSince.IsZero() || !until.IsZero() && !until.After(p.WindowEnd) {
		b.x.resumesAt = until
		b.because("evaluation", "the gate is not evaluated before the pause ends")
		return
	}
	b.because("evaluation", "the gate is not evaluated during the pause; unless the pipeline is resumed before the window ends, %s, the run ends as %s",
		b.when(p.WindowEnd), run.ValidationExhausted)
}

// notBegun explains an attempt whose window has not begun: a retry during its backoff, or
// schedule.time.
func (b *builder) notBegun(def *pipeline.Definition) {
	r := b.x.Run
	begins, starts := b.when(r.Progress.WindowStart), "starts"
	if external(def) {
		starts = "is offered to workers"
	}
	if r.Attempt < 2 {
		b.sum("not-due", "attempt %d %s %s (schedule.time)", r.Attempt, starts, begins)
		return
	}
	before := b.failedBefore()
	if before == nil {
		b.sum("not-due", "attempt %d %s %s", r.Attempt, starts, begins)
		return
	}
	b.sum("retrying", "attempt %d failed (%s); attempt %d %s %s", before.Number, before.Message, r.Attempt, starts, begins)
}

// failedBefore returns the attempt before the latest, if it failed with a message.
func (b *builder) failedBefore() *Attempt {
	if b.x.Run.Attempt < 2 {
		return nil
	}
	before := &b.x.Attempts[b.x.Run.Attempt-2]
	if before.Result == run.ResultSuccess || before.Message == "" {
		return nil
	}
	return before
}

// external reports whether external workers run the pipeline's job. Its attempts start only if one
// claims them.
func external(def *pipeline.Definition) bool {
	if def == nil {
		return false
	}
	_, is := job.Offers(def.Job)
	return is
}

// exhausted explains a run whose gate did not open in time, based on the current state of the gate.
func (b *builder) exhausted(ctx context.Context) error {
	x, r := &b.x, b.x.Run
	x.State = Exhausted
	def, err := b.definition(ctx)
	if err != nil {
		return err
	}
	deadline := b.expired(def)
	final := r.StartDeadlinePassed
	switch {
	case r.Unclaimed():
		b.sum("unclaimed", "attempt %d was offered from %s until %s, and no worker claimed it", r.Attempt, b.when(r.Progress.Offer.Since), b.when(r.EndedAt))
	case final:
		b.sum("start-deadline", "the start condition was not met before its deadline, %s", b.when(deadline))
	case r.EndedInPause():
		b.sum("paused", "the window of attempt %d ended %s, while the pipeline was paused", r.Attempt, b.when(r.Progress.WindowEnd))
		final = !deadline.IsZero() && deadline.Equal(r.Progress.WindowEnd)
	case !deadline.IsZero() && deadline.Equal(r.Progress.WindowEnd):
		final = true
		b.sum("start-deadline", "the gate stayed closed until the start condition's deadline, %s", b.when(deadline))
	default:
		b.sum("gate-closed", "the gate stayed closed until the window of attempt %d ended, %s", r.Attempt, b.when(r.Progress.WindowEnd))
	}
	if final {
		b.because("start-deadline", "after the deadline no reading opens the run; only an operator can")
	}
	if b.def == nil {
		return nil
	}
	if x.Gate, err = b.live(ctx, b.def, nil); err != nil {
		return err
	}
	if x.Gate.Open() {
		b.because("open-now", "the gate would be open now")
	}
	opens := "another attempt with a new window"
	if r.Attempt == 0 {
		opens = "opening the run"
	}
	b.anotherAttempt(opens)
	if start := b.def.Start; start != nil && !final && rerun.Reopen(*r, b.now).Open {
		b.opens("reading", "a changed reading of %s that meets the start condition reopens the run", start.Rule.Key)
	}
	return b.hints(ctx, b.def, "that attempt also needs ", b.def.Gate)
}

// expired returns the deadline that closed the run's automatic window: the reported one, or else
// the file's.
func (b *builder) expired(def *pipeline.Definition) time.Time {
	for _, e := range b.events {
		if x, ok := e.Detail.Extra.(event.Deadline); ok && e.Type == event.SensorDeadlineExpired {
			return x.Deadline
		}
	}
	if deadline := startDeadline(def, b.key); !deadline.IsZero() {
		return deadline
	}
	if b.x.Run.StartDeadlinePassed {
		return b.x.Run.EndedAt // the file no longer has one; use the time it was noticed
	}
	return time.Time{}
}

// definition returns the version that the open attempt uses, or the active version if that is not
// available.
func (b *builder) definition(ctx context.Context) (*pipeline.Definition, error) {
	def, own, err := b.Catalog.Shown(ctx, *b.x.Run, b.def)
	if !own {
		b.because("old-version", "the version it opened with, %s, cannot be read; these are the rules of the active version",
			b.x.Run.Progress.Opening.ConfigVersion)
	}
	return def, err
}

// anotherAttempt adds the command that opens another attempt, in a form that would be accepted.
func (b *builder) anotherAttempt(does string) {
	if b.def == nil {
		return // a pipeline that is not active cannot be rerun
	}
	b.paused()
	r := *b.x.Run
	if b.x.DryRun {
		r.Attempt = 0 // a dry run spends no budget
	}
	if budget, spent := manualSpent(b.def, r); spent {
		does += fmt.Sprintf(" (%s: %d used up)", budget.Key, budget.Max)
	}
	if external(b.def) {
		does += "; a worker must claim it"
	}
	_, command := Again(b.def, r)
	b.opens("again", "%s: `%s`", does, command)
}

// manualSpent reports whether the budget for manual reruns of r is used up. The first attempt uses
// none.
func manualSpent(def *pipeline.Definition, r run.Run) (rerun.Budget, bool) {
	budget := rerun.BudgetOf(def.Job, r, run.CauseManual)
	return budget, r.Attempt > 0 && budget.Used >= budget.Max
}

// Again returns the command that opens another attempt of an ended run, in a form that would be
// accepted, and its code: trigger or rerun. Both are empty for a nil definition.
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
func (b *builder) paused() bool {
	for _, p := range b.row.Pauses() {
		name := string(b.key.Pipeline)
		if p.All {
			name = "--all"
		}
		b.why(pausedSince(p))
		b.opens("resume", "the end of the pause: `interlock resume %s`", name)
	}
	return b.row.Paused()
}

// sum sets the summary.
func (b *builder) sum(code reason.Code, format string, args ...any) {
	b.x.Said.Summary = reason.Say(code, format, args...)
	b.x.Summary = b.x.Said.Summary.StringAt(b.now)
}

// because adds a reason.
func (b *builder) because(code reason.Code, format string, args ...any) {
	b.why(reason.Say(code, format, args...))
}

func (b *builder) why(r reason.Reason) {
	b.x.Said.Reasons = append(b.x.Said.Reasons, r)
	b.x.Reasons = append(b.x.Reasons, r.StringAt(b.now))
}

// opens adds something that would open the run.
func (b *builder) opens(code reason.Code, format string, args ...any) {
	r := reason.Say(code, format, args...)
	b.x.Said.Opens = append(b.x.Said.Opens, r)
	b.x.Opens = append(b.x.Opens, r.StringAt(b.now))
}
