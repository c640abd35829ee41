// Package event is the catalogue of the events that Interlock emits: every type with its severity,
// when it is published and what to do about it, and the envelope that all of them share.
//
// An event is written in the same commit as the change that it reports; package notify delivers it.
// Its id is derived from its cause, so that consumers recognise a repeated delivery. docs/EVENTS.md
// is generated from this package.
package event

//go:generate go run ./eventdoc ../../docs/EVENTS.md

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// Source is the source of every event.
const Source = "interlock"

// Event is one event. As JSON it is {id, source, detail-type, time, detail}.
type Event struct {
	ID     string
	Type   Type
	Time   time.Time
	Detail Detail
}

// Detail has the common fields of an event. In JSON, the fields of Extra are in the same object.
type Detail struct {
	Pipeline  pipeline.ID         `json:"pipelineId"`
	Schedule  pipeline.ScheduleID `json:"scheduleId"`
	Date      period.Period       `json:"date"`
	Message   string              `json:"message"`
	Timestamp time.Time           `json:"timestamp"`
	Severity  Severity            `json:"severity"`
	Attempt   int                 `json:"attempt,omitempty"`
	CausedBy  string              `json:"causedBy,omitempty"` // the change, request or event that caused it
	Extra     Extra               `json:"-"`
}

// About is the subject of an event.
type About struct {
	Pipeline pipeline.ID
	Schedule pipeline.ScheduleID
	Date     period.Period
	Attempt  int

	// Which distinguishes events of one type about one subject that are not repeats of each other:
	// a sensor key, a request id, a config version, a deadline's instant. It is part of the id and
	// never shown.
	Which    string
	CausedBy string
	At       time.Time
	Critical bool // the pipeline's SLA is critical: use Entry.Raised
}

// Of returns the subject of an event about the latest attempt of r. A dry run that is reopened, or
// takes the place of a deleted one, has other event ids than before.
func Of(r run.Run, at time.Time) About {
	a := About{Pipeline: r.Pipeline, Schedule: r.Schedule, Date: r.Period, Attempt: r.Attempt, At: at}
	if r.DryRun {
		a.Which = r.Life()
	}
	return a
}

// New returns the event of type t about a. The same type, subject and Which always give the same
// id. Extra must have the type that the catalogue lists for t; nil if it lists none.
func New(t Type, a About, message string, extra Extra) Event {
	entry := t.Entry()
	severity := entry.Severity
	if a.Critical && entry.Raised != "" {
		severity = entry.Raised
	}
	at := period.Instant(a.At)
	return Event{
		ID:   id(t, entry.Scope, a),
		Type: t,
		Time: at,
		Detail: Detail{
			Pipeline: a.Pipeline, Schedule: a.Schedule, Date: a.Date, Attempt: a.Attempt,
			Message: message, Timestamp: at, Severity: severity, CausedBy: a.CausedBy, Extra: extra,
		},
	}
}

// As returns e with severity s instead of the catalogue's.
func (e Event) As(s Severity) Event {
	e.Detail.Severity = s
	return e
}

// id hashes the type, the fields of a within the scope, and Which: the id of an event about a run
// does not depend on its attempt, that of an event about a pipeline not on a period.
func id(t Type, s Scope, a About) string {
	parts := []string{string(t), a.Which}
	if s <= PerPipeline {
		parts = append(parts, string(a.Pipeline))
	}
	if s <= PerRun {
		parts = append(parts, string(a.Schedule), a.Date.String())
	}
	if s <= PerAttempt {
		parts = append(parts, strconv.Itoa(a.Attempt))
	}
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p) // lengths keep ("a", "bc") and ("ab", "c") apart
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Remedy returns what to do about e, with its pipeline, date, run, first date and sensor filled in;
// "" if there is nothing to do.
func (e Event) Remedy() string {
	d := e.Detail
	first, key := d.Date.String(), "KEY"
	switch extra := d.Extra.(type) {
	case Missed:
		if len(extra.Dates) > 0 {
			first = extra.Dates[0]
		}
	case Sensors:
		if len(extra.Sensors) > 0 {
			key = extra.Sensors[0]
		}
	}
	subject := run.Key{Pipeline: d.Pipeline, Schedule: d.Schedule, Period: d.Date}
	return strings.NewReplacer(
		"PIPELINE", string(d.Pipeline), "DATE", d.Date.String(), "RUN", subject.String(), "FIRST", first, "KEY", key,
	).Replace(e.Type.Entry().Remedy)
}

// Validate returns an error if e does not match the catalogue.
func (e Event) Validate() error {
	entry, known := catalogue[e.Type]
	if !known {
		return fmt.Errorf("event type %q is not in the catalogue", e.Type)
	}
	if got, want := reflect.TypeOf(e.Detail.Extra), reflect.TypeOf(entry.Extra); got != want {
		return fmt.Errorf("event %s has detail %v, want %v", e.Type, got, want)
	}
	if e.ID == "" || e.Detail.Message == "" || e.Time.IsZero() {
		return fmt.Errorf("event %s needs an id, a message and a time, has %q, %q and %s", e.Type, e.ID, e.Detail.Message, e.Time)
	}
	return nil
}

const resourcePrefix = "interlock:event:"

// Resource returns an event's id as a resource name, for a bus that gives events its own ids.
func Resource(id string) string { return resourcePrefix + id }

// FromResources returns the event id among resources, or "".
func FromResources(resources []string) string {
	for _, r := range resources {
		if id, ok := strings.CutPrefix(r, resourcePrefix); ok {
			return id
		}
	}
	return ""
}
