package rule

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/sensor"
)

// maxSlices is the maximum number of periods a rule is evaluated for: the minutes of a day of 25
// hours.
const maxSlices = 1500

// timed is the compiled form of settled and over.
type timed struct {
	settled time.Duration // 0 if not set
	over    bool
	need    int    // for over: how many periods must pass; 0 means all
	words   string // settled and over as text
}

func (p *parser) time() *timed {
	p.out.timed = true
	if p.rare().time == nil {
		p.rare().time = &timed{}
	}
	return p.rare().time
}

func (p *parser) settled() {
	if p.rule.Settled == nil {
		return
	}
	settled := time.Duration(*p.rule.Settled)
	if settled <= 0 {
		p.errorf("settled", "is %s; it must be above 0, like 15m", *p.rule.Settled)
		return
	}
	p.time().settled = settled
}

func (p *parser) over() {
	o := p.rule.Over
	if o == nil {
		return
	}
	switch {
	case o.Slices != "" && (o.Last != 0 || o.Of != ""):
		p.errorf("over", "combines slices with last or of; write {slices: hour} for the slices inside the period, or {last: 7, of: day}")
	case o.Slices == "" && o.Last == 0 && o.Of == "":
		p.errorf("over", "needs slices, like {slices: hour}, or last and of, like {last: 7, of: day}")
	case o.Slices == "" && o.Of == "":
		p.errorf("over", "last needs of, the size of the slices, like {last: %d, of: day}", o.Last)
	case o.Slices == "" && o.Last < 1:
		p.errorf("over", "of needs last, how many slices, like {last: 7, of: %s}", o.Of)
	case o.Last > maxSlices:
		p.errorf("over.last", "is %d; at most %d slices are allowed", o.Last, maxSlices)
	case o.AtLeast < 0 || o.Last > 0 && o.AtLeast > o.Last:
		p.errorf("over.atLeast", "is %d; write a number from 1 to %d", o.AtLeast, o.Last)
	case o.compiled().Size == 0:
		p.errorf("over", "unknown slice size %q; use %s", o.Slices+o.Of, period.SizeNames)
	}
	t := p.time()
	t.over, t.need = true, o.AtLeast
}

// compiled returns the range of periods; without a size if the size is unknown.
func (o *Over) compiled() Range {
	size, _ := period.ParseSize(cmp.Or(o.Slices, o.Of))
	return Range{Size: size, Last: o.Last}
}

// time returns settled and over as text.
func (r Rule) time() string {
	var parts []string
	if r.Settled != nil {
		parts = append(parts, "settled for "+r.Settled.String())
	}
	if r.Over != nil {
		parts = append(parts, r.Over.words())
	}
	return strings.Join(parts, ", ")
}

func (o *Over) words() string {
	many := "each"
	if o.AtLeast > 0 {
		many = fmt.Sprintf("at least %d", o.AtLeast)
	}
	if o.Slices != "" {
		return fmt.Sprintf("for %s of its %ss", many, o.Slices)
	}
	return fmt.Sprintf("for %s of the last %d %ss", many, o.Last, o.Of)
}

// overTime returns the outcome of a rule with settled or over.
func (p *predicate) overTime(seen *sensor.Seen, now time.Time) Outcome {
	if !p.more.time.over {
		out, _ := p.settledOn(seen.Reading, now)
		return out
	}
	var count [Pass + 1]int
	for i := range seen.Over {
		out, _ := p.settledOn(seen.Over[i].Reading, now)
		count[out]++
	}
	return p.counted(count)
}

// settledOn returns the outcome on one reading. If it fails only because too little time has passed,
// at is when it passes.
func (p *predicate) settledOn(r *sensor.Reading, now time.Time) (out Outcome, at time.Time) {
	out = p.on(r, now)
	if out != Pass {
		if at = p.ages(true, r, now); !at.IsZero() && p.more.time.settled > 0 {
			at = period.Later(at, r.Unchanged().Add(p.more.time.settled))
		}
		return out, at
	}
	if p.more.time.settled == 0 {
		return Pass, at
	}
	if at = r.Unchanged().Add(p.more.time.settled); now.Before(at) {
		return Fail, at
	}
	return Pass, time.Time{}
}

// ages returns when an age check passes, or fails, because the age grows; zero if it does not.
func (p *predicate) ages(pass bool, r *sensor.Reading, now time.Time) time.Time {
	if p.op != opOlder && p.op != opYounger || pass != (p.op == opOlder) || r == nil || expired(r, now) {
		return time.Time{}
	}
	v := p.value(r)
	if v == nil && !p.own {
		return time.Time{}
	}
	age, ok := ageOf(v, r, now)
	if out := p.compareAge(age, ok); out == Unknown || (out == Pass) == pass {
		return time.Time{}
	}
	at := now.Add(p.age() - age)
	if p.op == opOlder { // it must be older than the age, and stores keep milliseconds
		at = at.Truncate(time.Millisecond).Add(time.Millisecond)
	}
	if !r.ExpiresAt.IsZero() && !at.Before(r.ExpiresAt) {
		return time.Time{}
	}
	return at
}

// turns returns when the rule on one reading passes, or fails, without new data; zero if it does
// not.
func (p *predicate) turns(pass bool, r *sensor.Reading, now time.Time) time.Time {
	if !pass && p.absent == Fail && !r.ExpiresAt.IsZero() { // a reading that must be absent
		return r.ExpiresAt
	}
	return p.ages(pass, r, now)
}

// counted returns the outcome for the number of periods with each outcome.
func (p *predicate) counted(count [Pass + 1]int) Outcome {
	total := count[Pass] + count[Fail] + count[Unknown]
	switch need := p.need(total); {
	case total == 0:
		return Unknown
	case count[Pass] >= need:
		return Pass
	case count[Pass]+count[Unknown] < need:
		return Fail
	}
	return Unknown
}

// need returns how many of total periods must pass.
func (p *predicate) need(total int) int {
	if p.more.time.need > 0 {
		return p.more.time.need
	}
	return total
}

// settling adds to the report on a reading how long its data has been unchanged.
func (p *predicate) settling(l *Leaf, w *writer, reading *sensor.Reading, now time.Time) {
	if p.more.time.settled > 0 && l.Outcome == Pass {
		w.unchanged(now.Sub(reading.Unchanged()), p.more.time.settled)
	}
	l.Outcome, l.PassesAt = p.settledOn(reading, now)
	if !l.PassesAt.IsZero() {
		w.WriteString(": passes at ")
		w.WriteString(period.Stamp(l.PassesAt))
	}
}

// unchanged writes how long data has been unchanged, and how long it must be.
func (w *writer) unchanged(age, settled time.Duration) {
	w.WriteString(", unchanged for ")
	w.duration(max(age, 0))
	w.WriteString(" (needs ")
	w.WriteString(document.Duration(settled).String())
	w.WriteByte(')')
}

// mostSlices is how many periods a reason names.
const mostSlices = 10

// fillSlices reports on a rule over several periods: how many pass, and what the others show.
func (p *predicate) fillSlices(l *Leaf, w *writer, seen *sensor.Seen, now time.Time) {
	var count [Pass + 1]int
	var passing []time.Time // when periods pass without new data
	var missing []int
	for i := range seen.Over {
		out, at := p.settledOn(seen.Over[i].Reading, now)
		count[out]++
		if out != Pass {
			missing = append(missing, i)
		}
		if !at.IsZero() {
			passing = append(passing, at)
		}
		if r := seen.Over[i].Reading; r != nil && r.Version > l.Version {
			l.Version, l.Age = r.Version, max(0, now.Sub(r.UpdatedAt))
		}
	}
	l.Outcome, l.Value = p.counted(count), int64(count[Pass])
	if len(seen.Over) == 0 {
		w.WriteString("no slice counts")
		if seen.Note != "" {
			w.WriteString(": ")
			w.WriteString(seen.Note)
		}
		return
	}
	need := p.need(len(seen.Over))
	if lack := need - count[Pass]; lack > 0 && lack <= len(passing) {
		slices.SortFunc(passing, time.Time.Compare)
		l.PassesAt = passing[lack-1]
	}
	w.WriteString(strconv.Itoa(count[Pass]))
	w.WriteString(" of ")
	if l.Outcome == Pass && need < len(seen.Over) {
		w.WriteString(strconv.Itoa(len(seen.Over)))
		w.WriteString(" (needs ")
		w.WriteString(strconv.Itoa(need))
		w.WriteByte(')')
	} else {
		w.WriteString(strconv.Itoa(need))
	}
	for n, i := range missing[:min(len(missing), mostSlices)] {
		w.WriteString([...]string{": ", ", "}[min(n, 1)])
		p.slice(w, &seen.Over[i], seen.For, now)
	}
	if more := len(missing) - mostSlices; more > 0 {
		w.WriteString(" and ")
		w.WriteString(strconv.Itoa(more))
		w.WriteString(" more")
	}
}

// slice writes what a failing period inside whole shows: "T03 no reading".
func (p *predicate) slice(w *writer, seen *sensor.Seen, whole period.Period, now time.Time) {
	name := seen.For.String()
	if day := seen.For.FirstDay(); seen.For.Size() < period.Day && whole.Size() <= period.Day && day == whole.FirstDay() {
		name = name[len(day.String()):]
	}
	w.WriteString(name)
	w.WriteByte(' ')
	r := seen.Reading
	if r == nil {
		w.WriteString("no reading")
		return
	}
	if expired(r, now) {
		w.expired(now.Sub(r.ExpiresAt))
		return
	}
	if _, at := p.settledOn(r, now); !at.IsZero() && p.on(r, now) == Pass {
		w.WriteString("changed ")
		w.duration(max(now.Sub(r.Unchanged()), 0))
		w.WriteString(" ago")
		return
	}
	v := p.value(r)
	switch age, ok := ageOf(v, r, now); {
	case (p.op == opYounger || p.op == opOlder) && ok && (v != nil || p.own):
		w.subject(p.field)
		w.age(age)
	case v == nil:
		w.missingField(p.field)
	default:
		w.subject(p.field)
		w.value(v)
	}
}

// Fields returns the fields that the rules of the i-th Ref read, without duplicates; "" is the
// reading itself.
func (g *Gate) Fields(i int) []string {
	var fields []string
	for n := range g.predicates {
		if p := &g.predicates[n]; int(p.slot) == i && !slices.Contains(fields, p.field) {
			fields = append(fields, p.field)
		}
	}
	return fields
}
