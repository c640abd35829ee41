package source

import (
	"fmt"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
)

// Write is a reading derived from an event.
type Write struct {
	Pipeline pipeline.ID
	Key      sensor.Key
	Period   period.Period // zero: undated
	Fields   sensor.Fields
	TTL      time.Duration // 0: never expires
	At       int           // index of its entry under write
	Entry    string        // identifies its entry, wherever it stands in the file and whatever the event
}

// EventProblem says why an event yields less than its source asks for: a reading is not written, or
// a field is left out.
type EventProblem struct {
	Source   ID     `json:"source" doc:"The source's id."`
	Write    int    `json:"write" doc:"The index of the entry in write, from 0."`
	Pipeline string `json:"pipeline" doc:"The pipeline, if the event determines it."`
	Key      string `json:"key" doc:"The sensor's key, if the event determines it."`
	Message  string `json:"message" doc:"The problem and its effect on the reading."`
}

func (p EventProblem) String() string {
	return fmt.Sprintf("source %s, write[%d]: %s", p.Source, p.Write, p.Message)
}

// Mapped is the result of applying one source to an event.
type Mapped struct {
	Source   *Definition
	Writes   []Write
	Problems []EventProblem
}

// Map applies the source to an event, and reports whether the event matches.
func (d *Definition) Map(event map[string]any) (Mapped, bool) {
	return d.mapped(newLookup(event))
}

func (d *Definition) mapped(l *lookup) (Mapped, bool) {
	groups, ok := d.matches(l)
	if !ok {
		return Mapped{}, false
	}
	m := Mapped{Source: d}
	for i := range d.targets {
		m.add(&d.targets[i], l, groups)
	}
	return m, true
}

// add adds the reading of a target, or the reason why there is none.
func (m *Mapped) add(t *target, l *lookup, groups map[string]string) {
	at := EventProblem{Source: m.Source.ID, Write: t.at, Pipeline: t.pipeline.fill(groups), Key: t.key.fill(groups)}
	report := func(format string, args ...any) {
		p := at
		p.Message = fmt.Sprintf(format, args...)
		m.Problems = append(m.Problems, p)
	}
	w := Write{Pipeline: pipeline.ID(at.Pipeline), Fields: make(sensor.Fields, len(t.fields)), TTL: t.ttl, At: t.at, Entry: fmt.Sprintf("%s\n%d", t.name(), t.after)}
	for i := range t.fields {
		if why := t.fields[i].read(l, groups, w.Fields); why != "" {
			report("field %s is left out: %s", t.fields[i].name, why)
		}
	}
	var suffix period.Period
	var err error
	w.Key, suffix, err = sensor.ExternalKey(at.Key)
	switch {
	case !w.Pipeline.Valid():
		report("nothing is written: %.140q is not a pipeline id", at.Pipeline)
		return
	case err != nil:
		report("nothing is written: %s", err)
		return
	case len(w.Fields) == 0:
		report("nothing is written: the event has none of the fields")
		return
	}
	if w.Period, err = t.periodOf(groups, w.Fields, suffix); err != nil {
		report("nothing is written: %s", err)
		return
	}
	m.Writes = append(m.Writes, w)
}

// periodOf returns the period of a reading: the target's, or else that of the fields or the key.
func (t *target) periodOf(groups map[string]string, fields sensor.Fields, suffix period.Period) (period.Period, error) {
	if t.period == "" {
		return sensor.PeriodOf(fields, suffix)
	}
	text := t.period.fill(groups)
	if text == "" {
		return period.Period{}, fmt.Errorf("the period %w", errNoValue)
	}
	p, err := period.Parse(text)
	if err != nil {
		return period.Period{}, fmt.Errorf("the period cannot be read: %w", err)
	}
	return p, nil
}

// read stores the field's value in fields, or returns why it cannot. If a path matches nothing,
// read omits the field and returns "".
func (f *field) read(l *lookup, groups map[string]string, fields sensor.Fields) string {
	switch {
	case f.text != nil:
		fields[f.name] = f.text.fill(groups)
	case f.path == nil:
		fields[f.name] = f.value
	default:
		values := l.at(f.path)
		if len(values) > 1 {
			return fmt.Sprintf("%s finds %d values; make the path match exactly one", f.path.query, len(values))
		}
		if len(values) == 1 {
			fields[f.name] = values[0]
		}
	}
	return ""
}

// Summary identifies an event that no source matched, without its data.
func Summary(f Format, event map[string]any) string {
	names := map[Format][]string{
		CloudEvents: {"type", "source", "subject", "id"},
		OpenLineage: {"eventType", "job.namespace", "job.name", "producer"},
	}[f]
	var parts []string
	for _, name := range names {
		if text, ok := sensor.Fields(event).At(name).(string); ok {
			parts = append(parts, fmt.Sprintf("%s=%.120q", name, text))
		}
	}
	return strings.Join(parts, " ")
}
