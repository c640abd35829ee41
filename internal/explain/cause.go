package explain

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/excerpt"
	"github.com/interlock-go/interlock/internal/reason"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// The codes of a Cause. Those of a run that ended badly or is stuck name what a person has to know
// first.
const (
	CauseHeld         reason.Code = "held"          // it is not known whether the job was started
	CauseUnread       reason.Code = "status-unread" // the job's status cannot be read
	CauseRetrying     reason.Code = "retrying"      // an attempt failed, and another one opens later
	CauseSettling     reason.Code = "settling"      // an attempt failed, and whether it is retried is being decided
	CauseFailed       reason.Code = "failed"        // it failed for good
	CauseExhausted    reason.Code = "gate-closed"   // its gate stayed closed to the end of its window
	CauseStartTooLate reason.Code = "start-deadline"
	CausePaused       reason.Code = "paused" // its window ended during a pause
	CauseCancelled    reason.Code = "cancelled"
	CauseRule         reason.Code = "rule"          // a rule keeps its gate closed
	CauseNotDue       reason.Code = "not-due"       // its window begins later
	CauseSlots        reason.Code = "max-active"    // its gate is open, but no slot is free
	CauseRefused      reason.Code = "start-refused" // the target refused to start the job, and the start is retried
	CauseStarting     reason.Code = "starting"
	CauseOffered      reason.Code = "offered"   // it waits for a worker to claim it
	CauseUnclaimed    reason.Code = "unclaimed" // no worker claimed it in time
	CauseRunning      reason.Code = "running"
	CauseBypassed     reason.Code = "bypassed" // an operator bypassed the gate
	CauseDegraded     reason.Code = "degraded" // it started without preferred rules
	CauseWouldStart   reason.Code = "would-start"
	CauseMissing      reason.Code = "missing" // no run opened
)

// Evidence is what a cause is derived from, besides the run.
type Evidence struct {
	Log    []store.JobEntry // job log of the run, oldest first; may be empty
	Closed *store.SeenLeaf  // the first rule that keeps, or kept, its gate closed; nil if unknown
	DryRun bool
	Now    time.Time
}

// FirstClosed returns the first required rule that does not hold; nil if all do.
func FirstClosed(leaves []store.SeenLeaf) *store.SeenLeaf {
	for _, leaf := range leaves {
		if !leaf.Advisory && !leaf.Moot && leaf.Outcome.In(leaf.Negated) != rule.Pass {
			return &leaf
		}
	}
	return nil
}

// Cause returns in one line why the explained run is in its state; the zero Reason if there is
// nothing to say, or no run.
func (x Explanation) Cause() reason.Reason {
	if x.Run == nil {
		return reason.Reason{}
	}
	e := Evidence{Log: x.Log, DryRun: x.DryRun, Now: x.At}
	if closed := x.Gate.Closed(); len(closed) > 0 {
		e.Closed = &closed[0].SeenLeaf
	}
	return Cause(*x.Run, e)
}

// Cause returns in one line why r is in its state; the zero Reason if there is nothing to say.
func Cause(r run.Run, e Evidence) reason.Reason {
	p := r.Progress
	attempt := reason.Int("attempt", r.Attempt)
	switch r.Phase(e.Now) {
	case run.StartHeld:
		return reason.New(CauseHeld, "the start has been held since {since}: {message}",
			reason.At("since", p.Held.Since), reason.Str("message", p.Held.Reason), attempt)
	case run.StatusUnread:
		return reason.New(CauseUnread, "the job's status has been unreadable since {since}: {message}",
			reason.At("since", p.Unread.Since), reason.Str("message", p.Unread.Reason), attempt)
	case run.Backoff:
		return e.failure(r, CauseRetrying, "attempt {failed} failed: {message}; attempt {attempt} starts {retryAt}",
			reason.Int("failed", r.Attempt-1), attempt, reason.At("retryAt", p.WindowStart))
	case run.Settling:
		if r.Status == run.JobPollExhausted {
			return reason.New(CauseSettling, "attempt {attempt} ended: {message}; it is not retried", attempt, reason.Str("message", orUnknown(r.Reason)))
		}
		return e.failure(r, CauseSettling, "attempt {attempt} failed: {message}; a retry is being decided", attempt)
	case run.FailedForGood:
		// The run's reason names the attempts, the last failure and the budget.
		return e.failure(r, CauseFailed, "{text}", reason.Str("text", orUnknown(r.Reason)), reason.Int("attempts", r.Attempt))
	case run.GateClosed:
		return e.exhausted(r)
	case run.CalledOff:
		return reason.New(CauseCancelled, "{message}", reason.Str("message", orUnknown(r.Reason)))
	case run.Done:
		return e.done(r)
	default:
		return e.open(r)
	}
}

// open returns the cause for an open run without problems.
func (e Evidence) open(r run.Run) reason.Reason {
	p := r.Progress
	switch r.Phase(e.Now) {
	case run.NotDue:
		return reason.New(CauseNotDue, "its window begins {at}", reason.At("at", p.WindowStart))
	case run.WaitingForSlot:
		return reason.New(CauseSlots, "the gate is open, but as many jobs are running as schedule.maxActive allows, since {since}", reason.At("since", p.WaitingSince))
	case run.StartRefused:
		return reason.New(CauseRefused, "start call {tries} "+refusedWord(r)+": {message}; the next one is {retryAt}",
			reason.Int("tries", p.StartTries), reason.Str("message", orUnknown(lastMessage(e.Log, r.Attempt))), reason.At("retryAt", p.NextTry))
	case run.Offering:
		return reason.New(CauseOffered, "offered since {since}; no worker has claimed it, and the offer expires {until}",
			reason.At("since", p.Offer.Since), reason.At("until", p.OfferEnd()))
	case run.Starting:
		return reason.New(CauseStarting, "the start call was made {since} and has not been answered", reason.At("since", p.AskedAt))
	case run.JobRunning:
		if worker := p.Offer.Worker; worker != "" {
			return reason.New(CauseRunning, "attempt {attempt} has been running since {since} on {worker}",
				reason.Int("attempt", r.Attempt), reason.At("since", p.StartedAt), reason.Str("worker", worker), reason.At("heartbeat", p.Offer.Heartbeat))
		}
		return reason.New(CauseRunning, "attempt {attempt} has been running since {since}", reason.Int("attempt", r.Attempt), reason.At("since", p.StartedAt))
	case run.Waiting:
		if e.Closed != nil {
			return ruleCause(*e.Closed, CauseRule, "{key}: {message}", reason.At("until", p.WindowEnd))
		}
	default:
	}
	return reason.Reason{}
}

// done returns the cause for a completed run, if there is something noteworthy.
func (e Evidence) done(r run.Run) reason.Reason {
	o := r.Progress.Opening
	switch {
	case e.DryRun:
		return reason.New(CauseWouldStart, "the gate was open {at}, and the job would have started", reason.At("at", r.EndedAt))
	case o.GateBypassed:
		return reason.New(CauseBypassed, "{by} bypassed the gate: {message}", reason.Str("by", orUnknown(o.By)), reason.Str("message", orUnknown(o.Reason)))
	case r.Progress.Degraded != "":
		return reason.New(CauseDegraded, "started without {missing} (preferred rules)", reason.Str("missing", strings.ReplaceAll(r.Progress.Degraded, ",", ", ")))
	}
	return reason.Reason{}
}

// failure returns a cause with the details of the last failed attempt: its message, exit code,
// category and last line of output.
func (e Evidence) failure(r run.Run, code reason.Code, format string, params ...reason.Part) reason.Reason {
	report, number := r.Progress.Report, r.Attempt
	if code == CauseRetrying {
		report, number = run.Report{}, r.Attempt-1
	}
	message, category, output := report.Message, report.Category, ""
	for _, entry := range e.Log {
		if entry.Attempt != number {
			continue
		}
		if message == "" || code == CauseRetrying {
			message, category = entry.Message, entry.Category
		}
		output = cmp.Or(entry.Output, output)
	}
	params = append(params, reason.Str("message", orUnknown(message)), reason.Str("category", category))
	if report.Exited {
		params = append(params, reason.Int("exitCode", report.ExitCode))
	}
	return reason.New(code, format, append(params, reason.Str("lastLine", printable(excerpt.LastLine(output, maxLastLine))))...)
}

// exhausted returns the cause for a run whose gate did not open in time.
func (e Evidence) exhausted(r run.Run) reason.Reason {
	switch {
	case r.Unclaimed():
		return reason.New(CauseUnclaimed, "no worker claimed it by {at}", reason.At("at", r.EndedAt))
	case r.StartDeadlinePassed:
		return reason.New(CauseStartTooLate, "the start condition was not met before its deadline", reason.At("at", r.EndedAt))
	case r.EndedInPause():
		return reason.New(CausePaused, "its window ended {at}, while the pipeline was paused", reason.At("at", r.Progress.WindowEnd))
	case e.Closed != nil:
		return ruleCause(*e.Closed, CauseExhausted, "the gate stayed closed until {at}: {key}: {message}", reason.At("at", r.EndedAt))
	}
	return reason.New(CauseExhausted, "the gate stayed closed until {at}", reason.At("at", r.EndedAt))
}

// ruleCause returns a reason with the parameters of a rule.
func ruleCause(l store.SeenLeaf, code reason.Code, format string, params ...reason.Part) reason.Reason {
	params = append(params, reason.Str("key", sensorName(l)), reason.Str("message", l.Reason), reason.Str("check", l.Check),
		reason.Str("field", l.Field), reason.Str("outcome", l.Outcome.String()))
	if l.Needs != nil {
		params = append(params, reason.Value("needs", l.Needs))
	}
	if l.Value != nil {
		params = append(params, reason.Value("value", l.Value))
	}
	return reason.New(code, format, params...)
}

// sensorName returns the name of a rule's sensor: its key, after the pipeline if that is another
// one.
func sensorName(l store.SeenLeaf) string {
	if l.From != "" {
		return l.From + ":" + l.Key
	}
	return l.Key
}

// lastMessage returns the last message in the job log of an attempt.
func lastMessage(log []store.JobEntry, attempt int) string {
	for _, entry := range slices.Backward(log) {
		if entry.Attempt == attempt && entry.Message != "" {
			return entry.Message
		}
	}
	return ""
}

// maxLastLine bounds a line of output in a cause.
const maxLastLine = 300

// FirstClosedIn returns the first required rule that did not hold according to an event; nil if all
// did.
func FirstClosedIn(g event.Gate) *store.SeenLeaf {
	for _, r := range g.Rules {
		if !r.Advisory && cmp.Or(r.EffectiveOutcome, r.Outcome) != rule.Pass.String() {
			return &store.SeenLeaf{Key: r.Key, Check: rule.Check(r.Check), Outcome: rule.OutcomeOf(r.Outcome), Value: valueOrNil(r.Value), Reason: r.Reason}
		}
	}
	return nil
}

// valueOrNil returns a value from an event, or nil if it has none.
func valueOrNil(value string) any {
	if value == "" {
		return nil
	}
	return value
}

// PausedSince says who paused a pipeline, since when, why, and until when; the zero Reason if it is
// not paused.
func PausedSince(row store.Pipeline) reason.Reason {
	pauses := row.Pauses()
	if len(pauses) == 0 {
		return reason.Reason{}
	}
	return pausedSince(pauses[0])
}

func pausedSince(p store.Pause) reason.Reason {
	format := "paused since {since}"
	if p.All {
		format = "all pipelines have been paused since {since}"
	}
	if p.By != "" {
		format += " by {by}"
	}
	if p.Why != "" {
		format += ": {why}"
	}
	params := []reason.Part{reason.At("since", p.Since), reason.Str("by", p.By), reason.Str("why", p.Why)}
	if !p.Until.IsZero() {
		format += "; the pause ends {until}"
		params = append(params, reason.At("until", p.Until))
	}
	return reason.New("paused", format, params...)
}
