package timeline

import (
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Phase is the state of a period. A period with a run has the run's phase (run.Phase), except that
// a completed dry run is WouldStart; a period without a run has one of these.
type Phase string

// The phases of periods without a run, and of a dry run whose gate was open.
const (
	Upcoming   Phase = "upcoming"    // its time has not come
	Due        Phase = "due"         // its time has come, and it may still open; without a fire or a deadline, at any time
	Missing    Phase = "missing"     // it should have opened by its fire or its deadline, and did not
	Excluded   Phase = "excluded"    // the calendar suppresses it
	Paused     Phase = "paused"      // the pipeline is paused, so it does not open
	WouldStart Phase = "would-start" // a dry run whose job would have started
)

// Worst orders phases by urgency, the one that most needs attention first.
var Worst = []Phase{
	Phase(run.FailedForGood), Phase(run.StartHeld), Phase(run.GateClosed), Missing, Phase(run.StatusUnread),
	Phase(run.Settling), Phase(run.Backoff), Phase(run.StartRefused), Phase(run.CalledOff), Paused, Phase(run.Offering),
	Phase(run.WaitingForSlot), Phase(run.Waiting), Phase(run.Starting), Phase(run.JobRunning), Phase(run.NotDue),
	Phase(run.Done), WouldStart, Due, Upcoming, Excluded,
}

// worse reports whether p is more urgent than q. Unknown phases come last.
func (p Phase) worse(q Phase) bool {
	at := slices.Index(Worst, p)
	return at >= 0 && !slices.Contains(Worst[:at+1], q)
}

// retryAt returns when a failed attempt, or a refused start, is retried.
func retryAt(r run.Run, now time.Time) time.Time {
	switch r.Phase(now) {
	case run.Backoff:
		return r.Progress.WindowStart
	case run.StartRefused:
		return r.Progress.NextTry
	default:
		return time.Time{}
	}
}

// grace is how long after its fire a period may be without a run before it counts as missing: the
// run opens a moment later.
const grace = time.Minute

// vacant returns the phase of a period without a run. begins is when it opens or its data begins;
// from last on it is missing.
func vacant(excluded string, begins, last time.Time, row store.Pipeline, now time.Time) Phase {
	switch {
	case excluded != "":
		return Excluded
	case pausedAt(row, begins, last, now):
		return Paused
	case now.Before(begins):
		return Upcoming
	case now.Before(last):
		return Due
	}
	return Missing
}

// pausedAt reports whether a pause in effect keeps a period from opening: it had not missed its
// time when the pause began, and its time comes before the pause ends automatically.
func pausedAt(row store.Pipeline, begins, last, now time.Time) bool {
	if !row.Paused() {
		return false
	}
	until := row.PausedUntil()
	for _, p := range row.Pauses() {
		if !last.Before(p.Since) && (until.IsZero() || begins.Before(until) || !until.After(now)) {
			return true
		}
	}
	return false
}
