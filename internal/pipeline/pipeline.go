// Package pipeline defines a pipeline: its YAML file, the allowed contents, and the compiled form
// that everything else uses. Load takes the files' contents and returns compiled Definitions and
// every problem at its position; nothing here reads a disk, a clock or the network (package files
// reads directories).
//
// A file passes through three steps: package document decodes it strictly into File (file.go); a
// builder turns that, section by section, into a Definition (builder.go, build_*.go), resolves
// calendars (calendar.go), archetypes and the older traits (archetype.go, trait.go), and reports at
// their paths the problems that no single value shows; graph.go checks all files together.
package pipeline

import (
	"cmp"
	"crypto/sha256"
	"iter"
	"regexp"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/schedule"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/sla"
)

// ID is the name of a pipeline in its file, the store and the API.
type ID string

// idPattern is the pattern of an ID.
const idPattern = `^[a-z0-9]([a-z0-9._-]{0,126}[a-z0-9])?$`

var idExpr = regexp.MustCompile(idPattern)

// Valid reports whether id is a legal pipeline id.
func (id ID) Valid() bool { return idExpr.MatchString(string(id)) }

// ScheduleID is what opens a pipeline's runs. It is part of a run's identity, so that a pipeline
// whose file changes from cron to a start condition does not mistake old runs for its own.
type ScheduleID string

// The schedule ids.
const (
	ByCron   ScheduleID = "cron"   // cron fires, and include dates without a start condition
	ByStream ScheduleID = "stream" // a start condition or an upstream
	ByHand   ScheduleID = "manual" // none of these: only an operator opens them
)

// Valid reports whether s is one of the three.
func (s ScheduleID) Valid() bool { return s == ByCron || s == ByStream || s == ByHand }

// ScheduleIDs lists the three.
func ScheduleIDs() []string { return []string{string(ByCron), string(ByStream), string(ByHand)} }

// Definition is a pipeline, resolved and compiled. It is immutable; holders share it freely.
type Definition struct {
	ID          ID
	Owner       string
	Description string
	Tags        map[string]string
	File        string             // where it was read from
	FileSum     [sha256.Size]byte  // of that file
	Warnings    []document.Problem // warnings about this file alone

	// Calendars and Archetypes are the files it refers to: with its own file, all that is needed to
	// read it again.
	Calendars  []Source
	Archetypes []Source

	Opens     ScheduleID
	Schedule  *schedule.Schedule
	Start     *Start     // the start condition; nil without
	After     []ID       // upstream pipelines
	AtLeast   map[ID]int // how many runs of an upstream are enough, if not all
	Prefer    *Prefer    // until when preferred rules close the gate; nil without
	LateData  LateData   // "" if the file does not set it: see AfterLate
	Window    time.Duration
	Interval  time.Duration
	MaxActive int
	CatchUp   CatchUp

	SLA sla.Spec

	Gate    *rule.Gate // everything that must hold: start condition (under cron), upstreams, rules
	Facts   *rule.Gate // the gate without the upstreams: depends on sensors only
	Job     *Job       // nil: Interlock only gates and watches
	PostRun *PostRun   // nil without
	DryRun  bool
	Probes  []Probe
}

// Reads goes through the sensors that the rules of d read, each with its pipeline: those of its
// gate, its start condition and its post-run rules. One may come several times.
func (d *Definition) Reads() iter.Seq2[ID, sensor.Key] {
	gates := [3]*rule.Gate{d.Gate}
	if d.Start != nil {
		gates[1] = d.Start.Gate
	}
	if d.PostRun != nil {
		gates[2] = d.PostRun.Gate
	}
	return func(yield func(ID, sensor.Key) bool) {
		for _, g := range gates {
			if g == nil {
				continue
			}
			for _, ref := range g.Refs() {
				if !yield(cmp.Or(ID(ref.From), d.ID), ref.Key) {
					return
				}
			}
		}
	}
}

// Prefer is until when preferred rules close the gate: a time of day or of the hour, or a duration.
type Prefer struct {
	Clock *schedule.Clock
	For   time.Duration // from the opening; without a Clock
}

// PreferUntil returns when the preferred rules of d stop closing the gate of a run for p whose
// window began at opened; zero means the earliest time at which p can open. A time of day is
// resolved like the start condition's deadline.
func (d *Definition) PreferUntil(p period.Period, opened time.Time) time.Time {
	if opened.IsZero() {
		opened = d.Schedule.OpensFrom(p)
	}
	switch {
	case d.Prefer == nil:
		return opened
	case d.Prefer.Clock != nil:
		return sla.Close(*d.Prefer.Clock, p, d.Schedule)
	}
	return opened.Add(d.Prefer.For)
}

// LateData is what follows if an input changes after a run has used it.
type LateData string

// An event, an event and another attempt, or nothing.
const (
	LateReport LateData = "report"
	LateRerun  LateData = "rerun"
	LateIgnore LateData = "ignore"
)

// AfterLate returns what follows a change of an input; start is whether it is the sensor of the
// start condition.
func (d *Definition) AfterLate(start bool) LateData {
	switch {
	case d.LateData != "":
		return d.LateData
	case start:
		return LateRerun
	default:
		return LateReport
	}
}

// CatchUp determines which fires missed during downtime are still opened.
type CatchUp string

// All whose window is open, or the latest of them.
const (
	CatchUpAll    CatchUp = "all"
	CatchUpLatest CatchUp = "latest"
)

// Start is a compiled start condition.
type Start struct {
	Rule     rule.Rule
	Gate     *rule.Gate
	Deadline *schedule.Clock // closes the automatic window; nil without
}

// MetBy reports whether a reading alone meets the start condition for p.
func (s *Start) MetBy(r *sensor.Reading, p period.Period, now time.Time) bool {
	return s.Gate.Decide(rule.Snapshot{{Reading: r, For: p}}, now) == rule.Pass
}

// StartSensor returns the sensor of the start condition, which must not be nil.
func (d *Definition) StartSensor() (ID, sensor.Key) {
	return cmp.Or(ID(d.Start.Rule.From), d.ID), sensor.Key(d.Start.Rule.Key)
}

// StartCloses returns when the deadline of the start condition closes the automatic window of p;
// zero without one.
func (d *Definition) StartCloses(p period.Period) time.Time {
	if d.Start == nil || d.Start.Deadline == nil {
		return time.Time{}
	}
	return sla.Close(*d.Start.Deadline, p, d.Schedule)
}

// PeriodOf returns the period that a reading is for as a start condition: its own, or the one in
// which it was written.
func (d *Definition) PeriodOf(r *sensor.Reading) period.Period {
	if !r.Period.IsZero() {
		return r.Period
	}
	return d.Schedule.PeriodAt(r.UpdatedAt)
}

// Job is the job to start, and its budgets.
type Job struct {
	Type            string
	Config          JobConfig     // as in the file, with variables not yet filled in
	Raw             document.Node // the same before decoding: a start fills variables and secrets into this
	MaxRetries      int
	MaxCodeRetries  int
	MaxDriftReruns  int
	MaxManualReruns int
	RetryBackoff    time.Duration
	PollWindow      time.Duration
	PollInterval    time.Duration
	LearnPolls      *bool // nil: as the platform does
	Classes         []Class
}

// Class is one of the user's failure classes. It matches a failure if every given condition does.
type Class struct {
	Match    *regexp.Regexp // nil: any message
	ExitCode *int           // nil: any code
	Category string
}

// PostRun is what is watched after completion.
type PostRun struct {
	Rules          []rule.Rule
	Gate           *rule.Gate
	DriftThreshold float64
	DriftField     string // "" means each rule's own field, or else "count"
	SensorTimeout  time.Duration
	Window         time.Duration
	Interval       time.Duration // 0: only when a reading arrives
}

// Probe returns the probe that writes a sensor of d, or nil.
func (d *Definition) Probe(key sensor.Key) *Probe {
	for i := range d.Probes {
		if d.Probes[i].Key == string(key) {
			return &d.Probes[i]
		}
	}
	return nil
}

// Probe is an evaluator whose answers become readings of Key.
type Probe struct {
	Key      string
	Command  []string // a subprocess …
	URL      string   // … or an HTTP call …
	Builtin  Builtin  // … or a built-in
	Headers  map[string]string
	Env      map[string]string
	Config   map[string]any
	Interval time.Duration // 0: when its value has expired and a gate needs it
	TTL      time.Duration
	Timeout  time.Duration
}

// JobConfig is the decoded job.config of one job type. Package document checks its tags while
// decoding; Check adds what tags cannot express.
type JobConfig interface {
	Check() []document.Finding
}

// JobKind is a job type as named in pipeline files. They live beside their adapters;
// internal/job/all lists them.
type JobKind struct {
	Name      string
	NewConfig func() JobConfig
}

// awsLimited is a job config with its own limits on AWS.
type awsLimited interface {
	AWSFindings() []document.Finding
}

// FireWindowEnd returns when the window of the fire for p ends: a fire that has opened no run by
// then is missed.
func (d *Definition) FireWindowEnd(p period.Period, fire time.Time) time.Time {
	from := fire
	if d.Schedule.HasTime() {
		if at := d.Schedule.EarliestStart(p); at.After(from) {
			from = at
		}
	}
	return from.Add(d.Window)
}
