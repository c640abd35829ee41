package run

import "time"

// Cause is why an attempt was opened.
type Cause string

// The causes. Those of a first attempt use no budget; each cause of a further attempt has a
// counter.
const (
	CauseCron      Cause = "cron"            // a fire
	CauseInclude   Cause = "include date"    // a listed day
	CauseCondition Cause = "start condition" // a sensor write that met it
	CauseUpstream  Cause = "upstream"        // upstream pipelines completed (again)
	CauseManual    Cause = "manual"          // an operator, whatever the reason text

	CauseTransient Cause = "transient" // retry: a temporary failure
	CauseTimeout   Cause = "timeout"   // retry: the job took too long
	CauseUnknown   Cause = "unknown"   // retry: it failed for an unknown reason
	CauseCode      Cause = "code"      // retry: the job's code or the request was wrong

	CauseDrift    Cause = "drift"     // a post-run value changed
	CauseLateData Cause = "late data" // an input changed after the run completed
	CauseReopened Cause = "reopened"  // a changed write after the window
)

// Counter names the budget that a further attempt uses.
type Counter string

// The counters of a run.
const (
	NoCounter    Counter = ""
	Retries      Counter = "retries"
	CodeRetries  Counter = "code retries"
	DriftReruns  Counter = "drift reruns"
	ManualReruns Counter = "manual reruns"
	Reopenings   Counter = "reopenings"
)

// Counter returns the budget that a further attempt for this cause uses. Drift, late data and
// upstream reruns share one.
func (c Cause) Counter() Counter {
	switch c {
	case CauseTransient, CauseTimeout, CauseUnknown:
		return Retries
	case CauseCode:
		return CodeRetries
	case CauseDrift, CauseLateData, CauseUpstream:
		return DriftReruns
	case CauseManual:
		return ManualReruns
	case CauseReopened:
		return Reopenings
	case CauseCron, CauseInclude, CauseCondition:
		return NoCounter
	default:
		return NoCounter
	}
}

// Requested reports whether a further attempt for this cause, after one with that opening, counts as
// requested: a rerun does, and a retry if the failed attempt did.
func (c Cause) Requested(before Opening) bool {
	on, _ := c.on()
	return on == OnRerun || on == OnRetry && before.Requested
}

// on returns the transition of a further attempt for this cause; false for the causes of a first
// attempt.
func (c Cause) on() (On, bool) {
	switch c.Counter() {
	case Retries, CodeRetries:
		return OnRetry, true
	case DriftReruns, ManualReruns:
		return OnRerun, true
	case Reopenings:
		return OnReopened, true
	default:
		return "", false
	}
}

// Counters counts the attempts that each cause has opened. They last as long as the run, so that no
// restart, replica or rerun restores a used budget.
type Counters struct {
	Retries      int `json:"retries"`
	CodeRetries  int `json:"codeRetries"`
	DriftReruns  int `json:"driftReruns"`
	ManualReruns int `json:"manualReruns"`
	Reopenings   int `json:"reopenings"`
	Forced       int `json:"forced"` // forced attempts: they skip the budget and use none

	// ReopenedUntil is the end of the window of the last reopening: one reopening per window.
	ReopenedUntil time.Time `json:"reopenedUntil,omitzero"`
}

// Used returns how much of the cause's budget is used.
func (c Counters) Used(cause Cause) int {
	if n := c.of(cause); n != nil {
		return *n
	}
	return 0
}

func (c *Counters) of(cause Cause) *int {
	switch cause.Counter() {
	case Retries:
		return &c.Retries
	case CodeRetries:
		return &c.CodeRetries
	case DriftReruns:
		return &c.DriftReruns
	case ManualReruns:
		return &c.ManualReruns
	case Reopenings:
		return &c.Reopenings
	default:
		return nil
	}
}
