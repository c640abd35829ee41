package rerun

import (
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/run"
)

// Request is an operator's request for another attempt. The attempt's Opening records who requested
// it and why; they do not affect the decision.
type Request struct {
	Force      bool // skips circuit breaker, budget and a job that still runs, and opens a run that does not exist
	BypassGate bool // the gate counts as open; with Force, also replaces an attempt that waits for it
}

// Facts are what the decision on a request depends on.
type Facts struct {
	Run        run.Run // the zero Run if there is none
	JobRunning bool    // the last attempt left its job (run.JobMayRun), and its target says it still runs
	JobUnread  bool    // it left its job, and whether that still runs cannot be read
	Excluded   string  // why the calendar excludes the period; "" if it does not
	Then       []Seen  // the gate and start condition when the last attempt started
	Now        []Seen  // the same sensors now
}

// Seen is the state of one sensor of the gate or the start condition in a snapshot. It excludes
// sensors that the job itself writes.
type Seen struct {
	Sensor  string // "pipeline/key"
	Content string // a hash of the data; "" if there was no reading
}

// Decide decides on an operator's request. The circuit breaker protects completed runs: without new
// input, running again only produces the same output. Force skips the circuit breaker, the budget
// and a job that still runs, and opens a run that does not exist. It reruns an existing run of an
// excluded period, but only a forced trigger opens a period that the calendar excluded. No request
// opens a second attempt beside an open one. Force with BypassGate replaces an attempt that waits
// for its gate or its backoff, because that attempt has started nothing.
func Decide(q Request, f Facts, b Budget, now time.Time) Verdict {
	r := f.Run
	exists := r.Status != ""
	startless := r.Progress.Report.Result == "" && !r.MayHaveJob()
	if r.Status == run.Pending && r.Progress.WaitingSince.IsZero() && q.Force && q.BypassGate && startless {
		return accept(now, "forced, replaces attempt %d, which had not started", r.Attempt)
	}
	if r.Status == run.Pending && r.MayHaveJob() {
		return reject(AlreadyOpen, "attempt %d is PENDING, but an earlier start call had no answer, so its job may be running; cancel it first", r.Attempt)
	}
	if r.Status.Open() {
		return reject(AlreadyOpen, "attempt %d is %s; wait for it or cancel it", r.Attempt, r.Status)
	}
	if f.Excluded != "" && !exists {
		return reject(Excluded, "the calendar excludes this period (%s), and it never ran; use `interlock trigger --force` to run it anyway", f.Excluded)
	}
	if q.Force {
		return accept(now, "forced")
	}
	switch {
	case f.Excluded != "":
		return reject(Excluded, "the calendar excludes this period (%s); use --force to run it anyway", f.Excluded)
	case !exists:
		return reject(NoSuchRun, "there is no run to repeat; open one with `interlock trigger`, or use --force")
	case f.JobUnread:
		return reject(JobRunning, "the job of attempt %d may still be running, and its status cannot be read; once it has ended, `interlock job complete %s fail` records that, or use --force", r.Attempt, r.Key)
	case f.JobRunning:
		return reject(JobRunning, "the job of attempt %d is still running; stop it, or use --force", r.Attempt)
	case r.Status == run.Completed && len(Changed(f.Then, f.Now)) == 0:
		return reject(NothingNew, "no reading of its gate or start condition has changed since attempt %d started; use --force to run it anyway", r.Attempt)
	case r.Attempt == 0:
		return accept(now, "its first attempt: the start condition's deadline had closed it")
	case b.Used >= b.Max:
		return reject(BudgetSpent, "%s; use --force to skip this limit", b.spent())
	}
	return accept(now, "manual rerun %d of %d", b.Used+1, b.Max)
}

// Changed lists the sensors that have data now which they did not have then, sorted. The same data
// written again is no change, nor is a deleted reading: neither is new input. Both the circuit
// breaker and late data use it. A sensor may be listed twice, since a rule may use an undated
// reading that the start condition ignores.
func Changed(then, now []Seen) []string {
	before := make(map[Seen]bool, len(then))
	for _, s := range then {
		before[s] = true
	}
	var changed []string
	for _, s := range now {
		if s.Content != "" && !before[s] {
			changed = append(changed, s.Sensor)
		}
	}
	slices.SortFunc(changed, strings.Compare)
	return slices.Compact(changed)
}
