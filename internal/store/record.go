package store

import (
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/sla"
)

// Pipeline is a pipeline's own row: what is known of it beside its file. It is swapped by version.
type Pipeline struct {
	ID      pipeline.ID `json:"id"`
	Version int64       `json:"version"`

	Config     string    `json:"config,omitempty"` // the version in force; empty once removed
	Horizon    time.Time `json:"horizon"`          // its first acceptance: nothing before it is ever opened or missed
	AcceptedAt time.Time `json:"acceptedAt"`       // of the version in force
	RemovedAt  time.Time `json:"removedAt,omitzero"`
	Problem    string    `json:"problem,omitempty"` // why its newest file is not in force, a line each: it is degraded

	Pause Pause `json:"pause,omitzero"` // the pipeline's own
	// PauseAll is a copy of the pause of all pipelines, whose own place is the row of AllPipelines. Each pipeline has it in its
	// row, so that whatever depends on the row's version depends on both pauses.
	PauseAll Pause `json:"pauseAll,omitzero"`
	// PausedFrom is the instant since which pauses have held back writes and completions. They are replayed, and it is cleared,
	// once the pipeline is no longer paused.
	PausedFrom time.Time       `json:"pausedFrom,omitzero"`
	Slots      []run.AttemptID `json:"slots,omitempty"` // the open jobs, where maxActive limits them

	// FiredThrough is the instant up to which fires have been dealt with: opened, excluded, or told as missed.
	FiredThrough time.Time `json:"firedThrough,omitzero"`
	// ArmedThrough is the last period whose deadline has been dealt with ahead.
	ArmedThrough period.Period `json:"armedThrough,omitzero"`
}

// Problems lists why the pipeline's newest file is not in force; nil if it is.
func (p Pipeline) Problems() []string {
	if p.Problem == "" {
		return nil
	}
	return strings.Split(p.Problem, "\n")
}

// Config is one accepted version of a pipeline's file, with the calendars and archetypes it was read with, so that an
// attempt can be carried through on the version it opened with.
type Config struct {
	Pipeline   pipeline.ID       `json:"pipeline"`
	Version    string            `json:"version"` // a hash of all that follows
	At         time.Time         `json:"at"`
	File       pipeline.Source   `json:"file"`
	Calendars  []pipeline.Source `json:"calendars,omitempty"`
	Archetypes []pipeline.Source `json:"archetypes,omitempty"`
}

// WithoutTexts is c as Configs lists it: the files have their names, and no contents.
func (c Config) WithoutTexts() Config {
	names := func(sources []pipeline.Source) []pipeline.Source {
		var out []pipeline.Source
		for _, s := range sources {
			out = append(out, pipeline.Source{File: s.File})
		}
		return out
	}
	c.File.Data = nil
	c.Calendars, c.Archetypes = names(c.Calendars), names(c.Archetypes)
	return c
}

// Deadline is one row of the ledger, swapped by version.
type Deadline struct {
	Key      run.Key      `json:"key"`
	Kind     DeadlineKind `json:"kind"`
	Version  int64        `json:"version"`
	Config   string       `json:"config"` // the version it was armed by
	Critical bool         `json:"critical,omitempty"`
	ArmedAt  time.Time    `json:"armedAt"`
	ClosedAt time.Time    `json:"closedAt,omitzero"`
	// DoneAt is when the run completed, also where that was after the breach.
	DoneAt time.Time `json:"doneAt,omitzero"`
	sla.Deadline
}

// DeadlineKind tells the two deadlines of a run apart.
type DeadlineKind string

// Absolute deadlines are instants of the clock, relative ones count from the first reading of the start condition.
const (
	Absolute DeadlineKind = "absolute"
	Relative DeadlineKind = "relative"
)

// JobEntry is one thing that happened to a run's job. It is appended, and never changed.
type JobEntry struct {
	Key      run.Key      `json:"key"`
	Attempt  int          `json:"attempt"`
	At       time.Time    `json:"at"`
	Event    JobEvent     `json:"event"`
	Try      int          `json:"try,omitempty"` // of a start
	Handle   run.Handle   `json:"handle,omitempty"`
	Category run.Category `json:"category,omitempty"`
	Message  string       `json:"message,omitempty"`
	Output   string       `json:"output,omitempty"` // the end of what it printed
	By       string       `json:"by,omitempty"`     // who reported it, where that was not the controller
}

// JobEvent is what happened to a job.
type JobEvent string

// What happens to jobs. Success, fail and timeout are results; a late one changed nothing any more.
const (
	JobStarted  JobEvent = "started"
	JobRefused  JobEvent = "refused"
	JobHeld     JobEvent = "held"
	JobSuccess  JobEvent = "success"
	JobFail     JobEvent = "fail"
	JobTimeout  JobEvent = "timeout"
	JobStopping JobEvent = "stopping" // asked to stop
	JobStopped  JobEvent = "stopped"
	JobLate     JobEvent = "late"
)

// Snapshot is what a start was decided on, or the end of an attempt. Its id is that of the attempt and the try, or of the
// attempt's end (run.EndSnapshot), which is stored without leaves and without the data of readings.
type Snapshot struct {
	ID       run.SnapshotID `json:"id"`
	Key      run.Key        `json:"key"`
	Attempt  int            `json:"attempt"`
	At       time.Time      `json:"at"`
	Config   string         `json:"config"`
	Outcome  rule.Outcome   `json:"outcome"`
	Bypassed bool           `json:"bypassed,omitempty"`
	Leaves   []SeenLeaf     `json:"leaves"`
	Sensors  []SeenSensor   `json:"sensors"`
	PostRun  []SeenSensor   `json:"postRun,omitempty"` // the sensors of the post-run rules
	Read     []ReadVersion  `json:"read,omitempty"`    // all that was read, shown or not; of an end only
	// PreferUntil is when the preferred rules cease to close the gate; zero without such rules.
	PreferUntil time.Time `json:"preferUntil,omitzero"`
	// Degraded names the preferred rules that did not pass and without which the gate was open.
	Degraded []string `json:"degraded,omitempty"`
}

// ReadVersion is a reading that a decision has read.
type ReadVersion struct {
	Pipeline pipeline.ID   `json:"pipeline"`
	Key      sensor.Key    `json:"key"`
	Period   period.Period `json:"date"`
	Version  int64         `json:"version"`
}

// HasRead says whether what s is stored for was decided on that reading, or on a later one of the same row.
func (s Snapshot) HasRead(r ReadVersion) bool {
	return slices.ContainsFunc(s.Read, func(then ReadVersion) bool {
		return then.Version >= r.Version && then.Pipeline == r.Pipeline && then.Key == r.Key && then.Period == r.Period
	})
}

// Missed says whether what s is stored for has looked at the sensor, and not read that reading: it was written later.
func (s Snapshot) Missed(r ReadVersion) bool {
	looked := func(seen SeenSensor) bool { return seen.Pipeline == r.Pipeline && seen.Key == r.Key }
	return (slices.ContainsFunc(s.Sensors, looked) || slices.ContainsFunc(s.PostRun, looked)) && !s.HasRead(r)
}

// SeenLeaf is the report on one rule at that moment.
type SeenLeaf struct {
	Key      string     `json:"key"`
	From     string     `json:"from,omitempty"`
	Check    rule.Check `json:"check"`
	Field    string     `json:"field,omitempty"`
	Needs    any        `json:"needs,omitempty"`
	Over     bool       `json:"over,omitempty"` // it was evaluated for several slices
	Time     string     `json:"time,omitempty"` // settled and over in words
	Advisory bool       `json:"advisory,omitempty"`
	// Preferred says that the rule closes the gate only until Snapshot.PreferUntil.
	Preferred bool         `json:"preferred,omitempty"`
	Group     string       `json:"group,omitempty"`
	Negated   bool         `json:"negated,omitempty"` // it stands under a "not"
	Outcome   rule.Outcome `json:"outcome"`           // of the rule itself
	Value     any          `json:"value"`
	Reason    string       `json:"reason"`
}

// SeenSensor is one sensor of the gate or the start condition as it was seen.
type SeenSensor struct {
	Pipeline  pipeline.ID   `json:"pipeline"`
	Key       sensor.Key    `json:"key"`
	Start     bool          `json:"start,omitempty"`
	Period    period.Period `json:"date"`
	Version   int64         `json:"version"` // 0 where there was no reading
	UpdatedAt time.Time     `json:"updatedAt,omitzero"`
	ExpiresAt time.Time     `json:"expiresAt,omitzero"`
	ChangedAt time.Time     `json:"changedAt,omitzero"` // since when the data was as it is; zero: since UpdatedAt
	Content   string        `json:"content,omitempty"`  // a hash of the data
	Fields    sensor.Fields `json:"fields,omitempty"`
	Slices    []SeenSlice   `json:"slices,omitempty"` // of a rule over several slices: each of them, in order
}

// SeenSlice is what one slice showed to a rule over several. Of its data it has the fields that the rule reads.
type SeenSlice struct {
	Date      period.Period `json:"date"`
	Of        period.Period `json:"of,omitzero"`      // the period of the reading, if that is a longer one
	Version   int64         `json:"version,omitzero"` // 0 where there was no reading
	UpdatedAt time.Time     `json:"updatedAt,omitzero"`
	ChangedAt time.Time     `json:"changedAt,omitzero"`
	ExpiresAt time.Time     `json:"expiresAt,omitzero"`
	Fields    sensor.Fields `json:"fields,omitempty"`
}

// PostRun is what is remembered of a completed run for what comes after it. It is swapped by version.
type PostRun struct {
	Key         run.Key                  `json:"key"`
	Version     int64                    `json:"version"`
	Attempt     int                      `json:"attempt"`
	CompletedAt time.Time                `json:"completedAt"`
	Baseline    map[string]sensor.Fields `json:"baseline"`          // by rule key
	Outcome     string                   `json:"outcome,omitempty"` // of the post-run rules, as it was last told
}

// Rerun is a request for another attempt and its answer.
type Rerun struct {
	ID         string    `json:"id"`
	Key        run.Key   `json:"key"`
	Reason     string    `json:"reason"`
	By         string    `json:"by"`
	Force      bool      `json:"force,omitempty"`
	BypassGate bool      `json:"bypassGate,omitempty"`
	At         time.Time `json:"at"`
	Accepted   bool      `json:"accepted"`
	Why        string    `json:"why"`
	Attempt    int       `json:"attempt,omitempty"` // that was opened
}

// DeadLetter is an event that a sink would not take.
type DeadLetter struct {
	Sink   string      `json:"sink"`
	Event  event.Event `json:"event"`
	Reason string      `json:"reason"`
	Tries  int         `json:"tries"`
	At     time.Time   `json:"at"`
	Count  int         `json:"count,omitempty"` // how many events the alert stood for, where that was more than one
	Since  time.Time   `json:"since,omitzero"`  // the instant of the first of them
}

// Note is what one part of the controller keeps for itself under a name, in a form of its own. It is swapped by version,
// so that of several who change it at once one is the first.
type Note struct {
	Kind    NoteKind `json:"kind"`
	Key     string   `json:"key"`
	Version int64    `json:"version"`
	Data    []byte   `json:"data"`
	// Until is when it may be forgotten, by Trim or by the store itself; whether it is still there then is open. Without
	// it the note stays for ever.
	Until time.Time `json:"until,omitzero"`
}

// NoteKind says whose note it is.
type NoteKind string

// The kinds of notes.
const (
	SilenceNote NoteKind = "silence" // an operator's wish to hear nothing of some events for a while
	ThreadNote  NoteKind = "thread"  // what a sink remembers of a conversation
	BurstNote   NoteKind = "burst"   // events that wait to be told together
	ProbeNote   NoteKind = "probe"   // how an evaluator has done of late
	CatalogNote NoteKind = "catalog" // that files have changed
	KeyNote     NoteKind = "key"     // the public key that each replica signs with, and the key that encrypts cursors
	AnswerNote  NoteKind = "answer"  // the answer to a request, for its repeats
	OutputNote  NoteKind = "output"  // the end of what the job of an attempt printed, as a worker outside sends it
	SessionNote NoteKind = "session" // a browser that logged in to the dashboard
	SourceNote  NoteKind = "source"  // the last good file of a source of events, and what came from it
	AuditNote   NoteKind = "audit"   // a day of the audit record; its entries are of the kind audit/DAY
)

// StoredEvent is an event at its place in the order in which events were committed.
type StoredEvent struct {
	Position Position
	Event    event.Event
}
