package event

import (
	"time"

	"github.com/interlock-go/interlock/internal/run"
)

// Extra is what events of some types say beyond the common fields. The kinds below are all there are; each
// type has at most one (see Entry.Extra). Their fields stand in the event's detail beside the common ones
// and are always present, so that a consumer can tell "no" from "not said".
type Extra interface{ extra() }

// Gate is what the rules showed.
type Gate struct {
	Rules []RuleOutcome `json:"rules" doc:"each rule with its outcome, the value seen and the reason"`
}

// RuleOutcome is one rule of a Gate.
type RuleOutcome struct {
	Key     string `json:"key"`
	Check   string `json:"check"`
	Outcome string `json:"outcome"`
	Value   string `json:"value"`
	Reason  string `json:"reason"`
	// EffectiveOutcome is what a rule under a "not" contributes to the gate; empty where that is its Outcome.
	EffectiveOutcome string `json:"effectiveOutcome,omitempty"`
	Advisory         bool   `json:"advisory,omitempty"` // shown only; it never closes a gate
}

// Closes says that the rule is a reason for the gate to be closed.
func (r RuleOutcome) Closes() bool {
	outcome := r.Outcome
	if r.EffectiveOutcome != "" {
		outcome = r.EffectiveOutcome
	}
	return outcome != "pass" && !r.Advisory
}

// Opening is why an attempt was opened.
type Opening struct {
	Cause        run.Cause `json:"cause" doc:"why the attempt was opened"`
	RequestedBy  string    `json:"requestedBy" doc:"who asked, where somebody did"`
	Reason       string    `json:"reason" doc:"why, in their words"`
	Forced       bool      `json:"forced" doc:"breaker and budget were skipped"`
	GateBypassed bool      `json:"gateBypassed" doc:"the gate was skipped"`
}

// Refusal is why a rerun request was turned down.
type Refusal struct {
	Why         string `json:"why" doc:"what stands against it, as in the list of rejections"`
	RequestedBy string `json:"requestedBy" doc:"who asked"`
	Reason      string `json:"reason" doc:"why, in their words"`
}

// Started is a job that was taken.
type Started struct {
	JobType  string         `json:"jobType" doc:"the type of the job"`
	Handle   run.Handle     `json:"handle" doc:"the job's own name at its target"`
	Snapshot run.SnapshotID `json:"snapshot" doc:"the stored facts on which the gate was open"`
}

// Finished is a job's result.
type Finished struct {
	Category        run.Category `json:"category" doc:"PERMANENT, TRANSIENT, TIMEOUT or empty for unknown"`
	ExitCode        *int         `json:"exitCode" doc:"its exit code, null where it has none"`
	DurationSeconds int64        `json:"durationSeconds" doc:"from start to result"`
	NextAttemptAt   time.Time    `json:"nextAttemptAt,omitzero" doc:"about when it is tried again by itself; absent when it is not"`
}

// Left is an attempt that ended without its job's result.
type Left struct {
	JobMayRun bool   `json:"jobMayRun" doc:"the job could not be stopped and may still run"`
	By        string `json:"by" doc:"who ended it, where somebody did"`
	Reason    string `json:"reason" doc:"why"`
}

// Budget is how a retry stands.
type Budget struct {
	Cause         run.Cause `json:"cause" doc:"which budget: transient, timeout, unknown or code"`
	Used          int       `json:"used" doc:"attempts opened on it"`
	Max           int       `json:"max" doc:"attempts it allows"`
	NextAttemptAt time.Time `json:"nextAttemptAt,omitzero" doc:"when the gate is evaluated again; absent when there is no next attempt"`
}

// Infra is something wrong beneath the pipelines.
type Infra struct {
	Held  bool   `json:"held" doc:"the run is held until an operator decides"`
	Error string `json:"error" doc:"what went wrong"`
}

// Alarm is a changed state of a platform alarm.
type Alarm struct {
	Alarm string `json:"alarm" doc:"its name"`
	State string `json:"state" doc:"its new state"`
}

// Deadline is how a deadline stands.
type Deadline struct {
	Deadline    time.Time `json:"deadline" doc:"the breach instant"`
	Warned      bool      `json:"warned" doc:"a warning went before"`
	Failed      bool      `json:"failed" doc:"the run had already failed"`
	LateSeconds int64     `json:"lateSeconds" doc:"how long after the deadline it completed; 0 if it did not"`
	Reason      string    `json:"reason" doc:"why it was cancelled"`
}

// Missed is what should have been opened and was not.
type Missed struct {
	Dates []string `json:"dates" doc:"every period missed, oldest first; date is the newest"`
}

// Degraded is what the watchdog could not check.
type Degraded struct {
	Checks    []string `json:"checks" doc:"the checks that failed"`
	Pipelines []string `json:"pipelines" doc:"the pipelines they failed for; empty where they failed as a whole"`
}

// Late is input that came after its run.
type Late struct {
	Sensors []string `json:"sensors" doc:"the sensors whose data changed"`
	Reason  string   `json:"reason" doc:"what follows: a rerun, budget spent, or window closed"`
}

// Exclusion is why the calendar suppresses a period.
type Exclusion struct {
	Rule string `json:"rule" doc:"what excludes it: weekend, a listed date, a calendar"`
}

// Pause is an operator's pause of a pipeline, or of all.
type Pause struct {
	All     bool      `json:"all,omitempty" doc:"it is the pause of all pipelines"`
	By      string    `json:"by" doc:"who"`
	Reason  string    `json:"reason" doc:"why"`
	Until   time.Time `json:"until,omitzero" doc:"when it ends by itself; absent if never"`
	HoldSLA bool      `json:"holdSla" doc:"deadlines are cancelled meanwhile"`
}

// Drift is how a post-run value stands to its baseline. The values are in decimal text, so that none is rounded.
type Drift struct {
	Sensor    string `json:"sensor" doc:"the post-run sensor"`
	Field     string `json:"field" doc:"the drift field"`
	Baseline  string `json:"baseline" doc:"its value at completion; empty if missing"`
	Current   string `json:"current" doc:"its value now; empty if missing"`
	Threshold string `json:"threshold" doc:"how far it may move"`
}

// Sensors are the sensors concerned.
type Sensors struct {
	Sensors []string `json:"sensors" doc:"the sensors concerned"`
}

// Config is a pipeline file.
type Config struct {
	File     string   `json:"file" doc:"where it was read"`
	Version  string   `json:"version" doc:"the version now in force; empty if none"`
	Problems []string `json:"problems" doc:"what is wrong with it, each at its place"`
}

// Audited is an entry of the audit record.
type Audited struct {
	Actor       string `json:"actor" doc:"the token, certificate or user; server for what the server does by itself"`
	Role        string `json:"role" doc:"the actor's role"`
	RequestedBy string `json:"requestedBy" doc:"the person, as the client named them"`
	Remote      string `json:"remote" doc:"the address that the request came from"`
	Action      string `json:"action" doc:"the operation, such as trigger, pause, login or config"`
	Subject     string `json:"subject" doc:"what it is about, such as a run"`
	Reason      string `json:"reason" doc:"why, in their words"`
	Outcome     string `json:"outcome" doc:"done, refused or failed"`
}

// Projection is how a dry run would have met its deadline.
type Projection struct {
	Status              string    `json:"status" doc:"met, breach or past"`
	EstimatedCompletion time.Time `json:"estimatedCompletion" doc:"now plus the expected duration"`
	Deadline            time.Time `json:"deadline" doc:"the breach instant"`
	MarginSeconds       int64     `json:"marginSeconds" doc:"deadline less estimated completion; negative if late"`
}

func (Gate) extra()       {}
func (Audited) extra()    {}
func (Opening) extra()    {}
func (Refusal) extra()    {}
func (Started) extra()    {}
func (Finished) extra()   {}
func (Left) extra()       {}
func (Budget) extra()     {}
func (Infra) extra()      {}
func (Alarm) extra()      {}
func (Deadline) extra()   {}
func (Missed) extra()     {}
func (Degraded) extra()   {}
func (Late) extra()       {}
func (Exclusion) extra()  {}
func (Pause) extra()      {}
func (Drift) extra()      {}
func (Sensors) extra()    {}
func (Config) extra()     {}
func (Projection) extra() {}
