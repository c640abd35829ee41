package client

import (
	"context"
	"time"
)

// Gate is the answer to "may I run?".
type Gate struct {
	Pipeline string `json:"pipeline"`
	Date     string `json:"date" doc:"The period."`
	Turn
	At                time.Time    `json:"at"`
	Open              bool         `json:"open" doc:"Whether a start is allowed now, that is, blockedBy is empty."`
	Outcome           string       `json:"outcome" enum:"pass,fail,unknown" doc:"The outcome of the rules alone."`
	BlockedBy         []StartBlock `json:"blockedBy" doc:"Why no start is allowed now, most important reason first; empty if a start is allowed."`
	StartCondition    *Rule        `json:"startCondition" doc:"The start condition; null if there is none. With cron it is also one of the rules."`
	Rules             []Rule       `json:"rules"`
	PreferUntil       *time.Time   `json:"preferUntil" doc:"When preferred rules stop closing the gate; null without preferred rules."`
	Degraded          []string     `json:"degraded" doc:"The preferred rules that do not pass; the gate is open without them."`
	OpensAt           *time.Time   `json:"opensAt" doc:"When a closed gate opens if no data changes; null if time alone does not open it."`
	Run               *Run         `json:"run" doc:"The run of the period; null if there is none."`
	RetryAfterSeconds *int64       `json:"retryAfterSeconds" doc:"When to send the request again; null if a start is allowed, or if no later request can succeed."`
}

// Turn says when a period is, and whether it may run now.
type Turn struct {
	StartsAt time.Time  `json:"startsAt" doc:"The start of the period."`
	EndsAt   time.Time  `json:"endsAt" doc:"The end of the period, exclusive."`
	Due      bool       `json:"due" doc:"Whether a start is expected by now: the fire has passed, a run is open, or, if a sensor or an upstream opens the run, the period has ended. Before that, a closed gate is normal."`
	DueAt    *time.Time `json:"dueAt" doc:"When a start is expected; null for a pipeline without a schedule."`
}

// StartBlock is one reason why no start is allowed now.
type StartBlock struct {
	Code   string     `json:"code" enum:"excluded,paused,dry-run,not-opened,not-offered,not-due,start-condition,start-deadline,rules,max-active,running,held,completed,ended"`
	Reason string     `json:"reason" doc:"The reason as a sentence, with the remedy."`
	Said   Reason     `json:"said" doc:"The reason in parts."`
	Until  *time.Time `json:"until" doc:"When the block ends automatically; null if unknown."`
}

// Rule is the result of one rule. Numbers in Needs and Value are json.Number.
type Rule struct {
	Key              string     `json:"key"`
	Check            string     `json:"check"`
	Field            *string    `json:"field"`
	Needs            any        `json:"needs" doc:"The value that the field is compared with."`
	From             *string    `json:"from" doc:"The other pipeline whose sensor the rule reads."`
	Level            string     `json:"level" enum:"required,preferred,advisory" doc:"A preferred rule closes the gate only until preferUntil."`
	Time             *string    `json:"time" doc:"settled and over in words; null if the rule has neither."`
	Group            *string    `json:"group" doc:"The rule's position in its group, as text."`
	Negated          bool       `json:"negated" doc:"Whether the rule is inside a not, and so must fail."`
	Closes           bool       `json:"closes" doc:"Whether the rule keeps the gate closed. A rule of a group that passes without it does not."`
	Outcome          string     `json:"outcome" enum:"pass,fail,unknown" doc:"The outcome of the rule itself."`
	EffectiveOutcome string     `json:"effectiveOutcome" enum:"pass,fail,unknown" doc:"The outcome after every enclosing not; this is what counts for the gate."`
	Value            any        `json:"value" doc:"The value of the field; null if there is none."`
	Reason           string     `json:"reason"`
	Version          *int64     `json:"version" doc:"The version of the reading."`
	UpdatedAt        *time.Time `json:"updatedAt" doc:"When the reading was written."`
	Source           *string    `json:"source" doc:"The writer's name, if known."`
}

// Gate asks whether a start of a pipeline's run is allowed now; an empty date means the
// current period.
func (c *Client) Gate(ctx context.Context, id, date string, options ...CallOption) (Gate, error) {
	return ask[Gate](ctx, c, get(path("pipelines", id, "gate"), query("date", date)), options)
}

// AwaitGate is Gate, but the server holds the request until a start is allowed, never will be, or
// another client has started the job. It waits at most for wait, up to 60s.
func (c *Client) AwaitGate(ctx context.Context, id, date string, wait time.Duration, options ...CallOption) (Gate, error) {
	r := get(path("pipelines", id, "gate"), query("date", date, "wait", wait.String()))
	r.long = true
	return ask[Gate](ctx, c, r, options)
}

// Explanation says why a run is in its state.
type Explanation struct {
	Pipeline  string     `json:"pipeline"`
	Schedule  *string    `json:"schedule"`
	Date      *string    `json:"date"`
	At        time.Time  `json:"at"`
	State     string     `json:"state" enum:"not opened,waiting,starting,offered,held,running,settling,completed,would start,failed,exhausted,cancelled"`
	Summary   string     `json:"summary" doc:"The state in one sentence."`
	Why       *Reason    `json:"why" doc:"Why the run is in its current phase: a code and one line, with parameters; null if there is no reason to give."`
	Reasons   []string   `json:"reasons" doc:"The reasons, most important first."`
	Opens     []string   `json:"opens" doc:"What would open the gate or the run, most direct first."`
	Said      Said       `json:"said" doc:"The summary, the reasons and opens, with codes and parameters."`
	Next      Next       `json:"next" doc:"What the run needs to continue."`
	Actions   []Possible `json:"actions" doc:"What an operator can do now, most direct first; the role of the client is not considered."`
	DryRun    bool       `json:"dryRun"`
	Run       *Run       `json:"run" doc:"The run; null if there is none."`
	Budgets   Budgets    `json:"budgets" doc:"Remaining attempts by cause, according to the active file."`
	Gate      *Shown     `json:"gate" doc:"The result of the rules; null if there was nothing to evaluate."`
	Attempts  []Attempt  `json:"attempts"`
	JobLog    []JobEntry `json:"jobLog"`
	Reruns    []Rerun    `json:"reruns"`
	Deadlines []Deadline `json:"deadlines"`
	Silenced  []Silenced `json:"silenced" doc:"Silences that held back alerts about the run."`
	Probes    []Probe    `json:"probes" doc:"The probes whose answers the gate reads now."`
	Text      string     `json:"text" doc:"The whole explanation as text."`
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
	By     string     `json:"by" enum:"start,time,data,slot,worker,job,operator,nothing" doc:"What the run needs to continue. start: its job is about to start. time: it continues at a certain time. data: its rules or its start condition must be met. slot: another job of the pipeline must end. worker: a worker must claim it. job: its job must end. operator: it does not continue automatically. nothing: it has ended, or its pipeline is not active."`
	At     *time.Time `json:"at" doc:"When it continues if no data changes; null if unknown."`
	Until  *time.Time `json:"until" doc:"When it stops waiting; null if never."`
	Action *string    `json:"action" enum:"resume,trigger,rerun,job-complete,exec" doc:"The most direct operator action; null if there is none."`

	Outlook *Reason `json:"outlook" doc:"What happens if no person acts, in one sentence; null where the summary says it."`
}

// Possible is something that an operator can do about a run in its state. What the server would
// reject is not listed, except for what it finds out only when it is asked: whether an input has
// changed, and whether a job still runs.
type Possible struct {
	Kind     string         `json:"kind" enum:"resume,push,start,trigger,rerun,force,complete,cancel" doc:"resume: end a pause. push: write a reading that satisfies a closed rule. start: replace the waiting attempt with one that bypasses the gate. trigger: open the run. rerun: open another attempt. force: open another attempt without the checks of a rerun. complete: report the result of its job. cancel: end it."`
	Pipeline *string        `json:"pipeline" doc:"The pipeline whose sensor is pushed, or that is resumed; null to resume all pipelines."`
	Key      *string        `json:"key" doc:"The sensor to push; null for other kinds."`
	Date     *string        `json:"date" doc:"The period of the reading to push; null if it is undated."`
	Data     map[string]any `json:"data" doc:"The fields of the reading to push; empty for other kinds."`
	Effect   Reason         `json:"effect" doc:"What it does, in one or more sentences."`
	Skips    []string       `json:"skips" doc:"The checks that it skips."`
}

// Line is a line of an explanation.
type Line struct {
	Style string `json:"style" enum:"plain,title,heading,pass,fail,unknown,command" doc:"The kind of line; for a rule, its outcome. A command can be run as it is."`
	Text  string `json:"text" doc:"The text; for a rule, without the mark for its outcome; for a command, without its indentation."`
}

// Budgets are how many attempts each cause may open, according to the active file.
type Budgets struct {
	Retries      int `json:"retries"`
	CodeRetries  int `json:"codeRetries"`
	DriftReruns  int `json:"driftReruns"`
	ManualReruns int `json:"manualReruns"`
}

// Silenced is a silence that suppressed alerts about a run.
type Silenced struct {
	By     string `json:"by" doc:"The silence's id."`
	Alerts int    `json:"alerts" doc:"Number of alerts held back."`
}

// Shown is the result of a gate's rules at some moment.
type Shown struct {
	Live     bool      `json:"live" doc:"true: the rules now. false: the rules at the start of the run."`
	At       time.Time `json:"at"`
	Open     bool      `json:"open" doc:"Whether the run starts or started on this gate. Rules that pass when no run waits for them do not count."`
	Outcome  string    `json:"outcome" enum:"pass,fail,unknown" doc:"The outcome of the rules alone."`
	Bypassed bool      `json:"bypassed" doc:"Whether an operator bypassed the gate."`
	Rules    []Rule    `json:"rules"`

	PreferUntil *time.Time `json:"preferUntil" doc:"When preferred rules stop closing the gate; null without preferred rules."`
	Degraded    []string   `json:"degraded" doc:"The preferred rules that did not pass; the gate was open without them."`
	OpensAt     *time.Time `json:"opensAt" doc:"When a closed gate opens if no data changes; null if time alone does not open it."`

	Files []UsedFile `json:"files" doc:"The configuration files behind the start: the pipeline's own, its archetypes and calendars, and the sources that may write its sensors. Empty while live."`
}

// UsedFile is a configuration file that a run started on.
type UsedFile struct {
	Kind   string `json:"kind" doc:"pipeline, archetype, calendar or source."`
	File   string `json:"file"`
	Digest string `json:"digest" doc:"The SHA-256 digest of the version that was used."`
}

// WithSchedule makes Explain explain the run of that schedule, cron, stream or manual, instead of the
// pipeline's own. "" changes nothing.
func WithSchedule(id string) CallOption {
	return func(r *call) {
		if id != "" {
			r.query.Set("schedule", id)
		}
	}
}

// Explain says why the run of a period waits, how it went, or why there is none. An empty date
// means the newest open run or, without one, the current period.
//
// [WithSchedule] names the schedule of the run.
func (c *Client) Explain(ctx context.Context, id, date string, options ...CallOption) (Explanation, error) {
	return ask[Explanation](ctx, c, get(path("pipelines", id, "explain"), query("date", date)), options)
}
