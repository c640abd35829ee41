package rerun

import (
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/run"
)

// Request is an operator's wish for another attempt. Who asked and why go into the attempt's Opening;
// they do not change the answer.
type Request struct {
	Force      bool // skips breaker, budget and a job that still runs, and opens a run that was never there
	BypassGate bool // the gate counts as open; with Force, also in place of an attempt that waits for it
}

// Facts are what a request is judged by.
type Facts struct {
	Run        run.Run // the zero Run if there is none
	JobRunning bool    // the last attempt left its job (run.JobMayRun), and when asked it still runs
	Excluded   string  // why the calendar excludes the period; "" if it does not
	Then       []Seen  // what gate and start condition showed when the last attempt started
	Now        []Seen  // what they show now
}

// Seen is what a snapshot holds of one sensor of the gate or the start condition. Sensors that the job
// itself writes are not among them.
type Seen struct {
	Sensor  string // "pipeline/key"
	Content string // a hash of the data; "" where there was no reading
}

// Decide answers a request of an operator. The circuit breaker guards completed runs: without new input,
// running again only produces the same output. Force skips breaker, budget and a job that still runs, and
// opens a run that does not exist. It repeats a run of an excluded period, which somebody has wanted before,
// but what the calendar suppressed is revived by a forced trigger alone; and nothing opens a second attempt
// beside an open one. With BypassGate as well, it replaces an attempt that waits for its gate or its backoff:
// that one has started nothing.
func Decide(q Request, f Facts, b Budget, now time.Time) Verdict {
	r := f.Run
	exists := r.Status != ""
	if r.Status == run.Pending && r.Progress.WaitingSince.IsZero() && q.Force && q.BypassGate {
		return accept(now, "forced, in place of attempt %d, which had not started", r.Attempt)
	}
	if r.Status.Open() {
		return reject(AlreadyOpen, "attempt %d is %s; wait for it or cancel it", r.Attempt, r.Status)
	}
	if f.Excluded != "" && !exists {
		return reject(Excluded, "the calendar excludes this period (%s), and it never ran; `interlock trigger --force` runs it nevertheless", f.Excluded)
	}
	if q.Force {
		return accept(now, "forced")
	}
	switch {
	case f.Excluded != "":
		return reject(Excluded, "the calendar excludes this period (%s); --force runs it nevertheless", f.Excluded)
	case !exists:
		return reject(NoSuchRun, "there is no run to repeat; open one with `interlock trigger`, or use --force")
	case f.JobRunning:
		return reject(JobRunning, "the job of attempt %d is still running; stop it, or use --force", r.Attempt)
	case r.Status == run.Completed && len(Changed(f.Then, f.Now)) == 0:
		return reject(NothingNew, "no reading of its gate or start condition has changed since attempt %d started; --force runs it nevertheless", r.Attempt)
	case r.Attempt == 0:
		return accept(now, "its first attempt: the start condition's deadline closed it")
	case b.Used >= b.Max:
		return reject(BudgetSpent, "%s; --force skips this limit", b.spent())
	}
	return accept(now, "manual rerun %d of %d", b.Used+1, b.Max)
}

// Changed lists the sensors that show data now which they did not show then, sorted. The same data
// written again is no change, nor is a reading that is gone: neither is something new to process. It is
// the comparison of the circuit breaker and of late data alike. A sensor may be listed twice, since a rule
// sees a standing fact where the start condition sees nothing.
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
