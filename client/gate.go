package client

import (
	"context"
	"time"
)

// Gate is the answer to "may I run?".
type Gate struct {
	Pipeline string    `json:"pipeline"`
	Date     string    `json:"date"`
	At       time.Time `json:"at"`
	Turn
	Open              bool         `json:"open"`           // a start is allowed now: nothing is in BlockedBy
	Outcome           string       `json:"outcome"`        // what the rules alone say: pass, fail or unknown
	BlockedBy         []StartBlock `json:"blockedBy"`      // why no start is allowed now, most important first
	StartCondition    *Rule        `json:"startCondition"` // nil without one; under cron it is one of Rules, too
	Rules             []Rule       `json:"rules"`
	PreferUntil       *time.Time   `json:"preferUntil"`       // when preferred rules cease to close the gate; nil without such rules
	Degraded          []string     `json:"degraded"`          // the preferred rules without which the gate is open
	OpensAt           *time.Time   `json:"opensAt"`           // when time alone opens a closed gate; nil if it does not
	Run               *Run         `json:"run"`               // nil if the period has none
	RetryAfterSeconds *int64       `json:"retryAfterSeconds"` // nil while a start is allowed, or where asking again is of no use
}

// Turn is when a period is, and whether it is its turn to run.
type Turn struct {
	StartsAt *time.Time `json:"startsAt"`
	EndsAt   *time.Time `json:"endsAt"`
	Due      bool       `json:"due"`   // its inputs are expected to be there by now
	DueAt    *time.Time `json:"dueAt"` // from when on they are; nil where that is not known
}

// StartBlock is one reason why no start is allowed now. Code is one of excluded, paused, dry-run, not-offered, not-due, start-condition,
// start-deadline, rules, max-active, running, held, completed and ended.
type StartBlock struct {
	Code   string     `json:"code"`
	Reason string     `json:"reason"` // the same in a sentence, with what would change it
	Said   Reason     `json:"said"`   // the sentence in parts
	Until  *time.Time `json:"until"`  // when it ends by itself; nil where that is not known
}

// Rule is the report on one rule. Numbers in Needs and Value are json.Number.
type Rule struct {
	Key     string  `json:"key"`
	Check   string  `json:"check"`
	Field   *string `json:"field"`
	Needs   any     `json:"needs"`
	From    *string `json:"from"`
	Level   string  `json:"level"` // required, preferred or advisory
	Time    *string `json:"time"`  // settled and over in words
	Group   *string `json:"group"`
	Outcome string  `json:"outcome"` // of the rule itself
	// EffectiveOutcome is the outcome after every "not" around the rule: what it contributes to the gate.
	EffectiveOutcome string     `json:"effectiveOutcome"`
	Value            any        `json:"value"`
	Reason           string     `json:"reason"`
	Version          *int64     `json:"version"`
	UpdatedAt        *time.Time `json:"updatedAt"`
	Source           *string    `json:"source"`
}

// Gate asks whether a start of a pipeline's run is allowed now; an empty date means the period of a fire now.
func (c *Client) Gate(ctx context.Context, id, date string, options ...CallOption) (Gate, error) {
	return ask[Gate](ctx, c, get(path("pipelines", id, "gate"), query("date", date)), options)
}

// AwaitGate is Gate, but the server holds the request until a start is allowed, never will be, or another has started the job,
// and at most for wait, which may be 60s.
func (c *Client) AwaitGate(ctx context.Context, id, date string, wait time.Duration, options ...CallOption) (Gate, error) {
	r := get(path("pipelines", id, "gate"), query("date", date, "wait", wait.String()))
	r.patient = true
	return ask[Gate](ctx, c, r, options)
}

// Explanation is why a run stands as it does.
type Explanation struct {
	Pipeline  string     `json:"pipeline"`
	Schedule  *string    `json:"schedule"`
	Date      *string    `json:"date"`
	At        time.Time  `json:"at"`
	State     string     `json:"state"`
	Summary   string     `json:"summary"`
	Why       *Reason    `json:"why"`     // the cause in one line, with its parameters; nil if there is nothing to say
	Reasons   []string   `json:"reasons"` // why it stands so, most important first
	Opens     []string   `json:"opens"`   // what would open it, most direct first
	Said      Said       `json:"said"`    // summary, reasons and opens with their codes and parameters
	Next      Next       `json:"next"`    // whether it goes on automatically
	DryRun    bool       `json:"dryRun"`
	Run       *Run       `json:"run"`
	Budgets   Budgets    `json:"budgets"`
	Gate      *Shown     `json:"gate"`
	Attempts  []Attempt  `json:"attempts"`
	JobLog    []JobEntry `json:"jobLog"`
	Reruns    []Rerun    `json:"reruns"`
	Deadlines []Deadline `json:"deadlines"`
	Silenced  []Silenced `json:"silenced"`
	Probes    []Probe    `json:"probes"` // whose answers its gate looks at now
	Text      string     `json:"text"`   // all of it, for people
	Lines     []Line     `json:"lines"`  // the text line by line
}

// Said is what an explanation says, as codes with parameters.
type Said struct {
	Summary Reason   `json:"summary"`
	Reasons []Reason `json:"reasons"`
	Opens   []Reason `json:"opens"`
}

// Next says whether a run goes on automatically, and if not, what a person can do.
type Next struct {
	By     string     `json:"by"`     // start, time, data, slot, worker, job; operator: it does not go on automatically; nothing: it is done
	At     *time.Time `json:"at"`     // when it goes on; nil if that is unknown
	Until  *time.Time `json:"until"`  // when it stops waiting; nil if it does not
	Action *string    `json:"action"` // resume, trigger, rerun, job-complete or exec; nil if there is none
}

// Line is a line of an explanation.
type Line struct {
	Style string `json:"style"` // plain, title, heading; a rule has its outcome: pass, fail, unknown
	Text  string `json:"text"`  // of a rule, without the mark for its outcome
}

// Budgets are how many attempts each cause may open, by the file in force.
type Budgets struct {
	Retries      int `json:"retries"`
	CodeRetries  int `json:"codeRetries"`
	DriftReruns  int `json:"driftReruns"`
	ManualReruns int `json:"manualReruns"`
}

// Silenced is a silence that kept back alerts about a run.
type Silenced struct {
	By     string `json:"by"` // its id
	Alerts int    `json:"alerts"`
}

// Shown is what the rules of a gate showed at some moment.
type Shown struct {
	Live     bool      `json:"live"` // as they stand now, rather than what the run started on
	At       time.Time `json:"at"`
	Open     bool      `json:"open"` // the run starts, or started, on it
	Outcome  string    `json:"outcome"`
	Bypassed bool      `json:"bypassed"`
	Rules    []Rule    `json:"rules"`

	PreferUntil *time.Time `json:"preferUntil"` // when preferred rules cease to close the gate; nil without such rules
	Degraded    []string   `json:"degraded"`    // the preferred rules without which the gate was open
	OpensAt     *time.Time `json:"opensAt"`     // when time alone opens a closed gate; nil if it does not
}

// Explain says why the run of a period waits, how it went, or why there is none. An empty date means the newest open run
// or, without one, the period of a fire now.
func (c *Client) Explain(ctx context.Context, id, date string, options ...CallOption) (Explanation, error) {
	return ask[Explanation](ctx, c, get(path("pipelines", id, "explain"), query("date", date)), options)
}
