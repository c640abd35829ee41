package pipeline

import (
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/rule"
)

// File is a pipeline file as written. Its tags drive both strict decoding and the JSON Schema.
type File struct {
	Pipeline   Identity           `yaml:"pipeline" required:"true" doc:"The pipeline's identity."`
	Schedule   ScheduleSection    `yaml:"schedule" doc:"When runs open and what they wait for."`
	SLA        *SLASection        `yaml:"sla" doc:"When a period must be completed."`
	Validation *ValidationSection `yaml:"validation" doc:"The rules that must pass before the job may start."`
	Job        *JobSection        `yaml:"job" doc:"The job to start. Without it, Interlock evaluates the gate and watches, but starts nothing."`
	PostRun    *PostRunSection    `yaml:"postRun" doc:"What to watch after the job has completed."`
	DryRun     bool               `yaml:"dryRun" default:"false" doc:"Make all decisions, but start nothing. Needs schedule.trigger and job.type."`
	Exclusions *Exclusion         `yaml:"exclusions" doc:"The same as schedule.exclude; both are merged."`
	Archetype  string             `yaml:"archetype" doc:"The name of an archetype whose probes and rules are added."`
	With       map[string]any     `yaml:"with" doc:"The archetype's parameters."`
	Probes     []ProbeSection     `yaml:"probes" doc:"Programs, HTTP calls and built-in checks whose answers become sensors."`
	Traits     traitMap           `yaml:"traits" doc:"The older form of probes and rules: traits by type, each with its evaluator."`
	Watch      WatchSection       `yaml:"watch" doc:"The older form of evaluation.interval and postRun.evaluation.window."`
}

// Identity describes the pipeline.
type Identity struct {
	ID          ID                `yaml:"id" required:"true" pattern:"^[a-z0-9]([a-z0-9._-]{0,126}[a-z0-9])?$" hint:"use 1 to 128 lower-case letters, digits, dots, dashes and underscores, beginning and ending with a letter or digit" doc:"Its unique name."`
	Owner       string            `yaml:"owner" required:"true" pattern:"\\S" hint:"name a team or a person" doc:"The team or person who is responsible."`
	Description string            `yaml:"description" doc:"A description for people."`
	Tags        map[string]string `yaml:"tags" doc:"Labels for grouping and alert routing."`
}

// ScheduleSection defines when runs open.
type ScheduleSection struct {
	Cron       *cronText         `yaml:"cron" doc:"Five-field cron expression (or @daily etc.) in the schedule's zone. L is the last day of the month, 5#3 the third Friday."`
	Timezone   *zoneName         `yaml:"timezone" doc:"IANA zone of cron, periods, deadlines and calendars; default UTC."`
	Period     string            `yaml:"period" enum:"quarter,month,week,day,hour,minute" doc:"The slice of data of one run. Default: derived from cron. week (ISO, 2026-W10), month (2026-03) and quarter (2026-Q1) must be set explicitly."`
	Offset     int               `yaml:"offset" default:"0" min:"-100000" max:"0" doc:"Periods back: with -1, the fire at 11:05 is for the hour 10."`
	Time       *clockText        `yaml:"time" doc:"Earliest start of a period, HH:MM. A period without a run is reported as missed from then on."`
	Trigger    *TriggerSection   `yaml:"trigger" doc:"The start condition: the sensor check that opens a run."`
	Evaluation EvaluationSection `yaml:"evaluation" doc:"How long and how often the gate is evaluated."`
	Include    *IncludeSection   `yaml:"include" doc:"The only days on which it runs. Not with cron."`
	Exclude    *Exclusion        `yaml:"exclude" doc:"Days on which it does not run."`
	After      *upstreams        `yaml:"after" doc:"Upstream pipelines that must be COMPLETED for the same period: ids, or {pipeline, atLeast} if only some of an upstream's smaller periods are needed."`
	MaxActive  int               `yaml:"maxActive" default:"0" min:"0" doc:"Maximum number of jobs of this pipeline at once; 0 is no limit."`
	CatchUp    string            `yaml:"catchUp" enum:"all,latest" default:"all" doc:"Which fires missed during a downtime are opened while their window is still open."`
}

// TriggerSection is the start condition.
type TriggerSection struct {
	Key      string     `yaml:"key" required:"true" doc:"The sensor's key."`
	Check    rule.Check `yaml:"check" required:"true" enum:"exists,equals,not_equals,in,gt,gte,lt,lte,age_lt,age_gt,matches" doc:"The comparison."`
	Field    string     `yaml:"field" doc:"The field to compare, as a dotted path."`
	Value    any        `yaml:"value" doc:"The value to compare with."`
	From     string     `yaml:"from" doc:"Another pipeline whose sensor is read."`
	Deadline *clockText `yaml:"deadline" doc:"HH:MM or :MM at which the automatic window closes."`
}

// rule returns the start condition as a rule.
func (t *TriggerSection) rule() rule.Rule {
	return rule.Rule{Key: t.Key, Check: t.Check, Field: t.Field, Value: t.Value, From: t.From}
}

// EvaluationSection defines how long and how often the gate is evaluated.
type EvaluationSection struct {
	Window   document.Duration `yaml:"window" default:"1h" min:"1s" doc:"How long a run waits for its gate."`
	Interval document.Duration `yaml:"interval" default:"5m" min:"1s" doc:"How often the gate is evaluated while the run waits."`
}

// IncludeSection lists the only days a pipeline runs.
type IncludeSection struct {
	Dates []date `yaml:"dates" required:"true" minItems:"1" doc:"Dates, YYYY-MM-DD."`
}

// Exclusion lists days a pipeline does not run.
type Exclusion struct {
	Weekends bool      `yaml:"weekends" doc:"Saturdays and Sundays."`
	Days     []weekday `yaml:"days" doc:"Weekdays by name."`
	Dates    []date    `yaml:"dates" doc:"Dates, YYYY-MM-DD."`
	Calendar string    `yaml:"calendar" doc:"The name of a calendar file."`
	Holidays string    `yaml:"holidays" doc:"The same as calendar."`
}

// SLASection defines by when a period must be done.
type SLASection struct {
	Deadline         *clockText         `yaml:"deadline" doc:"HH:MM, or :MM for hourly periods. The deadline of a week, month or quarter is on the day after it ends, plus dayOffset."`
	ExpectedDuration *document.Duration `yaml:"expectedDuration" min:"0s" doc:"How long the job usually takes; the warning is sent this long before the deadline."`
	MaxDuration      *document.Duration `yaml:"maxDuration" above:"0s" max:"24h" doc:"Maximum time from the first reading of the start condition to completion."`
	Timezone         *zoneName          `yaml:"timezone" doc:"IANA zone of the deadline; default the schedule's."`
	DayOffset        int                `yaml:"dayOffset" default:"0" min:"0" max:"366" doc:"Days added to the deadline of a day, week, month or quarter."`
	Critical         bool               `yaml:"critical" default:"false" doc:"Raises the severity of SLA alerts."`
}

// ValidationSection is the gate.
type ValidationSection struct {
	Trigger     rule.Mode   `yaml:"trigger" enum:"ALL,ANY" fold:"true" default:"ALL" doc:"ALL: all rules must pass. ANY: one must pass."`
	Rules       []rule.Rule `yaml:"rules" required:"true" unless:"lateData" minItems:"1" doc:"The rules. Without them, lateData must be set."`
	PreferUntil *preferText `yaml:"preferUntil" doc:"Until when rules with level: preferred close the gate: HH:MM, :MM, or a duration from the opening of the run."`
	LateData    LateData    `yaml:"lateData" enum:"report,rerun,ignore" doc:"What follows if an input changes after its run has used it: an event (report), an event and a rerun within job.maxDriftReruns (rerun), or nothing (ignore). Default: rerun for the key of schedule.trigger, report for all others."`
}

// JobSection is the job and its budgets.
type JobSection struct {
	Type                 string            `yaml:"type" required:"true" enum:"command,http,airflow,databricks,glue,emr,emr-serverless,step-function,lambda,external" doc:"The kind of job."`
	Config               document.Node     `yaml:"config" doc:"The settings of the job type; see docs/JOBS.md."`
	MaxRetries           int               `yaml:"maxRetries" default:"0" min:"0" max:"10" doc:"Retries after transient, timed-out or unclassified failures."`
	MaxCodeRetries       int               `yaml:"maxCodeRetries" default:"1" min:"0" max:"3" doc:"Retries after PERMANENT failures."`
	MaxDriftReruns       int               `yaml:"maxDriftReruns" default:"1" min:"0" max:"5" doc:"Reruns for drift, late data and upstream reruns, counted together."`
	MaxManualReruns      int               `yaml:"maxManualReruns" default:"1" min:"0" max:"5" doc:"Manual reruns."`
	RetryBackoff         document.Duration `yaml:"retryBackoff" default:"30s" min:"0s" doc:"Wait before the first retry. It doubles with each retry, up to 15m."`
	JobPollWindowSeconds int               `yaml:"jobPollWindowSeconds" default:"3600" min:"0" max:"86400" doc:"How long a started job is polled, 60 to 86400 seconds; 0 means the default, 3600."`
	PollInterval         document.Duration `yaml:"pollInterval" default:"30s" min:"1s" doc:"How often the job is polled."`
	LearnPolls           *bool             `yaml:"learnPolls" doc:"Leave out polls that come before the job usually ends, judged by earlier runs. Default: true on AWS, false elsewhere."`
	Classify             []ClassifySection `yaml:"classify" doc:"Your own failure classes; the first match applies."`
}

// ClassifySection is one of the user's failure classes.
type ClassifySection struct {
	Match    string `yaml:"match" doc:"Regular expression (RE2) on the failure's message or output."`
	ExitCode *int   `yaml:"exitCode" doc:"Exit code of a command."`
	Category string `yaml:"category" required:"true" enum:"PERMANENT,TRANSIENT,TIMEOUT" doc:"The failure category."`
}

// PostRunSection is what is watched after completion.
type PostRunSection struct {
	Rules          []rule.Rule           `yaml:"rules" required:"true" minItems:"1" doc:"Rules, all of which must pass."`
	DriftThreshold float64               `yaml:"driftThreshold" default:"0" min:"0" doc:"A change larger than this is drift and causes a rerun."`
	DriftField     string                `yaml:"driftField" doc:"The field to compare with the baseline. Default: the rule's field, else count."`
	SensorTimeout  document.Duration     `yaml:"sensorTimeout" default:"2h" above:"0s" doc:"How long to wait for a post-run reading before it is reported as missing."`
	Evaluation     PostEvaluationSection `yaml:"evaluation" doc:"How long and how often the rules are evaluated."`
}

// PostEvaluationSection defines how long and how often post-run rules are evaluated.
type PostEvaluationSection struct {
	Window   *document.Duration `yaml:"window" above:"0s" doc:"How long after completion readings are evaluated; default 24h."`
	Interval *document.Duration `yaml:"interval" min:"1s" doc:"How often the rules are also evaluated; without it, only when a reading arrives."`
}

// ProbeSection is one evaluator.
type ProbeSection struct {
	Key      string               `yaml:"key" required:"true" doc:"The sensor key that its answers are written to."`
	Command  *document.TextOrList `yaml:"command" doc:"The program to run, as a list of words or one text."`
	URL      string               `yaml:"url" doc:"An HTTP endpoint, called with POST."`
	Builtin  Builtin              `yaml:"builtin" enum:"file-freshness,http-status,sql" doc:"A built-in check. Its settings are in config."`
	Headers  map[string]string    `yaml:"headers" doc:"Headers of the HTTP call."`
	Env      map[string]string    `yaml:"env" doc:"Environment of the subprocess."`
	Config   map[string]any       `yaml:"config" doc:"Passed to the probe unchanged."`
	Interval *seconds             `yaml:"interval" doc:"How often it runs. Without it, the probe runs when its answer has expired and a gate needs it."`
	TTL      *seconds             `yaml:"ttl" doc:"How long its answer is valid."`
	Timeout  *seconds             `yaml:"timeout" doc:"How long it may run before it is killed; default 30s."`
}

// WatchSection is the older form of two intervals.
type WatchSection struct {
	Interval   *seconds          `yaml:"interval" doc:"The same as schedule.evaluation.interval."`
	Monitoring MonitoringSection `yaml:"monitoring" doc:"Watching after completion."`
}

// MonitoringSection is the older form of postRun.evaluation.window.
type MonitoringSection struct {
	Duration *seconds `yaml:"duration" doc:"The same as postRun.evaluation.window."`
}
