package rerun

import (
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
)

// MaxReopenings is how often changed writes may reopen one run.
const MaxReopenings = 5

// Reopen says whether a changed write that meets the start condition reopens a run whose window ended
// without an open gate. It costs no budget, so it is bounded by itself: once per window that it gives,
// and a few times per run.
func Reopen(r run.Run, now time.Time) Verdict {
	used := r.Counters.Reopenings
	switch {
	case r.Status != run.ValidationExhausted:
		return refuseState(r, run.CauseReopened, run.ValidationExhausted)
	case r.StartDeadlinePassed:
		return reject(StartDeadline, "the start condition's deadline closed this run; `interlock trigger` opens it")
	case used >= MaxReopenings:
		return reject(BudgetSpent, "reopened %d times already", used)
	case now.Before(r.Counters.ReopenedUntil):
		return reject(AlreadyReopened, "reopened already, for a window until %s", period.Stamp(r.Counters.ReopenedUntil))
	}
	return accept(now, "reopening %d of %d", used+1, MaxReopenings)
}
