package rule

import (
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/sensor"
)

// Asked is a predicate as it is written: a Rule without what makes others groups.
type Asked struct {
	Key   string
	Check Check
	Field string
	Value any
	From  string
	Level Level
	Over  bool   // it is evaluated for several slices
	Time  string // settled and over in words: "settled for 15m", "for at least 22 hours"; often ""
}

// Condition is what a rule asks of its field: `status equals "ready"`.
func (a Asked) Condition() string {
	text := string(a.Check)
	if a.Field != "" {
		text = a.Field + " " + text
	}
	if a.Value != nil {
		text += " " + sensor.Literal(a.Value)
	}
	if a.Time != "" {
		text += ", " + a.Time
	}
	return text
}

// Leaf is the report on one predicate.
type Leaf struct {
	Path     string // where the leaf stands in the tree, for people: "", "any 1 of 3", "not" …
	Rule     *Asked
	Advisory bool // the rule, or a group around it, is only shown
	// Preferred says that the rule, or a group around it, closes the gate only for a time.
	Preferred bool
	// PassesAt is when the rule passes if its data stays as it is; zero where it passes, or where time alone does not help.
	PassesAt time.Time
	Negated  bool    // an odd number of "not" stands around it
	Start    bool    // it is the start condition
	Outcome  Outcome // of the rule itself; Effective is what it contributes to the gate
	Value    any     // the value seen, nil if none
	Version  int64
	Age      time.Duration // of the reading; -1 where there is none
	Reason   string
}

// Effective is the outcome after every "not" around the rule.
func (l Leaf) Effective() Outcome { return l.Outcome.In(l.Negated) }

// In is the outcome of a rule as it counts in a gate, where it may stand under a "not". Unknown stays unknown.
func (o Outcome) In(negated bool) Outcome {
	if negated {
		return Pass - o
	}
	return o
}

// Verdict is the outcome with its reasons.
type Verdict struct {
	Outcome Outcome
	Leaves  []Leaf // in the order they are written, advisory ones included
}

// usualReason is about how many bytes a reason takes.
const usualReason = 48

// Explain is Decide with one report per leaf; every leaf is evaluated.
func (g *Gate) Explain(s Snapshot, now time.Time) Verdict {
	v := Verdict{Outcome: g.Decide(s, now), Leaves: make([]Leaf, len(g.reports))}
	asked := make([]Asked, len(g.reports))
	var w writer
	w.Grow(usualReason * len(g.reports))
	for i := range g.reports {
		r := &g.reports[i]
		asked[i] = g.asked(r)
		v.Leaves[i] = Leaf{Path: r.path, Rule: &asked[i], Advisory: r.advisory, Preferred: r.preferred, Negated: r.negated, Start: r.start, Age: -1}
		w.rule = &asked[i]
		g.predicates[r.predicate].fill(&v.Leaves[i], &w, s, now)
	}
	return v
}

// report is what the report on a predicate needs beside the predicate itself. A server holds very many, so it has nothing
// that its predicate or the gate's Refs have.
type report struct {
	path                         string // as in place, like the next three
	value                        any
	predicate                    int32 // in the gate
	negated, advisory, preferred bool
	start                        bool  // it is the start condition
	unnamed                      bool  // the rule names no field; that of the predicate is the default
	check, level                 uint8 // in checks and levels
}

// reportOn is the report on the rule that stands at a place; its predicate is yet to be set.
func reportOn(r Rule, at place, start bool) report {
	return report{
		path: at.path, negated: at.negated, advisory: at.advisory, preferred: at.preferred, start: start,
		value: r.Value, unnamed: r.Field == "",
		check: uint8(slices.Index(checks, string(r.Check))), level: uint8(slices.Index(levels, r.Level)),
	}
}

// asked is the rule that r is the report on, as it is written.
func (g *Gate) asked(r *report) Asked {
	p := &g.predicates[r.predicate]
	ref := &g.refs[p.slot]
	a := Asked{Key: string(ref.Key), Check: Check(checks[r.check]), Field: p.field, Value: r.value, From: ref.From, Level: levels[r.level]}
	if r.unnamed {
		a.Field = ""
	}
	if p.timed {
		a.Over, a.Time = p.more.time.over, p.more.time.words
	}
	return a
}

// nothing is what a sensor shows that a snapshot does not have.
var nothing sensor.Seen

// fill writes the report on what s shows into l. Reasons share the writer's memory.
func (p *predicate) fill(l *Leaf, w *writer, s Snapshot, now time.Time) {
	l.Outcome = p.absent
	seen := &nothing
	if int(p.slot) < len(s) {
		seen = &s[p.slot]
	}
	w.begin()
	if p.timed {
		p.fillOverTime(l, w, seen, now)
		l.Reason = w.taken()
		return
	}
	switch reading := seen.Reading; {
	case reading == nil:
		w.missing(seen)
	case expired(reading, now):
		l.Version, l.Age = reading.Version, max(0, now.Sub(reading.UpdatedAt))
		w.expired(now.Sub(reading.ExpiresAt))
	default:
		l.Version, l.Age = reading.Version, max(0, now.Sub(reading.UpdatedAt))
		p.found(l, w, reading, now)
		if seen.Note != "" {
			w.WriteString("; ")
			w.WriteString(seen.Note)
		}
	}
	l.Reason = w.taken()
}

// found reports on a reading that counts.
func (p *predicate) found(l *Leaf, w *writer, reading *sensor.Reading, now time.Time) {
	if p.op == opExists {
		l.Outcome = Pass
		w.WriteString("a reading is there")
		return
	}
	v := p.value(reading)
	l.Value = v
	if p.op == opYounger || p.op == opOlder {
		p.aged(l, w, reading, now)
		return
	}
	l.Outcome = p.test(v, reading, now)
	if v == nil {
		w.missingField(p.field)
		return
	}
	w.subject(p.field)
	w.value(v)
	p.ending(l, w)
}

// aged reports on an age check; l holds the value seen.
func (p *predicate) aged(l *Leaf, w *writer, reading *sensor.Reading, now time.Time) {
	if l.Value == nil && (!p.own || reading.UpdatedAt.IsZero()) {
		w.missingField(p.field)
		return
	}
	age, ok := ageOf(l.Value, reading, now)
	l.Outcome = p.compareAge(age, ok)
	if l.Value == nil {
		l.Value = w.instant(reading.UpdatedAt)
	}
	w.subject(p.field)
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
	p.ending(l, w)
}

// ending says what a predicate needs, behind the value that was seen.
func (p *predicate) ending(l *Leaf, w *writer) {
	if p.op == opExistsField {
		return
	}
	switch l.Outcome {
	case Fail:
		w.WriteString(", needs ")
		w.needs()
	case Unknown:
		w.WriteString(unfit(p.op))
	case Pass:
		if p.op != opSame && p.op != opIn { // what was seen is what is needed
			w.WriteString(" (needs ")
			w.needs()
			w.WriteByte(')')
		}
	}
}

// unfit says what the value is not on which a check is unknown.
func unfit(op op) string {
	switch op {
	case opOrder:
		return ", not a number"
	case opYounger, opOlder:
		return ", not a time (RFC 3339, or epoch seconds or milliseconds)"
	case opMatches:
		return ", not text"
	}
	return ""
}

// needs writes what the rule asks of its field's value: "≥ 1000", "one of \"a\", \"b\"".
func (w *writer) needs() {
	value := normal(w.rule.Value)
	switch w.rule.Check {
	case NotEquals:
		w.WriteString("anything but ")
	case In:
		w.WriteString("one of ")
		w.listed(value)
		return
	case GT, AgeGT:
		w.WriteString("> ")
	case GTE:
		w.WriteString("≥ ")
	case LT, AgeLT:
		w.WriteString("< ")
	case LTE:
		w.WriteString("≤ ")
	case Matches:
		w.WriteString("a match of ")
	}
	text, quoted := value.(string)
	switch w.rule.Check {
	case GT, GTE, LT, LTE, AgeLT, AgeGT:
		if quoted { // a number or a duration, written as text
			w.WriteString(text)
			return
		}
	}
	w.value(value)
}

// normal is a rule's value in the types that a writer knows. Most are of these already.
func normal(v any) any {
	switch v.(type) {
	case string, int, int64, float64, bool:
		return v
	}
	value, _ := sensor.Normalize(v)
	return value
}

// listed writes the first few values of a list.
func (w *writer) listed(v any) {
	const most = 8
	items, _ := v.([]any)
	for i, item := range items[:min(len(items), most)] {
		if i > 0 {
			w.WriteString(", ")
		}
		w.value(item)
	}
	if len(items) > most {
		w.WriteString(", …")
	}
}
