package explain

import (
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/reason"
)

// By is what a run needs to continue.
type By string

// Only ByOperator needs a person: without one, nothing more happens.
const (
	ByStart    By = "start"    // its job is about to start
	ByTime     By = "time"     // it continues at a given time, or in a moment
	ByData     By = "data"     // it continues when its rules, or its start condition, are met
	BySlot     By = "slot"     // another job of the pipeline must end
	ByWorker   By = "worker"   // a worker must claim it
	ByJob      By = "job"      // its job is running
	ByOperator By = "operator" // it does not continue automatically
	ByNothing  By = "nothing"  // it is done, or its pipeline is not active
)

// Next says whether a run continues automatically and, if not, what a person can do.
type Next struct {
	By     By
	At     time.Time   // when it continues without new data; zero if unknown
	Until  time.Time   // when it stops waiting; zero if it does not
	Action reason.Code // the most direct one: trigger, rerun, resume, job-complete, …; "" without one
	// Outlook says what happens if no person acts; zero where the state says it.
	Outlook reason.Reason
}

// actions are the codes of Opens entries that a person can carry out.
var actions = []reason.Code{"resume", "trigger", "rerun", "again", "job-complete", "exec"}

// Next says how the run continues.
func (x Explanation) Next() Next {
	n := x.next()
	n.Outlook = x.outlook(n)
	for _, r := range x.Said.Opens {
		if n.Action == "" && n.By != ByJob && slices.Contains(actions, r.Code) {
			n.Action = r.Code
		}
	}
	if n.Action == "again" {
		n.Action = "rerun"
		if x.Run != nil && x.Run.Attempt == 0 {
			n.Action = "trigger"
		}
	}
	return n
}

func (x Explanation) next() Next {
	switch x.State {
	case NotOpened:
		return x.opening()
	case Waiting:
		return x.awaited()
	case Starting:
		switch x.Said.Summary.Code {
		case "paused":
			return x.afterPause()
		case "start-refused":
			return Next{By: ByTime, At: x.Run.Progress.NextTry}
		}
		return Next{By: ByStart}
	case Offered:
		return Next{By: ByWorker, Until: x.Run.Progress.OfferEnd()}
	case Running:
		if p := x.Run.Progress; p.Opening.Limits.PollInterval <= 0 && !x.Run.Claimed() {
			return Next{By: ByJob, Until: p.LimitAt}
		}
		return Next{By: ByJob, Until: x.Run.Progress.PollEnd}
	case Settling:
		if x.Said.Summary.Code == "paused" {
			return x.afterPause()
		}
		return Next{By: ByTime}
	case Completed, WouldStart:
		return Next{By: ByNothing}
	case Exhausted:
		if slices.ContainsFunc(x.Said.Opens, func(r reason.Reason) bool { return r.Code == "reading" }) {
			return Next{By: ByData}
		}
	case Held:
		return Next{By: ByOperator, Until: x.Run.Progress.LimitAt}
	case Failed, Cancelled:
	}
	if len(x.Said.Opens) == 0 {
		return Next{By: ByNothing} // its pipeline is not active
	}
	return Next{By: ByOperator}
}

// opening says how a period without a run continues.
func (x Explanation) opening() Next {
	switch x.Said.Summary.Code {
	case "opens-at":
		return Next{By: ByTime, At: x.opensAt}
	case "opening":
		return Next{By: ByTime}
	case "not-begun", "not-met":
		return Next{By: ByData, Until: x.startBy}
	case "removed", "not-active", "other-schedule":
		return Next{By: ByNothing}
	case "paused":
		return x.afterPause()
	}
	return Next{By: ByOperator}
}

// afterPause says how a paused run continues: when the pause ends by itself, or an operator ends
// it.
func (x Explanation) afterPause() Next {
	if x.resumesAt.IsZero() {
		return Next{By: ByOperator}
	}
	return Next{By: ByTime, At: x.resumesAt}
}

// awaited says how a waiting attempt continues.
func (x Explanation) awaited() Next {
	p := x.Run.Progress
	switch x.Said.Summary.Code {
	case "paused":
		n := x.afterPause()
		if p.WaitingSince.IsZero() && n.At.IsZero() {
			n.Until = p.WindowEnd
		}
		return n
	case "not-due", "retrying":
		return Next{By: ByTime, At: p.WindowStart}
	case "max-active":
		return Next{By: BySlot}
	case "starts-at":
		return Next{By: ByStart, At: p.NextEvaluation}
	}
	n := Next{By: ByData, Until: p.WindowEnd}
	if x.Gate != nil {
		n.At = x.Gate.OpensAt
	}
	return n
}

// LetsStart reports whether the gate allows, or allowed, the run to start: rules that pass for a
// period without a waiting run start nothing.
func (x Explanation) LetsStart() bool {
	if !x.Gate.Open() || x.Gate.Live && x.Run == nil {
		return false
	}
	if !x.Gate.Live {
		return true
	}
	by := x.Next().By
	return by == ByStart || by == BySlot
}
