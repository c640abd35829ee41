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

// Pipeline is a pipeline's row: its state besides its file. It is swapped by version.
type Pipeline struct {
	ID      pipeline.ID `json:"id"`
	Version int64       `json:"version"`

	Config     string    `json:"config,omitempty"` // the active version; empty once removed
	Older      []string  `json:"older,omitempty"`  // the other versions that open attempts may have
	Horizon    time.Time `json:"horizon"`          // its first acceptance: nothing before it is ever opened or counts as missed
	AcceptedAt time.Time `json:"acceptedAt"`       // when the active version was accepted
	RemovedAt  time.Time `json:"removedAt,omitzero"`
	Problem    string    `json:"problem,omitempty"` // why its newest file was rejected, one reason per line

	Pause Pause `json:"pause,omitzero"` // the pipeline's own pause
	// PauseAll is a copy of the pause of all pipelines, whose original is in the row of
	// AllPipelines. Each pipeline's row has a copy, so that a commit that depends on the row's
	// version depends on both pauses.
	PauseAll Pause `json:"pauseAll,omitzero"`
	// PausedFrom is since when pauses have held back writes and completions. Once the pipeline is
	// no longer paused, they are replayed and it is cleared.
	PausedFrom time.Time       `json:"pausedFrom,omitzero"`
	Slots      []run.AttemptID `json:"slots,omitempty"` // the open jobs, if maxActive limits them

	// FiredThrough is the time up to which fires have been handled: opened, excluded, or reported
	// as missed.
	FiredThrough time.Time `json:"firedThrough,omitzero"`
	// Earlier are the acceptances before that of the active version, oldest first, if fires of their
	// versions have not been handled yet.
	Earlier []Acceptance `json:"earlier,omitempty"`
	// ArmedThrough is the last period whose deadline has been armed or skipped in advance.
	ArmedThrough period.Period `json:"armedThrough,omitzero"`
}

// Acceptance is when a version became active. A version may be accepted several times.
type Acceptance struct {
	Config string    `json:"config"`
	At     time.Time `json:"at"`
}

// Removed reports whether the pipeline has no file any more: no version is active, and none was
// rejected.
func (p Pipeline) Removed() bool { return p.Config == "" && p.Problem == "" }

// Problems lists why the pipeline's newest file was rejected; nil if it is active.
func (p Pipeline) Problems() []string {
	if p.Problem == "" {
		return nil
	}
	return strings.Split(p.Problem, "\n")
}

// Config is one accepted version of a pipeline's file, with the calendars and archetypes it was
// read with, so that an attempt can finish on the version it opened with.
type Config struct {
	Pipeline   pipeline.ID       `json:"pipeline"`
	Version    string            `json:"version"` // a hash of the texts below
	At         time.Time         `json:"at"`
	File       pipeline.Source   `json:"file"`
	Calendars  []pipeline.Source `json:"calendars,omitempty"`
	Archetypes []pipeline.Source `json:"archetypes,omitempty"`
}

// WithoutTexts returns c as Configs lists it: with the names of the files but without their
// contents.
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
	Config   string       `json:"config"` // the config version that armed it
	Critical bool         `json:"critical,omitempty"`
	ArmedAt  time.Time    `json:"armedAt"`
	ClosedAt time.Time    `json:"closedAt,omitzero"`
	// DoneAt is when the success of the run was acknowledged, even if that was after the breach.
	DoneAt time.Time `json:"doneAt,omitzero"`
	sla.Deadline
}

// DeadlineKind distinguishes the two deadlines of a run.
type DeadlineKind string

// An absolute deadline is a fixed time; a relative one counts from the first reading of the start
// condition.
const (
	Absolute DeadlineKind = "absolute"
	Relative DeadlineKind = "relative"
)

// JobEntry is one event in the life of a run's job. It is appended, and never changed.
type JobEntry struct {
	Key      run.Key      `json:"key"`
	Attempt  int          `json:"attempt"`
	At       time.Time    `json:"at"`
	Event    JobEvent     `json:"event"`
	Try      int          `json:"try,omitempty"` // number of the start try
	Handle   run.Handle   `json:"handle,omitempty"`
	Category run.Category `json:"category,omitempty"`
	Message  string       `json:"message,omitempty"`
	Output   string       `json:"output,omitempty"` // the end of its output
	By       string       `json:"by,omitempty"`     // who reported it, if not the controller
}

// JobEvent is the kind of a JobEntry.
type JobEvent string

// Success, fail and timeout are results. A late result arrived after the attempt had ended and
// changed nothing.
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

// Snapshot records the facts on which a start, or the end of an attempt, was decided. Its id is
// that of the attempt and the try, or of the attempt's end (run.EndSnapshot). An end is stored
// without leaves and without the data of readings.
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
	Read     []ReadVersion  `json:"read,omitempty"`    // all readings that were read; for an end only
	// PreferUntil is when the preferred rules stop closing the gate; zero without such rules.
	PreferUntil time.Time `json:"preferUntil,omitzero"`
	// Degraded names the preferred rules that failed when the gate opened without them.
	Degraded []string `json:"degraded,omitempty"`
	// Files are the configuration files behind the start; for a start only.
	Files []UsedFile `json:"files,omitempty"`
}

// UsedFile is a configuration file, with the SHA-256 digest of the version that was used.
type UsedFile struct {
	Kind   pipeline.FileKind `json:"kind"`
	File   string            `json:"file"`
	Digest string            `json:"digest"`
}

// ReadVersion is a reading that a decision has read.
type ReadVersion struct {
	Pipeline pipeline.ID   `json:"pipeline"`
	Key      sensor.Key    `json:"key"`
	Period   period.Period `json:"date"`
	Version  int64         `json:"version"`
}

// HasRead reports whether the decision of s read that reading, or a later one of the same row.
func (s Snapshot) HasRead(r ReadVersion) bool {
	return slices.ContainsFunc(s.Read, func(then ReadVersion) bool {
		return then.Version >= r.Version && then.Pipeline == r.Pipeline && then.Key == r.Key && then.Period == r.Period
	})
}

// Missed reports whether the decision of s looked up the sensor but did not see that reading,
// because it was written later.
func (s Snapshot) Missed(r ReadVersion) bool {
	looked := func(seen SeenSensor) bool { return seen.Pipeline == r.Pipeline && seen.Key == r.Key }
	return (slices.ContainsFunc(s.Sensors, looked) || slices.ContainsFunc(s.PostRun, looked)) && !s.HasRead(r)
}

// SeenLeaf is the result of one rule at that moment.
type SeenLeaf struct {
	Key      string     `json:"key"`
	From     string     `json:"from,omitempty"`
	Check    rule.Check `json:"check"`
	Field    string     `json:"field,omitempty"`
	Needs    any        `json:"needs,omitempty"`
	Over     bool       `json:"over,omitempty"` // it was evaluated over several periods
	Time     string     `json:"time,omitempty"` // settled and over, as text
	Advisory bool       `json:"advisory,omitempty"`
	// Preferred means that the rule closes the gate only until Snapshot.PreferUntil.
	Preferred bool         `json:"preferred,omitempty"`
	Group     string       `json:"group,omitempty"`
	Negated   bool         `json:"negated,omitempty"` // it is inside a "not"
	Moot      bool         `json:"moot,omitempty"`    // a group around it passes without it
	Outcome   rule.Outcome `json:"outcome"`           // outcome of the rule itself
	Value     any          `json:"value"`
	Reason    string       `json:"reason"`
}

// SeenSensor is the state of one sensor of the gate or the start condition at that moment.
type SeenSensor struct {
	Pipeline  pipeline.ID   `json:"pipeline"`
	Key       sensor.Key    `json:"key"`
	Start     bool          `json:"start,omitempty"`
	Period    period.Period `json:"date"`
	Version   int64         `json:"version"` // 0 if there was no reading
	UpdatedAt time.Time     `json:"updatedAt,omitzero"`
	ExpiresAt time.Time     `json:"expiresAt,omitzero"`
	ChangedAt time.Time     `json:"changedAt,omitzero"` // when the data last changed; zero: at UpdatedAt
	Content   string        `json:"content,omitempty"`  // a hash of the data
	Fields    sensor.Fields `json:"fields,omitempty"`
	Slices    []SeenSlice   `json:"slices,omitempty"` // for a rule over several periods: each of them, in order
}

// SeenSlice is the state of one period for a rule over several. It has only the fields that the
// rule reads.
type SeenSlice struct {
	Date      period.Period `json:"date"`
	Of        period.Period `json:"of,omitzero"`      // the period of the reading, if longer
	Version   int64         `json:"version,omitzero"` // 0 if there was no reading
	UpdatedAt time.Time     `json:"updatedAt,omitzero"`
	ChangedAt time.Time     `json:"changedAt,omitzero"`
	ExpiresAt time.Time     `json:"expiresAt,omitzero"`
	Fields    sensor.Fields `json:"fields,omitempty"`
}

// PostRun is the state of a completed run's post-run checks. It is swapped by version.
type PostRun struct {
	Key         run.Key                  `json:"key"`
	Version     int64                    `json:"version"`
	Attempt     int                      `json:"attempt"`
	CompletedAt time.Time                `json:"completedAt"`
	Baseline    map[string]sensor.Fields `json:"baseline"`          // by rule key
	Outcome     string                   `json:"outcome,omitempty"` // of the post-run rules, as last reported
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
	Attempt    int       `json:"attempt,omitempty"` // the attempt that was opened
}

// DeadLetter is an event that a sink rejected.
type DeadLetter struct {
	Sink   string      `json:"sink"`
	Event  event.Event `json:"event"`
	Reason string      `json:"reason"`
	Tries  int         `json:"tries"`
	At     time.Time   `json:"at"`
	Count  int         `json:"count,omitempty"` // how many events the alert combined, if more than one
	Since  time.Time   `json:"since,omitzero"`  // when the first of them happened
}

// Note is data that one part of the controller stores under a key, in its own format. It is swapped
// by version, so that of several concurrent changes only one succeeds.
type Note struct {
	Kind    NoteKind `json:"kind"`
	Key     string   `json:"key"`
	Version int64    `json:"version"`
	Data    []byte   `json:"data"`
	// Until is when Trim or the store itself may delete it; whether it still exists then is
	// undefined. Without Until the note is kept forever.
	Until time.Time `json:"until,omitzero"`
}

// NoteKind says which part of the controller a note belongs to.
type NoteKind string

// The kinds of notes.
const (
	SilenceNote  NoteKind = "silence"  // an operator's silence
	ThreadNote   NoteKind = "thread"   // a sink's state of a conversation
	BurstNote    NoteKind = "burst"    // events that wait to be sent as one alert
	ProbeNote    NoteKind = "probe"    // the recent results of an evaluator
	CatalogNote  NoteKind = "catalog"  // a notice that files have changed
	KeyNote      NoteKind = "key"      // the public key that each replica signs with, and the key that encrypts cursors
	AnswerNote   NoteKind = "answer"   // the answer to a request, for retries with its idempotency key
	OutputNote   NoteKind = "output"   // the end of a job's output, as sent by an external worker
	SessionNote  NoteKind = "session"  // a dashboard login
	SourceNote   NoteKind = "source"   // the events that an event source sent
	FileNote     NoteKind = "file"     // the last good version of a calendar, archetype or source file
	IdentityNote NoteKind = "store"    // the store's own name
	PresenceNote NoteKind = "presence" // when some replica could accept heartbeats
	FitNote      NoteKind = "fit"      // how many bytes of events and writes were stored when
	UnreadNote   NoteKind = "unread"   // producers' rows of a pipeline that the stream has not delivered
	AuditNote    NoteKind = "audit"    // a day of the audit record; its entries are of the kind audit/DAY
)

// StoredEvent is an event with its position in commit order.
type StoredEvent struct {
	Position Position
	Event    event.Event
}
