package explain

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/reason"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

// ActionKind is what an operator can do about a run.
type ActionKind string

// The kinds of actions, most direct first.
const (
	ActResume   ActionKind = "resume"   // end the pause that holds it
	ActPush     ActionKind = "push"     // write a reading that satisfies a closed rule
	ActStart    ActionKind = "start"    // replace the waiting attempt with one that bypasses the gate
	ActTrigger  ActionKind = "trigger"  // open the run
	ActRerun    ActionKind = "rerun"    // open another attempt
	ActForce    ActionKind = "force"    // open another attempt without the checks of a rerun
	ActComplete ActionKind = "complete" // report the result of its job
	ActCancel   ActionKind = "cancel"   // end it
)

// Action is something that an operator can do about a run in its state. One that the controller
// would reject, or that would have no effect, is no action of the run.
type Action struct {
	Kind     ActionKind
	Pipeline pipeline.ID // whose sensor is pushed, or which is resumed; "" to resume all
	Key      sensor.Key  // to push
	Period   period.Period
	Fields   sensor.Fields
	Effect   reason.Reason
	Skips    []string // the checks that it skips
}

// act adds an action.
func (b *builder) act(kind ActionKind, format string, args ...any) *Action {
	effect := reason.Say(reason.Code(kind), format, args...)
	b.x.Actions = append(b.x.Actions, Action{Kind: kind, Pipeline: b.key.Pipeline, Effect: effect})
	return &b.x.Actions[len(b.x.Actions)-1]
}

// actions adds what an operator can do. A dry run starts nothing, so there is nothing to do.
func (b *builder) actions() {
	r := b.x.Run
	if b.x.DryRun {
		return
	}
	ended := r != nil && r.Status.Ended()
	b.resumes(r == nil || ended || r.Status == run.Pending || r.Status == run.Failed || r.Offered() || r.Repeats())
	if !ended || r.Status != run.Completed {
		b.pushes()
	}
	switch startable := b.def != nil && !b.row.Paused(); {
	case r == nil && startable:
		b.triggers()
	case r == nil:
	case ended && startable:
		b.reruns()
	case r.Status.Open():
		if startable {
			b.starts()
		}
		b.completes()
		b.cancels()
	}
}

// resumes adds the ends of the pauses, if the run waits for them.
func (b *builder) resumes(waits bool) {
	for _, p := range b.row.Pauses() {
		switch {
		case !waits || b.def == nil:
		case p.All:
			b.act(ActResume, "Ends the pause of all pipelines.").Pipeline = ""
		default:
			b.act(ActResume, "Ends the pause of %s.", b.key.Pipeline)
		}
	}
}

// pushable is a write of the plan that opens the gate, and what it says.
type pushable struct {
	what string
	step
}

// pushes adds the writes that the hints name as commands.
func (b *builder) pushes() {
	for _, p := range b.pushable {
		if b.Catalog.Current().Get(p.cell.owner) == nil {
			continue // its pipeline takes no readings
		}
		a := b.act(ActPush, "Push it only if it is true: %s.", p.what)
		a.Pipeline, a.Key, a.Period, a.Fields = p.cell.owner, p.write.Key, p.write.Period, stored(p.write.Fields)
	}
}

func (b *builder) triggers() {
	if b.key.Schedule != b.def.Opens || b.key.Period.IsZero() {
		return
	}
	starts := "Its job starts when its gate opens."
	if external(b.def) {
		starts = "A worker can claim it when its gate opens."
	}
	switch excluded := b.excluded(); {
	case excluded != "":
		b.act(ActTrigger, "The calendar excludes this period: %s. Only a forced trigger opens its run.", excluded)
	case !b.x.opensAt.IsZero():
		b.act(ActTrigger, "Opens the run now, before its fire at %s. %s", reason.At("fire", b.x.opensAt), starts)
	default:
		b.act(ActTrigger, "Opens the run. %s", starts)
	}
}

// starts adds the start without the gate, if only the gate or the time holds the attempt back, and
// no "not" rule does: such a rule is a veto, which its own sensor ends.
func (b *builder) starts() {
	r := *b.x.Run
	code := b.x.Said.Summary.Code
	accepted := rerun.Decide(rerun.Request{Force: true, BypassGate: true}, rerun.Facts{Run: r}, rerun.Budget{}, b.now).Open
	if r.Status != run.Pending || !accepted || code == "max-active" || code == "starts-at" {
		return
	}
	vetoed := func(l Leaf) bool { return l.Negated && l.Outcome == rule.Pass }
	if slices.ContainsFunc(b.x.Gate.Closed(), vetoed) {
		return
	}
	b.act(ActStart, "Replaces attempt %d, which has not started, with one that bypasses the gate. The deadlines stay armed.", r.Attempt)
}

func (b *builder) completes() {
	r := *b.x.Run
	p := r.Progress
	switch {
	case p.Report.Result != "":
	case p.Held.Reason != "":
		b.act(ActComplete, "Records how the job of attempt %d ended, whose start was not confirmed.", r.Attempt)
	case r.Status == run.Running && !r.Claimed() && p.Opening.Limits.PollInterval > 0 && !b.reportsItself():
		b.act(ActComplete, "Ends attempt %d with this result, though its job is polled for its own.", r.Attempt)
	case r.Claimed():
		b.act(ActComplete, "Ends attempt %d with this result, in place of worker %s.", r.Attempt, p.Offer.Worker)
	case r.Status == run.Running, r.Status == run.Triggering, r.Status == run.Pending && r.MayHaveJob():
		b.act(ActComplete, "Ends attempt %d with this result.", r.Attempt)
	}
}

func (b *builder) cancels() {
	r := *b.x.Run
	job := "No job of this attempt has started."
	switch {
	case r.Progress.Held.Reason != "":
		job = "It is unknown whether its job started; if it did, it may go on running."
	case r.Claimed():
		job = "The response to its worker's next heartbeat asks it to stop."
	case r.Status == run.Running && r.Progress.Opening.Limits.PollInterval <= 0:
		job = "What runs outside is not stopped."
	case r.MayHaveJob():
		job = "Its job is asked to stop, if its type supports that."
	}
	b.act(ActCancel, "Ends the run and its deadlines. %s", job)
}

// reruns adds the other attempts that may be opened now. Whether an input of a completed run has
// changed, and whether a job that was left behind still runs, is decided when it is requested.
func (b *builder) reruns() {
	r := *b.x.Run
	excluded := b.def.Schedule.Excluded(b.key.Period)
	budget := rerun.BudgetOf(b.def.Job, r, run.CauseManual)
	changed := []rerun.Seen{{Sensor: "any", Content: "changed"}}
	if rerun.Decide(rerun.Request{}, rerun.Facts{Run: r, Excluded: excluded, Now: changed}, budget, b.now).Open {
		b.act(ActRerun, "%s", b.rerunEffect(r, budget))
	}
	b.act(ActForce, "Opens attempt %d. Its gate is evaluated, unless that is skipped, too.", r.Attempt+1).Skips = forced(r, budget, excluded)
}

// rerunEffect says what a rerun does to a run as it ended.
func (b *builder) rerunEffect(r run.Run, budget rerun.Budget) string {
	next := fmt.Sprintf("Opens attempt %d", r.Attempt+1)
	started := slices.ContainsFunc(b.x.Attempts, func(a Attempt) bool { return !a.StartedAt.IsZero() })
	switch {
	case r.Status == run.Completed:
		next += fmt.Sprintf(", if an input has changed since attempt %d started", r.Attempt)
	case r.Progress.Left.MayRun():
		next += fmt.Sprintf(", once the job of attempt %d has ended", r.Attempt)
	}
	switch {
	case r.Attempt == 0:
		return next + ". No job has run for this period. The gate is evaluated in a new window."
	case !started:
		next += ". No job has run for this period. The gate is evaluated again in a new window."
	default:
		next += ". The gate is evaluated again, then the job runs once more."
	}
	return next + fmt.Sprintf(" This is manual rerun %d of %d.", budget.Used+1, budget.Max)
}

// forced lists the checks that a forced rerun of r skips.
func forced(r run.Run, budget rerun.Budget, excluded string) []string {
	var skips []string
	if r.Status == run.Completed {
		skips = append(skips, fmt.Sprintf("the circuit breaker, which requires that an input has changed since attempt %d started", r.Attempt))
	}
	if r.Attempt > 0 {
		skips = append(skips, fmt.Sprintf("the budget of manual reruns, of which %d of %d are used", budget.Used, budget.Max))
	}
	if excluded != "" {
		skips = append(skips, "the calendar, which excludes the period: "+excluded)
	}
	if r.Progress.Left.MayRun() {
		skips = append(skips, fmt.Sprintf("the check for a running job: the job of attempt %d may still be running, so two may run at once", r.Attempt))
	}
	return skips
}

// outlook says how the run continues if no one does anything, where that is not evident; the zero
// Reason otherwise.
func (x Explanation) outlook(n Next) reason.Reason {
	if n.By != ByOperator && n.By != ByTime {
		return reason.Reason{}
	}
	ends := func(t time.Time, status run.Status) reason.Reason {
		const format = "It continues when the pipeline is resumed. Otherwise the run ends as %s at %s."
		return reason.Say("outlook", format, status, reason.At("until", t))
	}
	paused := x.Said.Summary.Code == "paused" && x.State != Exhausted
	switch {
	case paused && n.By == ByTime:
		return reason.Say("outlook", "It continues when the pause ends, at %s.", reason.At("at", n.At))
	case n.By == ByTime:
		return reason.Reason{}
	case paused && x.State == Waiting && !n.Until.IsZero():
		return ends(n.Until, run.ValidationExhausted)
	case paused && x.State == Starting && !x.Run.Progress.LimitAt.IsZero():
		return ends(x.Run.Progress.LimitAt, run.FailedFinal)
	case paused && x.State == NotOpened:
		return reason.Say("outlook", "No run opens before the pipeline is resumed.")
	case paused:
		return reason.Say("outlook", "It continues when the pipeline is resumed.")
	case x.State == Held && !n.Until.IsZero():
		const format = "Unless its result is reported before, the run ends as %s at %s."
		return reason.Say("outlook", format, run.FailedFinal, reason.At("until", n.Until))
	}
	return reason.Say("outlook", "Nothing more happens automatically.")
}
