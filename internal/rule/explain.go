package rule

import (
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/sensor"
)

// Asked is a predicate as written: a Rule without groups.
type Asked struct {
	Key   string
	Check Check
	Field string
	Value any
	From  string
	Level Level
	Over  bool   // it is evaluated for several periods
	Time  string // settled and over as text: "settled for 15m", "for at least 22 hours"; often ""
}

// Condition returns the rule's condition on its field: `status equals "ready"`.
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

// Leaf is the result of one predicate.
type Leaf struct {
	Path     string // position in the tree, for people: "", "any 1 of 3", "not" …
	Rule     *Asked
	Advisory bool // the rule, or an enclosing group, is advisory
	// Preferred means that the rule, or an enclosing group, closes the gate only for a time.
	Preferred bool
	// PassesAt is when the rule stops closing the gate if its data does not change: it passes or,
	// inside a "not", fails. Zero if it does so already, or if time alone does not help.
	PassesAt time.Time
	Negated  bool    // it is inside an odd number of "not" groups
	Moot     bool    // a group around it passes whatever its outcome, as an "any" with another rule that passes
	Start    bool    // it is the start condition
	Outcome  Outcome // outcome of the rule itself; Effective is its contribution to the gate
	Value    any     // the value seen, nil if none
	Version  int64
	Age      time.Duration // age of the reading; -1 if there is none
	Reason   string
}

// Effective returns the outcome after applying every enclosing "not".
func (l Leaf) Effective() Outcome { return l.Outcome.In(l.Negated) }

// Closes reports whether the rule helps to keep a closed gate closed.
func (l Leaf) Closes() bool { return !l.Advisory && !l.Moot && l.Effective() != Pass }

// In returns the contribution of an outcome to a gate, where it may be negated. Unknown stays
// unknown.
func (o Outcome) In(negated bool) Outcome {
	if negated {
		return Pass - o
	}
	return o
}

// Verdict is an outcome with its reasons.
type Verdict struct {
	Outcome Outcome
	Leaves  []Leaf // as written, including advisory ones
}

// usualReason is the typical length of a reason in bytes.
const usualReason = 48

// Explain is Decide with a report on every leaf; every leaf is evaluated.
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
	if v.Outcome != Pass {
		g.root.markMoot(v.Leaves, false, s, now)
		if g.preferred != nil {
			g.preferred.markMoot(v.Leaves, false, s, now)
		}
	}
	return v
}

// markMoot marks the rules in the subgroups of n that pass. negated is whether n is inside a "not".
func (n *node) markMoot(leaves []Leaf, negated bool, s Snapshot, now time.Time) {
	inner := negated != (n.kind == notGroup)
	for i := range n.groups {
		m := &n.groups[i]
		if m.eval(s, now).In(inner) == Pass {
			m.each(func(p *predicate) { leaves[p.report].Moot = true })
		} else {
			m.markMoot(leaves, inner, s, now)
		}
	}
}

// each calls do with every predicate in n and its subgroups.
func (n *node) each(do func(p *predicate)) {
	for i := range n.predicates {
		do(&n.predicates[i])
	}
	for i := range n.groups {
		n.groups[i].each(do)
	}
}

// report holds what the report on a predicate needs besides the predicate. A server holds very
// many, so it does not repeat what its predicate or the gate's Refs have.
type report struct {
	path                         string // as in place, like negated, advisory and preferred
	value                        any
	predicate                    int32 // index in the gate
	negated, advisory, preferred bool
	start                        bool  // the start condition
	unnamed                      bool  // the rule names no field; the predicate's is the default
	check, level                 uint8 // index in checks and levels
}

// reportOn returns the report on a rule at a place; its predicate is set later.
func reportOn(r Rule, at place, start bool) report {
	return report{
		path: at.path, negated: at.negated, advisory: at.advisory, preferred: at.preferred, start: start,
		value: r.Value, unnamed: r.Field == "",
		check: uint8(slices.Index(checks, string(r.Check))), level: uint8(slices.Index(levels, r.Level)),
	}
}

// asked returns the rule of a report, as written.
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

// nothing is what a sensor shows that is not in a snapshot.
var nothing sensor.Seen

// fill writes the report on s into l. Reasons share the writer's memory.
func (p *predicate) fill(l *Leaf, w *writer, s Snapshot, now time.Time) {
	l.Outcome = p.absent
	seen := &nothing
	if int(p.slot) < len(s) {
		seen = &s[p.slot]
	}
	if !seen.At.IsZero() {
		now = seen.At
	}
	w.begin()
	switch {
	case p.timed && p.more.time.over:
		p.fillSlices(l, w, seen, now)
	case seen.Reading == nil:
		w.missing(seen)
	default:
		p.fillReading(l, w, seen, now)
	}
	l.Reason = w.taken()
}

// fillReading reports on the reading of a single period.
func (p *predicate) fillReading(l *Leaf, w *writer, seen *sensor.Seen, now time.Time) {
	reading := seen.Reading
	l.Version, l.Age = reading.Version, max(0, now.Sub(reading.UpdatedAt))
	if expired(reading, now) {
		w.expired(now.Sub(reading.ExpiresAt))
		return
	}
	p.found(l, w, reading, now)
	if p.timed {
		p.settling(l, w, reading, now)
	}
	if l.Effective() != Pass && l.PassesAt.IsZero() {
		l.PassesAt = p.turns(!l.Negated, reading, now)
	}
	if seen.Note != "" {
		w.WriteString("; ")
		w.WriteString(seen.Note)
	}
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

// aged reports on an age check; l has the value.
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

// ending writes what a predicate needs, after the value.
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
		if p.op != opSame && p.op != opIn { // the value is what is needed
			w.WriteString(" (needs ")
			w.needs()
			w.WriteByte(')')
		}
	}
}

// unfit says what a value should have been when a check is unknown.
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

// beforeValue is what precedes a rule's value where it says what is needed.
var beforeValue = map[Check]string{
	NotEquals: "anything but ", In: "one of ", Matches: "a match of ",
	GT: "> ", GTE: "≥ ", LT: "< ", LTE: "≤ ", AgeGT: "> ", AgeLT: "< ",
}

// needs writes what the rule requires of its field: "≥ 1000", "one of \"a\", \"b\"".
func (w *writer) needs() {
	value := normal(w.rule.Value)
	w.WriteString(beforeValue[w.rule.Check])
	text, quoted := value.(string)
	switch check := w.rule.Check; {
	case check == In:
		w.listed(value)
	case quoted && check != Equals && check != NotEquals && check != Matches: // a number or a duration, written as text
		w.WriteString(text)
	default:
		w.value(value)
	}
}

// normal converts a rule's value to the types a writer supports. Most already are.
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
