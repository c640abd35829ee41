// Package rerun decides whether a run may have another attempt, and when: budgets and backoff of
// retries, rerun requests and their circuit breaker, the reopening of an exhausted window, drift,
// and the category of a failure. It opens nothing itself: run.Run.NextAttempt opens the attempt and
// uses the budget, in the commit that acts on the verdict.
package rerun

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// Rejection is why another attempt is rejected; "" if it is not.
type Rejection string

// The reasons to reject another attempt.
const (
	NoSuchRun       Rejection = "no such run"
	AlreadyOpen     Rejection = "already open"
	JobRunning      Rejection = "job still running"
	Excluded        Rejection = "excluded period"
	BudgetSpent     Rejection = "budget spent"
	NothingNew      Rejection = "nothing new"      // the circuit breaker
	WrongState      Rejection = "wrong state"      // this cause does not apply to a run in that state
	StartDeadline   Rejection = "start deadline"   // only an operator reopens a run that the start deadline closed
	AlreadyReopened Rejection = "already reopened" // once per window
)

// Verdict is a decision. Reason is text for people, and always set.
type Verdict struct {
	Open      bool
	At        time.Time // when the attempt's window starts, if Open
	Rejection Rejection // why not, if not Open
	Reason    string
}

func accept(at time.Time, format string, args ...any) Verdict {
	return Verdict{Open: true, At: at, Reason: fmt.Sprintf(format, args...)}
}

func reject(why Rejection, format string, args ...any) Verdict {
	return Verdict{Rejection: why, Reason: fmt.Sprintf(format, args...)}
}

// Budget is how many more attempts a cause may open.
type Budget struct {
	Key       string // the key of the pipeline file that sets Max, such as maxRetries
	Used, Max int
	Backoff   time.Duration // the wait before the first retry; unused by other causes
}

// spent names the key of the file that allows no further attempt: "maxRetries: 3 used up".
func (b Budget) spent() string {
	if b.Max == 0 {
		return b.Key + ": 0"
	}
	return fmt.Sprintf("%s: %d used up", b.Key, b.Max)
}

// withoutJob has the defaults, for a pipeline without a job: its file cannot set budgets.
var withoutJob = &pipeline.Job{MaxCodeRetries: 1, MaxDriftReruns: 1, MaxManualReruns: 1, RetryBackoff: 30 * time.Second}

// BudgetOf returns how many more attempts cause may open of r, by the job of the pipeline's file;
// nil if it has none.
func BudgetOf(j *pipeline.Job, r run.Run, cause run.Cause) Budget {
	if j == nil {
		j = withoutJob
	}
	b := Budget{Used: r.Counters.Used(cause), Backoff: j.RetryBackoff}
	switch cause.Counter() {
	case run.Retries:
		b.Key, b.Max = "maxRetries", j.MaxRetries
	case run.CodeRetries:
		b.Key, b.Max = "maxCodeRetries", j.MaxCodeRetries
	case run.DriftReruns:
		b.Key, b.Max = "maxDriftReruns", j.MaxDriftReruns
	case run.ManualReruns:
		b.Key, b.Max = "maxManualReruns", j.MaxManualReruns
	case run.Reopenings:
		b.Max = MaxReopenings
	case run.NoCounter:
	}
	return b
}

// Next decides whether cause may open another attempt of r, and when. A failure is retried after a
// backoff. Drift, late data and an upstream's new completion are themselves the evidence of new
// input, so only their budget is checked and the attempt opens at once. Decide decides on
// operators' requests, Reopen on changed writes after the window.
func Next(r run.Run, cause run.Cause, b Budget, now time.Time) Verdict {
	var want run.Status
	retry := false
	switch cause.Counter() {
	case run.Retries, run.CodeRetries:
		want, retry = run.Failed, true
	case run.DriftReruns:
		want = run.Completed
	default:
		return reject(WrongState, "cause %q opens no attempt automatically", cause)
	}
	if r.Status != want {
		return refuseState(r, cause, want)
	}
	if b.Used >= b.Max {
		return reject(BudgetSpent, "%s", b.spent())
	}
	if !retry {
		return accept(now, "%s rerun %d of %d", cause, b.Used+1, b.Max)
	}
	wait := backoff.Doubling{First: b.Backoff, Most: maxBackoff}.Spread(b.Used+1, string(r.ID()))
	return accept(now.Add(wait), "%s retry %d of %d in %s", cause, b.Used+1, b.Max, wait.Round(time.Second))
}

// Retry decides what follows a failed attempt: the next one after a backoff, or the end of the run.
// No automatic retry starts after the deadline of the start condition. It also returns the budget of
// the failure's category. d is the active version of the file.
func Retry(failed run.Run, d *pipeline.Definition, now time.Time) (Verdict, Budget) {
	cause := failed.Progress.Report.Category.Cause()
	budget := BudgetOf(d.Job, failed, cause)
	v := Next(failed, cause, budget, now)
	if end := d.StartCloses(failed.Period); v.Open && !failed.Progress.Opening.Requested && !end.IsZero() && !v.At.Before(end) {
		v = reject(StartDeadline, "no retry starts after the start condition's deadline, %s", period.Stamp(end))
	}
	return v, budget
}

// Final returns why a failed run ends without another attempt: the job's report, and why it is not
// retried.
func Final(r run.Run, why string) string {
	text := "failed after 1 attempt"
	if r.Attempt != 1 {
		text = fmt.Sprintf("failed after %d attempts", r.Attempt)
	}
	if message := r.Progress.Report.Message; message != "" {
		text += ": " + message
	}
	return fmt.Sprintf("%s (%s)", text, why)
}

func refuseState(r run.Run, cause run.Cause, want run.Status) Verdict {
	if r.Status.Open() {
		return reject(AlreadyOpen, "attempt %d is %s; a %s attempt needs a %s run", r.Attempt, r.Status, cause, want)
	}
	return reject(WrongState, "the run is %q; a %s attempt needs a %s one", r.Status, cause, want)
}

// MaxReopenings is how often changed writes may reopen one run.
const MaxReopenings = 5

// Reopen decides whether a changed write that meets the start condition reopens a run whose gate
// stayed closed for its window. It uses no budget, so it has its own limits: once per window, and
// MaxReopenings per run.
func Reopen(r run.Run, now time.Time) Verdict {
	used := r.Counters.Reopenings
	switch {
	case r.Status != run.ValidationExhausted:
		return refuseState(r, run.CauseReopened, run.ValidationExhausted)
	case r.MayHaveJob():
		return reject(JobRunning, "the job of attempt %d may still be running; `interlock job complete %s fail` records its end", r.Attempt, r.Key)
	case r.StartDeadlinePassed:
		return reject(StartDeadline, "the start condition's deadline closed this run; `interlock trigger` opens it")
	case used >= MaxReopenings:
		return reject(BudgetSpent, "reopened %d times already", used)
	case now.Before(r.Counters.ReopenedUntil):
		return reject(AlreadyReopened, "reopened already, for a window until %s", period.Stamp(r.Counters.ReopenedUntil))
	}
	return accept(now, "reopening %d of %d", used+1, MaxReopenings)
}

// Classify returns the category of a failed job: the first matching class of the pipeline's file,
// otherwise the job type's own. Classes are matched against the message and the end of the job's
// output. A class with neither a pattern nor an exit code matches nothing.
func Classify(classes []pipeline.Class, failure run.Report, output string) run.Category {
	if output != "" {
		failure.Message += "\n" + output
	}
	for _, c := range classes {
		if matches(c, failure) {
			return run.Category(c.Category)
		}
	}
	return failure.Category
}

func matches(c pipeline.Class, failure run.Report) bool {
	if c.Match == nil && c.ExitCode == nil {
		return false
	}
	if c.ExitCode != nil && (!failure.Exited || failure.ExitCode != *c.ExitCode) {
		return false
	}
	return c.Match == nil || c.Match.MatchString(failure.Message)
}

// maxBackoff is the longest wait before a retry.
const maxBackoff = 15 * time.Minute
