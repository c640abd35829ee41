package client

import (
	"context"
	"time"
)

// Gate is the answer to "may I run?".
type Gate struct {
	Pipeline string `json:"pipeline"`
	Date     string `json:"date" doc:"The period that was asked about."`
	Turn
	At                time.Time    `json:"at"`
	Open              bool         `json:"open" doc:"A start is allowed now: nothing is in blockedBy."`
	Outcome           string       `json:"outcome" enum:"pass,fail,unknown" doc:"What the rules alone say."`
	BlockedBy         []StartBlock `json:"blockedBy" doc:"Why no start is allowed now, most important first; empty if one is."`
	StartCondition    *Rule        `json:"startCondition" doc:"null without one. Under cron it is one of the rules, too."`
	Rules             []Rule       `json:"rules"`
	PreferUntil       *time.Time   `json:"preferUntil" doc:"When preferred rules cease to close the gate; null without such rules."`
	Degraded          []string     `json:"degraded" doc:"The preferred rules that do not pass and without which the gate is open."`
	OpensAt           *time.Time   `json:"opensAt" doc:"When a closed gate opens if its data stays as it is; null if time alone does not open it."`
	Run               *Run         `json:"run" doc:"The run of that period; null if there is none."`
	RetryAfterSeconds *int64       `json:"retryAfterSeconds" doc:"When to ask again; null while a start is allowed, or if asking again is pointless."`
}

// Turn says when a period is, and whether it may run now.
type Turn struct {
	StartsAt time.Time  `json:"startsAt" doc:"The period's first instant."`
	EndsAt   time.Time  `json:"endsAt" doc:"The first instant after the period."`
	Due      bool       `json:"due" doc:"A start is expected by now: its fire has come, a run is open, or, where a sensor or an upstream opens it, the period is over. While it is not due, a closed gate is nothing to worry about."`
	DueAt    *time.Time `json:"dueAt" doc:"When it is due; null for a pipeline without a schedule."`
}

// StartBlock is one reason why no start is allowed now.
type StartBlock struct {
	Code   string     `json:"code" enum:"excluded,paused,dry-run,not-offered,not-due,start-condition,start-deadline,rules,max-active,running,held,completed,ended"`
	Reason string     `json:"reason" doc:"The reason as a sentence, with what would change it."`
	Said   Reason     `json:"said" doc:"The same sentence in parts."`
	Until  *time.Time `json:"until" doc:"When it ends automatically; null if unknown."`
}

// Rule is the result of one rule. Numbers in Needs and Value are json.Number.
type Rule struct {
	Key              string     `json:"key"`
	Check            string     `json:"check"`
	Field            *string    `json:"field"`
	Needs            any        `json:"needs" doc:"What the field is compared with."`
	From             *string    `json:"from" doc:"The other pipeline whose sensor is read."`
	Level            string     `json:"level" enum:"required,preferred,advisory" doc:"A preferred rule closes the gate only until preferUntil."`
	Time             *string    `json:"time" doc:"settled and over in words; null without."`
	Group            *string    `json:"group" doc:"Its position in a group, as text."`
	Outcome          string     `json:"outcome" enum:"pass,fail,unknown" doc:"Of the rule itself."`
	EffectiveOutcome string     `json:"effectiveOutcome" enum:"pass,fail,unknown" doc:"After every not around the rule: what it contributes to the gate."`
	Value            any        `json:"value" doc:"The value seen; null if there was none."`
	Reason           string     `json:"reason"`
	Version          *int64     `json:"version" doc:"Of the reading that was seen."`
	UpdatedAt        *time.Time `json:"updatedAt" doc:"When the reading was written."`
	Source           *string    `json:"source" doc:"Who wrote it, if known."`
}

// Gate asks whether a start of a pipeline's run is allowed now; an empty date means the period that would fire now.
func (c *Client) Gate(ctx context.Context, id, date string, options ...CallOption) (Gate, error) {
	return ask[Gate](ctx, c, get(path("pipelines", id, "gate"), query("date", date)), options)
}

// AwaitGate is Gate, but the server holds the request until a start is allowed, never will be, or another client has
// started the job. It waits at most for wait, up to 60s.
func (c *Client) AwaitGate(ctx context.Context, id, date string, wait time.Duration, options ...CallOption) (Gate, error) {
	r := get(path("pipelines", id, "gate"), query("date", date, "wait", wait.String()))
	r.patient = true
	return ask[Gate](ctx, c, r, options)
}

// Explanation says why a run is in its state.
type Explanation struct {
	Pipeline  string     `json:"pipeline"`
	Schedule  *string    `json:"schedule"`
	Date      *string    `json:"date"`
	At        time.Time  `json:"at"`
	State     string     `json:"state" enum:"not opened,waiting,starting,offered,held,running,settling,completed,would start,failed,exhausted,cancelled"`
	Summary   string     `json:"summary" doc:"One sentence."`
	Why       *Reason    `json:"why" doc:"The cause in one line, with its parameters; null if there is nothing to say."`
	Reasons   []string   `json:"reasons" doc:"The reasons, most important first."`
	Opens     []string   `json:"opens" doc:"What would open it, most direct first."`
	Said      Said       `json:"said" doc:"Summary, reasons and opens with their codes and parameters."`
	Next      Next       `json:"next" doc:"Whether it goes on automatically."`
	DryRun    bool       `json:"dryRun"`
	Run       *Run       `json:"run" doc:"null if there is none."`
	Budgets   Budgets    `json:"budgets" doc:"How many further attempts each cause may open, by the active file."`
	Gate      *Shown     `json:"gate" doc:"The result of the rules; null if there was nothing to evaluate."`
	Attempts  []Attempt  `json:"attempts"`
	JobLog    []JobEntry `json:"jobLog"`
	Reruns    []Rerun    `json:"reruns"`
	Deadlines []Deadline `json:"deadlines"`
	Silenced  []Silenced `json:"silenced" doc:"Silences that held back alerts about it."`
	Probes    []Probe    `json:"probes" doc:"The probes whose answers its gate reads now."`
	Text      string     `json:"text" doc:"All of it, for people."`
	Lines     []Line     `json:"lines" doc:"The text line by line, each with its kind."`
}

// Said is the text of an explanation as codes with parameters.
type Said struct {
	Summary Reason   `json:"summary"`
	Reasons []Reason `json:"reasons"`
	Opens   []Reason `json:"opens"`
}

// Next says whether a run continues automatically, and if not, what a person can do.
type Next struct {
	By     string     `json:"by" enum:"start,time,data,slot,worker,job,operator,nothing" doc:"What it needs to go on: start: its job is about to start. time: at an instant, or a moment from now. data: its rules, or what opens it, must be met. slot: another job of the pipeline must end. worker: a worker must claim it. job: its job must end. operator: it does not go on automatically. nothing: it is done, or its pipeline is not active."`
	At     *time.Time `json:"at" doc:"When it goes on, if its data stays as it is; null if that is unknown."`
	Until  *time.Time `json:"until" doc:"When it stops waiting; null if it does not."`
	Action *string    `json:"action" enum:"resume,trigger,rerun,job-complete,exec" doc:"The most direct action of a person; null if there is none."`
}

// Line is a line of an explanation.
type Line struct {
	Style string `json:"style" enum:"plain,title,heading,pass,fail,unknown" doc:"A rule has its outcome."`
	Text  string `json:"text" doc:"Of a rule, without the mark for its outcome."`
}

// Budgets are how many attempts each cause may open, according to the file in force.
type Budgets struct {
	Retries      int `json:"retries"`
	CodeRetries  int `json:"codeRetries"`
	DriftReruns  int `json:"driftReruns"`
	ManualReruns int `json:"manualReruns"`
}

// Silenced is a silence that suppressed alerts about a run.
type Silenced struct {
	By     string `json:"by" doc:"The silence's id."`
	Alerts int    `json:"alerts" doc:"How many."`
}

// Shown is the result of a gate's rules at some moment.
type Shown struct {
	Live     bool      `json:"live" doc:"The rules now, rather than at the start of the run."`
	At       time.Time `json:"at"`
	Open     bool      `json:"open" doc:"The run starts, or started, on it. Rules that pass while nothing waits for them do not open it."`
	Outcome  string    `json:"outcome" enum:"pass,fail,unknown" doc:"What the rules alone say."`
	Bypassed bool      `json:"bypassed" doc:"An operator had the gate skipped."`
	Rules    []Rule    `json:"rules"`

	PreferUntil *time.Time `json:"preferUntil" doc:"When preferred rules cease to close the gate; null without such rules."`
	Degraded    []string   `json:"degraded" doc:"The preferred rules that did not pass and without which the gate was open."`
	OpensAt     *time.Time `json:"opensAt" doc:"When a closed gate opens if its data stays as it is; null if time alone does not open it."`
}

// Explain says why the run of a period waits, how it went, or why there is none. An empty date means the newest open
// run or, without one, the period that would fire now.
func (c *Client) Explain(ctx context.Context, id, date string, options ...CallOption) (Explanation, error) {
	return ask[Explanation](ctx, c, get(path("pipelines", id, "explain"), query("date", date)), options)
}
