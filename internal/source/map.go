package source

import (
	"crypto/sha256"
	"encoding/hex"
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
	Period   period.Period // zero: undated, or Instant
	Instant  time.Time     // if set, the period is the slice of the pipeline that holds it
	Fields   sensor.Fields
	TTL      time.Duration // 0: never expires
	At       int           // index of its entry under write
	Entry    string        // identifies its entry and element, wherever they stand in the file and the event
}

// EventProblem says why an event yields less than its source asks for: a reading is not written, or
// a field is left out.
type EventProblem struct {
	Source   ID     `json:"source" doc:"The source's id."`
	Write    int    `json:"write" doc:"The index of the entry in write, from 0; -1 if the problem affects all of them."`
	Pipeline string `json:"pipeline" doc:"The pipeline, if the event determines it."`
	Key      string `json:"key" doc:"The sensor's key, if the event determines it."`
	Message  string `json:"message" doc:"The problem and its effect on the reading."`
}

func (p EventProblem) String() string {
	at := ""
	if p.Write >= 0 {
		at = fmt.Sprintf(", write[%d]", p.Write)
	}
	return fmt.Sprintf("source %s%s: %s", p.Source, at, p.Message)
}

const (
	// MaxReadings is how many readings one message may give.
	MaxReadings = 1000
	// maxElements is how many elements a message may be split into.
	maxElements = 10_000
	// maxReported is how many problems of one message are reported one by one.
	maxReported = 20
)

// Mapped is the result of applying one source to an event.
type Mapped struct {
	Source   *Definition
	Writes   []Write
	Problems []EventProblem
	// Over says that the message has too many elements or gives too many readings, so that none may
	// be written; "" if not.
	Over string

	unreported int // problems beyond maxReported
}

// Map applies the source to an event, and reports whether the event matches. An event of which some
// part cannot be decoded, so that it might match, also does.
func (d *Definition) Map(event map[string]any) (Mapped, bool) {
	return d.mapped(newLookup(event))
}

func (d *Definition) mapped(l *lookup) (Mapped, bool) {
	m := Mapped{Source: d}
	matched := false
	if len(d.each) == 0 {
		matched = m.apply(l, "")
	} else if !d.excludes(l) {
		matched = m.applyEach(l)
	}
	if m.unreported > 0 {
		m.Problems = append(m.Problems, EventProblem{Source: d.ID, Write: -1, Message: fmt.Sprintf("%d more problems", m.unreported)})
	}
	return m, matched
}

// applyEach applies the source to each element of a message, and reports whether one matches.
func (m *Mapped) applyEach(l *lookup) (matched bool) {
	elements, faults, over := m.Source.split(l.message)
	if m.Over = over; over != "" {
		return true
	}
	for _, fault := range faults {
		m.report(EventProblem{Write: -1, Message: fault})
	}
	seen := map[string]int{}
	for i, value := range elements {
		before := len(m.Writes)
		matched = m.apply(l.in(value), fmt.Sprintf("element %d: ", i)) || matched
		if len(m.Writes) == before {
			continue
		}
		if len(m.Writes) > MaxReadings {
			m.Over = fmt.Sprintf("the message gives more than %d readings", MaxReadings)
			return true
		}
		id := digestOf(value)
		for n := range m.Writes[before:] {
			m.Writes[before+n].Entry += fmt.Sprintf("\n%s\n%d", id, seen[id])
		}
		seen[id]++
	}
	return matched || len(faults) > 0
}

// digestOf identifies an element by its content: its index would change with the order of an
// object's members.
func digestOf(value any) string {
	sum := sha256.Sum256([]byte(sensor.Literal(value)))
	return hex.EncodeToString(sum[:16])
}

// split returns the elements of a message, and why some are left out. over says why there are too
// many.
func (d *Definition) split(message any) (elements []any, faults []string, over string) {
	elements = []any{message}
	for i := range d.each {
		var next []any
		for _, e := range elements {
			values, err := d.each[i].find(e)
			if err != nil {
				faults = append(faults, fmt.Sprintf("an element is left out: each[%d]: %s", i, err))
			}
			if next = append(next, values...); len(next) > maxElements {
				return nil, nil, fmt.Sprintf("the message has more than %d elements", maxElements)
			}
		}
		elements = next
	}
	return elements, faults, ""
}

// apply adds what an event, or an element of one, gives, and reports whether it matches. prefix
// names the element in problems.
func (m *Mapped) apply(l *lookup, prefix string) bool {
	groups, ok, err := m.Source.matches(l)
	if err != nil {
		m.report(EventProblem{Write: -1, Message: fmt.Sprintf("%snothing is written: %s", prefix, err)})
		return true
	}
	if !ok {
		return false
	}
	for i := range m.Source.targets {
		m.add(&m.Source.targets[i], l, groups, prefix)
	}
	return true
}

func (m *Mapped) report(p EventProblem) {
	if len(m.Problems) >= maxReported {
		m.unreported++
		return
	}
	p.Source = m.Source.ID
	m.Problems = append(m.Problems, p)
}

// add adds the reading of a target, or the reason why there is none.
func (m *Mapped) add(t *target, l *lookup, groups map[string]string, prefix string) {
	key, keyErr := t.key.read(l, groups)
	at := EventProblem{Write: t.at, Pipeline: t.pipeline.fill(groups), Key: key}
	report := func(format string, args ...any) {
		p := at
		p.Message = prefix + fmt.Sprintf(format, args...)
		m.report(p)
	}
	w := Write{Pipeline: pipeline.ID(at.Pipeline), Fields: make(sensor.Fields, len(t.fields)), TTL: t.ttl, At: t.at, Entry: fmt.Sprintf("%s\n%d", t.name(), t.after)}
	for i := range t.fields {
		if why := t.fields[i].read(l, groups, w.Fields); why != "" {
			report("field %s is left out: %s", t.fields[i].name, why)
		}
	}
	var suffix period.Period
	err := keyErr
	if err == nil {
		w.Key, suffix, err = sensor.ExternalKey(key)
	}
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
	if err := t.date(&w, l, groups, suffix); err != nil {
		report("nothing is written: %s", err)
		return
	}
	m.Writes = append(m.Writes, w)
}

// date sets the period of a reading: the target's, or else that of the fields or the key.
func (t *target) date(w *Write, l *lookup, groups map[string]string, suffix period.Period) (err error) {
	if t.period.empty() {
		w.Period, err = sensor.PeriodOf(w.Fields, suffix)
		return err
	}
	text, err := t.period.read(l, groups)
	if err != nil {
		return fmt.Errorf("the period cannot be read: %w", err)
	}
	if text == "" {
		return fmt.Errorf("the period %w", errNoValue)
	}
	if w.Period, err = period.Parse(text); err == nil {
		return nil
	}
	at, zoned, ok := period.ReadInstant(text)
	switch {
	case ok && !zoned:
		return fmt.Errorf("the period cannot be read: %.60q is an instant without a time zone; send one, such as %sZ, or match the date in it", text, text)
	case ok:
		w.Instant = at
		return nil
	}
	return fmt.Errorf("the period cannot be read: %w", err)
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
		values, err := l.at(f.path)
		if err != nil {
			return err.Error()
		}
		if len(values) > 1 {
			return fmt.Sprintf("%s finds %d values; make the path match exactly one", f.path.query, len(values))
		}
		if len(values) == 1 {
			if err := sensor.CheckDepth(values[0]); err != nil {
				return fmt.Sprintf("%s finds a value that a reading cannot hold: %s", f.path.query, err)
			}
			fields[f.name] = values[0]
		}
	}
	return ""
}

// Summary identifies an event without its data.
func Summary(f Format, event map[string]any) string {
	names := map[Format][]string{
		CloudEvents: {"type", "source", "subject", "id"},
		OpenLineage: {"eventType", "job.namespace", "job.name", "producer"},
		JSON:        {"Type", "TopicArn", "MessageId", "subscription", "message.messageId", "eventType", "topic"}, // of services' envelopes
	}[f]
	var parts []string
	for _, name := range names {
		if text, ok := sensor.Fields(event).At(name).(string); ok {
			parts = append(parts, fmt.Sprintf("%s=%.120q", name, text))
		}
	}
	return strings.Join(parts, " ")
}
