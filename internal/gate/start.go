package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/reason"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Code identifies what prevents a start.
type Code string

const (
	Excluded       Code = "excluded"        // the calendar excludes the period
	Paused         Code = "paused"          // an operator paused the pipeline
	DryRun         Code = "dry-run"         // the pipeline never starts its job
	NotOpened      Code = "not-opened"      // only the run is missing: its schedule has not opened it
	NotOffered     Code = "not-offered"     // no worker can claim the attempt: it is not offered yet, or no longer
	NotDue         Code = "not-due"         // a cron fire, schedule.time or a backoff is still to come
	StartCondition Code = "start-condition" // the start condition is not met
	StartDeadline  Code = "start-deadline"  // it was not met before its deadline
	RulesClosed    Code = "rules"           // a rule does not hold
	MaxActive      Code = "max-active"      // as many jobs run as schedule.maxActive allows
	Running        Code = "running"         // the run has a job, or is about to start one
	Held           Code = "held"            // it is not known whether the job was started
	Completed      Code = "completed"       // the run is done
	Ended          Code = "ended"           // the run ended without success; only an operator opens it again
)

// Block is one reason why no start is allowed now.
type Block struct {
	Code   Code
	Reason reason.Reason
	Until  time.Time // when it ends by itself; zero if unknown
	Final  bool      // it does not end by itself
}

// Situation is what the start of a period's run depends on besides its rules. The start, claims and
// every answer to "may it start?" ask about the same Situation.
type Situation struct {
	Question
	Row store.Pipeline
	Run run.Run // the zero Run if there is none
	// Starting means that the controller asks, to start or offer the attempt itself. Others cannot
	// start an attempt whose start is about to be repeated, or that is about to be offered.
	Starting bool
}

// Answer says whether a start is allowed now.
type Answer struct {
	View              // what the rules show
	Start  *rule.Leaf // result of the start condition; nil without one
	Blocks []Block    // why no start is allowed, most important first; empty if allowed
	// Slots are the pipeline's slots after the start has taken its own. Nil if the start changes
	// none, or is not allowed.
	Slots []run.AttemptID
}

// Allowed reports whether a start is allowed now.
func (a Answer) Allowed() bool { return len(a.Blocks) == 0 }

// Blocked reports whether one of the blocks has that code.
func (a Answer) Blocked(code Code) bool {
	return slices.ContainsFunc(a.Blocks, func(b Block) bool { return b.Code == code })
}

// Passes reports whether the gate is open: the rules pass, the start condition is met, and an
// automatic start is not too late. A bypassed gate need not pass.
func (a Answer) Passes() bool {
	return a.View.Open() && !a.Blocked(StartDeadline) && !a.Blocked(StartCondition)
}

// RetryAfter returns how long to wait before asking again: until the last of the temporary blocks
// has ended, or else the interval. It is 0 if a start is allowed, or if asking again is useless.
func (a Answer) RetryAfter(interval time.Duration, now time.Time) time.Duration {
	if a.Allowed() {
		return 0
	}
	wait := time.Duration(0)
	for _, b := range a.Blocks {
		if b.Final {
			return 0
		}
		wait = max(wait, b.Until.Sub(now))
	}
	if wait <= 0 {
		return interval
	}
	return wait
}

// Ask evaluates the gate and the start condition, and lists what prevents a start now.
func Ask(ctx context.Context, r reader, s Situation, now time.Time) (Answer, error) {
	var a Answer
	var err error
	if a.View, err = Evaluate(ctx, r, s.Question, now); err != nil {
		return a, err
	}
	if start := s.Definition.Start; start != nil {
		q := s.Question
		q.Gate = start.Gate
		view, err := Evaluate(ctx, r, q, now)
		if err != nil {
			return a, err
		}
		a.Start = &view.Verdict.Leaves[0]
	}
	a.Blocks = s.blocks(a, now)
	if _, settled := s.settled(); settled || s.Starting && len(a.Blocks) > 0 {
		return a, nil
	}
	slots, turn, err := s.turn(ctx, r, now)
	if err != nil {
		return a, err
	}
	a.Blocks = append(a.Blocks, known(turn)...)
	switch {
	case len(a.Blocks) > 0:
	case s.Starting:
		a.Slots = slots
	default:
		a.Blocks = known(s.notOpened(), s.notOffered(now))
	}
	return a, nil
}

// Unmet returns the blocks that follow from the facts alone, regardless of time and run: an
// excluded period, an unmet start condition, rules that do not pass.
func (a Answer) Unmet(q Question, now time.Time) []Block {
	return known(q.excluded(), a.startUnmet(), a.rulesClosed(now))
}

// known drops empty blocks.
func known(blocks ...Block) []Block {
	return slices.DeleteFunc(blocks, func(b Block) bool { return b.Code == "" })
}

// block returns a block with a reason; see reason.Say.
func block(code Code, format string, args ...any) Block {
	return Block{Code: code, Reason: reason.Say(reason.Code(code), format, args...)}
}

// final returns a block that does not end by itself.
func final(code Code, format string, args ...any) Block {
	b := block(code, format, args...)
	b.Final = true
	return b
}

func (s Situation) blocks(a Answer, now time.Time) []Block {
	if b, ended := s.settled(); ended {
		return []Block{b}
	}
	var excluded, rules Block
	if s.Run.Status == "" { // a run that exists was forced by an operator
		excluded = s.excluded()
	}
	if !s.Run.Progress.Opening.GateBypassed {
		rules = a.rulesClosed(now)
	}
	return known(s.dry(), excluded, s.paused(), s.notDue(now), s.start(a, now), rules)
}

// notOpened returns a block if nothing but the run is missing, for jobs run by external workers:
// its fire came before the pipeline was accepted, was missed, or was a moment ago. The run of a
// pipeline without a schedule is opened on demand.
func (s Situation) notOpened() Block {
	def := s.Definition
	if _, external := job.Offers(def.Job); !external || s.Run.Status != "" || def.Opens == pipeline.ByHand {
		return Block{}
	}
	return block(NotOpened, "there is no run of %s for %s: its schedule has not opened one. `interlock trigger %s --date %s` opens it",
		def.ID, s.Period, def.ID, s.Period)
}

// notOffered returns a block if the gate is open but no worker can claim the attempt yet, for jobs
// run by external workers.
func (s Situation) notOffered(now time.Time) Block {
	_, external := job.Offers(s.Definition.Job)
	switch r := s.Run; {
	case external && r.Status == run.Pending:
		return block(NotOffered, "the gate is open, and attempt %d is about to be offered", r.Attempt)
	case r.Offered() && !now.Before(r.Progress.OfferEnd()):
		return block(NotOffered, "no worker claimed it before its window ended at %s", reason.At("end", r.Progress.OfferEnd()))
	}
	return Block{}
}

func (s Situation) dry() Block {
	if !s.Definition.DryRun {
		return Block{}
	}
	return final(DryRun, "dryRun is true, so no job starts")
}

func (q Question) excluded() Block {
	why := q.Definition.Schedule.Excluded(q.Period)
	if why == "" {
		return Block{}
	}
	return final(Excluded, "the calendar excludes this period: %s", why)
}

// settled returns the block of a run that is not waiting for its gate.
func (s Situation) settled() (Block, bool) {
	r := s.Run
	const rerun = "; `interlock rerun %s --date %s --reason WHY` opens another attempt"
	switch r.Status {
	case "":
		return Block{}, false
	case run.Pending:
		switch {
		case r.Progress.Report.Result != "":
			return block(Running, "attempt %d has its result, which is being stored", r.Attempt), true
		case !s.Starting && r.MayHaveJob():
			return block(Running, "a start call of attempt %d was not answered, so its job may be running", r.Attempt), true
		}
		return Block{}, false
	case run.Completed:
		return final(Completed, "the run is COMPLETED in attempt %d"+rerun, r.Attempt, r.Pipeline, r.Period), true
	case run.FailedFinal, run.ValidationExhausted, run.Cancelled:
		return final(Ended, "the run is %s: %s"+rerun, r.Status, r.Reason, r.Pipeline, r.Period), true
	case run.Triggering, run.Running, run.Failed, run.JobPollExhausted:
	}
	switch {
	case r.Offered(), s.Starting && r.Repeats():
		return Block{}, false
	case r.Claimed():
		return block(Running, "worker %s has held attempt %d since %s",
			r.Progress.Offer.Worker, r.Attempt, reason.At("since", r.Progress.StartedAt)), true
	}
	if held := r.Progress.Held; held.Reason != "" {
		return block(Held, "the start of attempt %d is held: %s", r.Attempt, held.Reason), true
	}
	return block(Running, "the run is %s in attempt %d", r.Status, r.Attempt), true
}

func (s Situation) paused() Block {
	var reasons []string
	for _, p := range s.Row.Pauses() {
		why := "the pipeline is paused"
		if p.All {
			why = "all pipelines are paused"
		}
		if p.By != "" {
			why += " by " + p.By
		}
		if p.Why != "" {
			why += ": " + p.Why
		}
		reasons = append(reasons, why)
	}
	if reasons == nil {
		return Block{}
	}
	b := block(Paused, "%s", strings.Join(reasons, "; "))
	b.Until = s.Row.PausedUntil()
	return b
}

// notDue returns a block for a window that has not begun: of the open attempt, or of a run that the
// schedule has yet to open.
func (s Situation) notDue(now time.Time) Block {
	on := s.Definition.Schedule
	at, why := s.Run.Progress.WindowStart, fmt.Sprintf("attempt %d starts", s.Run.Attempt)
	if s.Run.Status == "" {
		at, why = on.FireFor(s.Period), "the schedule opens the run"
		if on.HasTime() && on.EarliestStart(s.Period).After(at) {
			at, why = on.EarliestStart(s.Period), "schedule.time allows the start"
		}
	}
	if !at.After(now) {
		return Block{}
	}
	b := block(NotDue, "%s at %s", why, reason.At("at", at))
	b.Until = at
	return b
}

// start returns a block if the deadline of the start condition has passed, after which there is no
// automatic start, or if the condition is not met. Without cron the condition opens the
// run, so an open run does not check it again.
func (s Situation) start(a Answer, now time.Time) Block {
	def, end := s.Definition, s.Run.Progress.Opening.Until
	opened := s.Run.Status != ""
	if !opened {
		end = def.StartCloses(s.Period)
	}
	if !end.IsZero() && !now.Before(end) {
		return final(StartDeadline, "the start condition's deadline was at %s; `interlock trigger %s --date %s` starts it anyway",
			reason.At("deadline", end), def.ID, s.Period)
	}
	if a.Start == nil || opened && def.Opens != pipeline.ByCron || s.Run.Progress.Opening.GateBypassed {
		return Block{}
	}
	return a.startUnmet()
}

func (a Answer) startUnmet() Block {
	if a.Start == nil || a.Start.Effective() == rule.Pass {
		return Block{}
	}
	return block(StartCondition, "the start condition is not met: %s: %s", a.Start.Rule.Key, a.Start.Reason)
}

// rulesClosed returns a block for the rules, other than the start condition, that do not pass.
func (a Answer) rulesClosed(now time.Time) Block {
	if a.View.Open() {
		return Block{}
	}
	closed, total, first := 0, 0, ""
	for _, l := range a.Verdict.Leaves {
		if l.Advisory || l.Start || l.Preferred && a.Lapsed(now) {
			continue
		}
		if total++; l.Closes() {
			if closed++; first == "" {
				first = l.Rule.Key + ": " + l.Reason
			}
		}
	}
	if closed == 0 { // only the start condition keeps it closed
		return Block{}
	}
	b := block(RulesClosed, "%s: %s", CountClosed(closed, total), first)
	b.Until = a.OpensAt
	return b
}

// CountClosed says how many of a gate's rules keep it closed.
func CountClosed(closed, total int) string {
	switch {
	case total == 1:
		return "its rule does not pass"
	case closed == 1:
		return fmt.Sprintf("1 of %d rules does not pass", total)
	}
	return fmt.Sprintf("%d of %d rules do not pass", closed, total)
}
