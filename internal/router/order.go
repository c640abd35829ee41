package router

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// ask is what asks for an attempt.
type ask string

const (
	byFire      ask = "fire"      // a cron fire or an include date is due
	byReading   ask = "reading"   // a reading meets the start condition
	byUpstream  ask = "upstream"  // the last of the upstreams completed
	byTrigger   ask = "trigger"   // a person: trigger, backfill, or exec of a pipeline without a schedule
	byRerun     ask = "rerun"     // a person: rerun, backfill
	byRetry     ask = "retry"     // the attempt before has failed
	byReopening ask = "reopening" // new data came after the window
	byLateData  ask = "late data" // an input changed after completion, or an upstream completed again
	byDrift     ask = "drift"     // a post-run value moved after completion
)

// first reports whether it asks only for runs that do not exist.
func (a ask) first() bool { return a == byFire || a == byReading || a == byUpstream }

// person reports whether a person asks; otherwise the controller does by itself.
func (a ask) person() bool { return a == byTrigger || a == byRerun }

// order asks for an attempt of a run: its first, or another. Callers make orders; decide alone says
// whether an order is carried out, and opener.open alone carries it out. Each caller turns a
// rejection into what it means for the one that asks:
//
//	fire                      nothing (the run exists), PIPELINE_EXCLUDED, or SCHEDULE_MISSED, in bulk: due.go
//	reading, upstream         nothing (the run exists, or a pause), PIPELINE_EXCLUDED: openFor, openRun
//	trigger, backfill, exec   a Refusal, which the API answers as a problem, or a skipped period
//	rerun                     RERUN_REJECTED
//	retry                     RETRY_EXHAUSTED; nothing during a pause
//	reopening                 LATE_DATA_ARRIVAL with the reason "window closed"
//	late data, drift          their event, with the reason "budget spent"; nothing during a pause
type order struct {
	asks       ask
	cause      run.Cause
	at         time.Time // when what asks for it was written, if that must not be before the pipeline's horizon
	by, reason string    // the person, and the reason given
	forced     bool
	bypass     bool
	causedBy   string // the change or request that caused it
	message    string // what happened, as text; "" is the verdict's reason
	recovered  bool   // it was overlooked before; an event reports that too

	// What the order meets.
	entry  *catalog.Entry // the active version, by which the caller has decided; nil if there is none
	row    store.Pipeline // of the pipeline; the attempt opens only if it stays unchanged
	run    run.Run        // the run; only its key if there is none
	barred string         // why the calendar excludes its period; "" if it does not, or if that does not matter
	facts  rerun.Facts    // for a person's order: see requestHandler.facts
}

// The rejections that package rerun does not have.
const (
	notActive   rerun.Rejection = "not active"
	isDryRun    rerun.Rejection = "dry run"
	whilePaused rerun.Rejection = "paused"
	tooEarly    rerun.Rejection = "before the horizon"
)

// decide says whether the attempt opens. It depends on nothing but the order and now.
func (o order) decide(now time.Time) rerun.Verdict {
	if v := o.against(); v.Rejection != "" {
		return v
	}
	return o.allowed(now)
}

// against returns the rejection by what is outside the run: its pipeline, its period, the calendar,
// and whether it exists. A verdict without Rejection says that there is none.
func (o order) against() rerun.Verdict {
	reject := func(why rerun.Rejection, format string, args ...any) rerun.Verdict {
		return rerun.Verdict{Rejection: why, Reason: fmt.Sprintf(format, args...)}
	}
	exists := o.run.Status != ""
	switch {
	case o.entry == nil:
		return reject(notActive, "the pipeline is no longer active, so no run opens")
	case o.entry.DryRun && o.asks == byRerun:
		return reject(isDryRun, "the pipeline is a dry run, which starts nothing")
	case o.row.Paused():
		return reject(whilePaused, "the pipeline is paused; %s", pauseRemedy(o.row))
	case !exists && o.run.Schedule != o.entry.Opens:
		return reject(rerun.NoSuchRun, "there is no run of schedule %s; the pipeline's own is %s", o.run.Schedule, o.entry.Opens)
	case !o.at.IsZero() && o.at.Before(o.row.Horizon):
		return reject(tooEarly, "it was written before the pipeline was first accepted")
	}
	// Only people and readings name a period. That of an upstream of another zone may not exist here.
	named := o.asks == byTrigger || !exists && (o.asks == byRerun || o.asks == byReading)
	if err := o.run.Period.CheckName(o.entry.Schedule.Zone()); err != nil && named {
		return reject(rerun.NoSuchRun, "%s", err)
	}
	switch {
	case exists && (o.asks.first() || o.asks == byTrigger && (o.run.Status.Open() || o.run.Status == run.Completed)):
		return reject(rerun.AlreadyOpen, "%s", notTriggered(o.run))
	case o.barred != "" && !o.asks.person():
		return reject(rerun.Excluded, "%s", o.barred)
	case o.barred != "" && o.asks == byTrigger && !o.forced:
		return reject(rerun.Excluded, "the calendar excludes %s (%s); use --force to run it anyway", o.run.Period, o.barred)
	}
	return rerun.Verdict{}
}

// allowed decides by the run itself: its state, its budgets, and what a rerun would read. Package
// rerun has the rules.
func (o order) allowed(now time.Time) rerun.Verdict {
	switch {
	case o.asks.first(), o.asks == byTrigger && o.run.Status == "":
		return rerun.Verdict{Open: true, Reason: o.message}
	case o.asks == byReopening:
		return rerun.Reopen(o.run, now)
	case o.asks == byRetry:
		v, _ := rerun.Retry(o.run, o.entry.Definition, now)
		return v
	case o.asks.person():
		return rerun.Decide(rerun.Request{Force: o.forced, BypassGate: o.bypass && o.asks == byRerun}, o.facts, o.budget(), now)
	}
	return rerun.Next(o.run, o.cause, o.budget(), now)
}

// budget is how many more attempts the cause may open of the run.
func (o order) budget() rerun.Budget { return rerun.BudgetOf(o.entry.Job, o.run, o.cause) }
