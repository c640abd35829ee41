package event

import (
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// Extra holds the fields of an event beyond the common ones. The types below are the only ones;
// each event type has at most one (see Entry.Extra). Unless they are marked omitempty, the fields
// are always present in the detail.
type Extra interface{ extra() }

// Gate is the result of evaluating the rules.
type Gate struct {
	Rules    []RuleOutcome `json:"rules" doc:"the rules, each with its outcome, value and reason"`
	Degraded []string      `json:"degraded,omitempty" doc:"the preferred rules that do not pass; the run starts without them"`
}

// RuleOutcome is one rule of a Gate.
type RuleOutcome struct {
	Key     string `json:"key"`
	Check   string `json:"check"`
	Outcome string `json:"outcome"`
	Value   string `json:"value"`
	Reason  string `json:"reason"`
	// EffectiveOutcome is what a rule under a "not" contributes to the gate; empty if equal to
	// Outcome.
	EffectiveOutcome string `json:"effectiveOutcome,omitempty"`
	Advisory         bool   `json:"advisory,omitempty"`  // it never closes a gate
	Preferred        bool   `json:"preferred,omitempty"` // it closes a gate only for a time
}

// Closes reports whether the rule keeps the gate closed.
func (r RuleOutcome) Closes() bool {
	outcome := r.Outcome
	if r.EffectiveOutcome != "" {
		outcome = r.EffectiveOutcome
	}
	return outcome != "pass" && !r.Advisory
}

// Opening says why an attempt was opened.
type Opening struct {
	Cause        run.Cause `json:"cause" doc:"why the attempt was opened"`
	RequestedBy  string    `json:"requestedBy" doc:"who requested it; empty if the controller opened it"`
	Reason       string    `json:"reason" doc:"the given reason"`
	Forced       bool      `json:"forced" doc:"whether the breaker and the budget were skipped"`
	GateBypassed bool      `json:"gateBypassed" doc:"whether the gate was bypassed"`
}

// Refusal says why a rerun request was rejected.
type Refusal struct {
	Why         string `json:"why" doc:"why it was rejected, as a code"`
	RequestedBy string `json:"requestedBy" doc:"who requested it"`
	Reason      string `json:"reason" doc:"the given reason"`
}

// Started describes a started job.
type Started struct {
	JobType  string         `json:"jobType" doc:"the type of the job"`
	Handle   run.Handle     `json:"handle" doc:"the job's id at its target"`
	Snapshot run.SnapshotID `json:"snapshot" doc:"the stored facts on which the gate was open"`
}

// Finished is a job's result.
type Finished struct {
	Category        run.Category `json:"category" doc:"PERMANENT, TRANSIENT, TIMEOUT or empty for unknown"`
	ExitCode        *int         `json:"exitCode" doc:"the exit code; null if there is none"`
	DurationSeconds int64        `json:"durationSeconds" doc:"from start to result"`
	NextAttemptAt   time.Time    `json:"nextAttemptAt,omitzero" doc:"approximate time of the automatic retry; absent if there is none"`
}

// Left describes an attempt that ended without its job's result.
type Left struct {
	JobMayRun bool   `json:"jobMayRun" doc:"whether the job could not be stopped and may still be running"`
	By        string `json:"by" doc:"who cancelled it; empty if the controller ended it"`
	Reason    string `json:"reason" doc:"why"`
}

// Budget is the state of a retry budget.
type Budget struct {
	Cause         run.Cause `json:"cause" doc:"the budget: transient, timeout, unknown or code"`
	Used          int       `json:"used" doc:"attempts used"`
	Max           int       `json:"max" doc:"attempts allowed"`
	NextAttemptAt time.Time `json:"nextAttemptAt,omitzero" doc:"when the gate is evaluated again; absent if there is no next attempt"`
}

// Infra is a failure of the infrastructure.
type Infra struct {
	Held  bool   `json:"held" doc:"whether the run is held until an operator decides"`
	Error string `json:"error" doc:"the error"`
}

// Alarm is a state change of a platform alarm.
type Alarm struct {
	Alarm string `json:"alarm" doc:"the alarm's name"`
	State string `json:"state" doc:"the alarm's new state"`
}

// Deadline is the state of a deadline.
type Deadline struct {
	Deadline    time.Time `json:"deadline" doc:"when the deadline is breached"`
	Warned      bool      `json:"warned" doc:"whether a warning was sent before"`
	Failed      bool      `json:"failed" doc:"whether the run had already failed"`
	LateSeconds int64     `json:"lateSeconds" doc:"how long after the deadline the run completed; 0 if it has not"`
	Reason      string    `json:"reason" doc:"why the deadline was cancelled"`
}

// Missed lists periods that should have been opened.
type Missed struct {
	Dates []string `json:"dates" doc:"the missed periods, oldest first; date is the newest; empty if the file of that time cannot be read"`
}

// Degraded lists what the watchdog could not check.
type Degraded struct {
	Checks    []string `json:"checks" doc:"the checks that failed"`
	Pipelines []string `json:"pipelines" doc:"the pipelines that the checks failed for; empty if they failed as a whole"`
}

// Late describes an input that changed after its run had used it, or arrived after its window.
type Late struct {
	Sensors         []string       `json:"sensors" doc:"the sensors whose data changed, each with its pipeline"`
	Reason          string         `json:"reason" doc:"what follows: rerun; report (only this event); budget spent or window closed (no rerun)"`
	Pipeline        pipeline.ID    `json:"pipeline" doc:"the pipeline of the sensor"`
	Period          period.Period  `json:"period" doc:"the period of the reading; the run's if it is undated"`
	Key             string         `json:"key" doc:"the sensor's key"`
	Was             map[string]any `json:"was" doc:"the fields that changed, as the run used them"`
	Now             map[string]any `json:"now" doc:"the same fields now"`
	SnapshotVersion int64          `json:"snapshotVersion" doc:"the version of the reading that the run used; 0 if there was none"`
	Downstream      []string       `json:"downstream" doc:"the pipelines that wait for this one, directly or not; at most 100"`
}

// Exclusion says why the calendar suppresses a period.
type Exclusion struct {
	Rule string `json:"rule" doc:"the exclusion: weekend, a listed date, a calendar"`
}

// Pause is an operator's pause of a pipeline, or of all.
type Pause struct {
	All     bool      `json:"all,omitempty" doc:"whether all pipelines are paused"`
	By      string    `json:"by" doc:"who paused it"`
	Reason  string    `json:"reason" doc:"why"`
	Until   time.Time `json:"until,omitzero" doc:"when the pause ends automatically; absent if never"`
	HoldSLA bool      `json:"holdSla" doc:"whether deadlines are cancelled during the pause"`
}

// Drift compares a post-run value with its baseline. The values are decimal text, to avoid
// rounding.
type Drift struct {
	Sensor    string `json:"sensor" doc:"the post-run sensor"`
	Field     string `json:"field" doc:"the drift field"`
	Baseline  string `json:"baseline" doc:"its value at completion; empty if missing"`
	Current   string `json:"current" doc:"its value now; empty if missing"`
	Threshold string `json:"threshold" doc:"the largest change that is not drift"`
}

// Sensors are the sensors concerned.
type Sensors struct {
	Sensors []string `json:"sensors" doc:"the affected sensors"`
}

// Config describes a changed configuration file.
type Config struct {
	Kind     string   `json:"kind" doc:"the kind of file: pipeline, archetype, calendar or source"`
	File     string   `json:"file" doc:"the path of the file"`
	Before   string   `json:"before" doc:"the SHA-256 digest of its last accepted contents; empty if none"`
	After    string   `json:"after" doc:"the SHA-256 digest of its new contents, accepted or rejected; empty if it was removed. If equal to before, another file that the pipeline uses has changed"`
	Owner    string   `json:"owner" doc:"the owner of the file on disk; empty if unknown"`
	Commit   string   `json:"commit" doc:"the Git commit that is checked out in its directory; empty if unknown"`
	Version  string   `json:"version" doc:"the active version of the pipeline; empty if none"`
	Problems []string `json:"problems" doc:"the errors and warnings, each with its position"`
}

// Audited is an entry of the audit record.
type Audited struct {
	Actor       string `json:"actor" doc:"the token, certificate or user; server for the server's own actions"`
	Role        string `json:"role" doc:"the actor's role"`
	RequestedBy string `json:"requestedBy" doc:"the person, as named by the client"`
	Remote      string `json:"remote" doc:"the address of the client"`
	Action      string `json:"action" doc:"the operation, such as trigger, pause, login or config"`
	Subject     string `json:"subject" doc:"the subject, such as a run"`
	Reason      string `json:"reason" doc:"the given reason"`
	Outcome     string `json:"outcome" doc:"done, refused or failed"`
}

// Projection is the forecast of a dry run's deadline.
type Projection struct {
	Status              string    `json:"status" doc:"met, breach or past"`
	EstimatedCompletion time.Time `json:"estimatedCompletion" doc:"now plus the expected duration"`
	Deadline            time.Time `json:"deadline" doc:"when the deadline is breached"`
	MarginSeconds       int64     `json:"marginSeconds" doc:"deadline minus estimated completion; negative if late"`
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
