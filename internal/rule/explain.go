package rule

import (
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/sensor"
)

// Leaf is the report on one predicate.
type Leaf struct {
	Path     string // where the leaf stands in the tree, for people: "", "any 1 of 3", "not" …
	Rule     *Rule  // as written; all verdicts of a gate share it, so it must not be changed
	Advisory bool   // the rule, or a group around it, is only shown
	Outcome  Outcome
	Value    any // the value seen, nil if none
	Version  int64
	Age      time.Duration // of the reading; -1 where there is none
	Reason   string
}

// Verdict is the outcome with its reasons.
type Verdict struct {
	Outcome Outcome
	Leaves  []Leaf // in the order they are written, advisory ones included
}

// Explain is Decide with one report per leaf; every leaf is evaluated.
func (g *Gate) Explain(s Snapshot, now time.Time) Verdict {
	v := Verdict{Outcome: g.Decide(s, now), Leaves: make([]Leaf, len(g.reports))}
	var w writer
	w.Grow(g.room)
	for i := range g.reports {
		g.reports[i].fill(&v.Leaves[i], &w, s, now)
	}
	return v
}

// report is what the report on a predicate needs beside the predicate itself; its texts are made when the file loads.
type report struct {
	predicate predicate
	rule      *Rule
	path      string
	advisory  bool
	subject   string           // in front of the value seen: "count is "
	ends      [Pass + 1]string // behind it, by outcome: ", needs ≥ 1000"
}

func (c *compiler) report(r Rule, p predicate, path string, advisory bool) {
	rep := report{predicate: p, rule: &r, path: path, advisory: advisory, subject: p.field + " is "}
	rep.ends = endings(r, p.op)
	c.gate.reports = append(c.gate.reports, rep)
	c.gate.room += len(rep.subject) + len(rep.ends[Fail]) + 24
}

// nothing is what a sensor shows that a snapshot does not have.
var nothing sensor.Seen

// fill writes the report on what s shows into l. Reasons share the writer's memory.
func (r *report) fill(l *Leaf, w *writer, s Snapshot, now time.Time) {
	l.Path, l.Rule, l.Advisory, l.Age = r.path, r.rule, r.advisory, -1
	l.Outcome = r.predicate.absent
	seen := &nothing
	if int(r.predicate.slot) < len(s) {
		seen = &s[r.predicate.slot]
	}
	w.begin()
	switch reading := seen.Reading; {
	case reading == nil:
		w.missing(seen)
	case expired(reading, now):
		l.Version, l.Age = reading.Version, max(0, now.Sub(reading.UpdatedAt))
		w.expired(now.Sub(reading.ExpiresAt))
	default:
		l.Version, l.Age = reading.Version, max(0, now.Sub(reading.UpdatedAt))
		r.found(l, w, reading, now)
	}
	l.Reason = w.taken()
}

// found reports on a reading that counts.
func (r *report) found(l *Leaf, w *writer, reading *sensor.Reading, now time.Time) {
	p := &r.predicate
	if p.op == opExists {
		l.Outcome = Pass
		w.WriteString("a reading is there")
		return
	}
	v := p.value(reading)
	l.Value = v
	if p.op == opYounger || p.op == opOlder {
		r.aged(l, w, reading, now)
		return
	}
	l.Outcome = p.test(v, reading, now)
	if v == nil {
		w.missingField(p.field)
		return
	}
	w.WriteString(r.subject)
	w.value(v)
	w.WriteString(r.ends[l.Outcome])
}

// aged reports on an age check; l holds the value seen.
func (r *report) aged(l *Leaf, w *writer, reading *sensor.Reading, now time.Time) {
	p := &r.predicate
	if l.Value == nil && (!p.own || reading.UpdatedAt.IsZero()) {
		w.missingField(p.field)
		return
	}
	age, ok := ageOf(l.Value, reading, now)
	l.Outcome = p.compareAge(age, ok)
	if l.Value == nil {
		l.Value = w.instant(reading.UpdatedAt)
	}
	w.WriteString(r.subject)
	switch {
	case !ok:
		w.value(l.Value)
	case l.Outcome == Unknown:
		w.age(age)
		w.WriteString("; a clock may be ahead by 2m at most")
		return
	default:
		w.age(age)
	}
	w.WriteString(r.ends[l.Outcome])
}

// endings says what a predicate needs, behind the value that was seen.
func endings(r Rule, op op) (ends [Pass + 1]string) {
	needs := needs(r)
	switch op {
	case opSame, opIn:
		ends[Fail] = ", needs " + needs
	case opOrder, opYounger, opOlder, opMatches, opDiffers:
		ends[Fail] = ", needs " + needs
		ends[Pass] = " (needs " + needs + ")"
	}
	switch op {
	case opOrder:
		ends[Unknown] = ", not a number"
	case opYounger, opOlder:
		ends[Unknown] = ", not a time (RFC 3339, or epoch seconds or milliseconds)"
	case opMatches:
		ends[Unknown] = ", not text"
	}
	return ends
}

// needs is what r asks of its field's value: "≥ 1000", "one of \"a\", \"b\"".
func needs(r Rule) string {
	value, _ := sensor.Normalize(r.Value)
	switch r.Check {
	case Equals:
		return literal(value)
	case NotEquals:
		return "anything but " + literal(value)
	case In:
		return "one of " + listed(value)
	case GT:
		return "> " + plain(value)
	case GTE:
		return "≥ " + plain(value)
	case LT:
		return "< " + plain(value)
	case LTE:
		return "≤ " + plain(value)
	case AgeLT:
		return "< " + plain(value)
	case AgeGT:
		return "> " + plain(value)
	case Matches:
		return "a match of " + literal(value)
	}
	return ""
}

// plain shows a value without the quotes of a text.
func plain(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	return literal(v)
}

// listed shows the first few values of a list.
func listed(v any) string {
	const most = 8
	items, _ := v.([]any)
	var texts []string
	for _, item := range items[:min(len(items), most)] {
		texts = append(texts, literal(item))
	}
	if len(items) > most {
		texts = append(texts, "…")
	}
	return strings.Join(texts, ", ")
}
