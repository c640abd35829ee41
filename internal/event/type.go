package event

import (
	"cmp"
	"strings"
)

// Type is the type of an event: "detail-type" in its envelope.
type Type string

// The life of an attempt.
const (
	ValidationPassed    Type = "VALIDATION_PASSED"
	ValidationExhausted Type = "VALIDATION_EXHAUSTED"
	TriggerStarted      Type = "TRIGGER_STARTED"
	JobTriggered        Type = "JOB_TRIGGERED"
	JobCompleted        Type = "JOB_COMPLETED"
	JobFailed           Type = "JOB_FAILED"
	JobTimeout          Type = "JOB_TIMEOUT"
	JobPollExhausted    Type = "JOB_POLL_EXHAUSTED"
	RetryScheduled      Type = "RETRY_SCHEDULED"
	RetryExhausted      Type = "RETRY_EXHAUSTED"
	RunCancelled        Type = "RUN_CANCELLED"
	InfraFailure        Type = "INFRA_FAILURE"
	InfraAlarm          Type = "INFRA_ALARM"
	SFNTimeout          Type = "SFN_TIMEOUT"
)

// Deadlines.
const (
	SLAWarning         Type = "SLA_WARNING"
	SLABreach          Type = "SLA_BREACH"
	SLAMet             Type = "SLA_MET"
	SLACancelled       Type = "SLA_CANCELLED"
	RelativeSLAWarning Type = "RELATIVE_SLA_WARNING"
	RelativeSLABreach  Type = "RELATIVE_SLA_BREACH"
)

// Missing runs and data.
const (
	ScheduleMissed          Type = "SCHEDULE_MISSED"
	IrregularScheduleMissed Type = "IRREGULAR_SCHEDULE_MISSED"
	SensorDeadlineExpired   Type = "SENSOR_DEADLINE_EXPIRED"
	TriggerRecovered        Type = "TRIGGER_RECOVERED"
	WatchdogDegraded        Type = "WATCHDOG_DEGRADED"
)

// Around and after the run.
const (
	LateDataArrival         Type = "LATE_DATA_ARRIVAL"
	RerunAccepted           Type = "RERUN_ACCEPTED"
	RerunRejected           Type = "RERUN_REJECTED"
	PipelineExcluded        Type = "PIPELINE_EXCLUDED"
	PipelinePaused          Type = "PIPELINE_PAUSED"
	PipelineResumed         Type = "PIPELINE_RESUMED"
	PostRunPassed           Type = "POST_RUN_PASSED"
	PostRunFailed           Type = "POST_RUN_FAILED"
	PostRunDrift            Type = "POST_RUN_DRIFT"
	PostRunDriftInflight    Type = "POST_RUN_DRIFT_INFLIGHT"
	PostRunBaselineCaptured Type = "POST_RUN_BASELINE_CAPTURED"
	BaselineCaptureFailed   Type = "BASELINE_CAPTURE_FAILED"
	PostRunSensorMissing    Type = "POST_RUN_SENSOR_MISSING"
)

// Files and readings.
const (
	ConfigAccepted Type = "CONFIG_ACCEPTED"
	ConfigRejected Type = "CONFIG_REJECTED"
	ConfigRemoved  Type = "CONFIG_REMOVED"
	SensorRejected Type = "SENSOR_REJECTED"
)

// The audit record.
const (
	Audit Type = "AUDIT"
)

// Dry runs.
const (
	DryRunWouldTrigger  Type = "DRY_RUN_WOULD_TRIGGER"
	DryRunLateData      Type = "DRY_RUN_LATE_DATA"
	DryRunSLAProjection Type = "DRY_RUN_SLA_PROJECTION"
	DryRunDrift         Type = "DRY_RUN_DRIFT"
	DryRunCompleted     Type = "DRY_RUN_COMPLETED"
)

type Severity string

// The severities. Without routes, warning and above become alerts.
const (
	Info     Severity = "info"
	Warning  Severity = "warning"
	Critical Severity = "critical"
)

// Scope is the kind of subject of an event, narrowest first. It decides which fields are part of
// the id.
type Scope uint8

// The scopes.
const (
	PerAttempt Scope = iota + 1
	PerRun
	PerPipeline
	PerPlatform
)

var scopes = map[Scope]string{PerAttempt: "attempt", PerRun: "run", PerPipeline: "pipeline", PerPlatform: "platform"}

func (s Scope) String() string { return cmp.Or(scopes[s], "unknown") }

// Entry describes an event type.
type Entry struct {
	Type     Type
	Severity Severity
	Raised   Severity // instead, for a pipeline with sla.critical; "" if that makes no difference
	Scope    Scope
	When     string // when it is published
	Remedy   string // what to do about it, with placeholders (see Event.Remedy); "" if nothing
	Extra    Extra  // the kind of its extra detail, as a zero value; nil if it has none
}

// Entry returns t's entry in the catalogue, or a warning for an unknown type.
func (t Type) Entry() Entry {
	if entry, ok := catalogue[t]; ok {
		return entry
	}
	return Entry{Type: t, Severity: Warning, Scope: PerAttempt, When: "unknown event type"}
}

// ParseType returns the type with that name, in upper or lower case; false if there is none.
func ParseType(name string) (Type, bool) {
	t := Type(strings.ToUpper(strings.TrimSpace(name)))
	return t, t.Known()
}

// Known reports whether t is in the catalogue.
func (t Type) Known() bool {
	_, known := catalogue[t]
	return known
}

// Types returns the names of all types, in the order of the catalogue.
func Types() []string {
	var names []string
	for _, g := range Catalogue() {
		for _, entry := range g.Entries {
			names = append(names, string(entry.Type))
		}
	}
	return names
}

// Group is a section of the catalogue.
type Group struct {
	Title   string
	Entries []Entry
}

// Catalogue returns all types in groups.
func Catalogue() []Group {
	return append([]Group(nil), groups...)
}

var catalogue = func() map[Type]Entry {
	all := map[Type]Entry{}
	for _, g := range groups {
		for _, entry := range g.Entries {
			all[entry.Type] = entry
		}
	}
	return all
}()
