package rule

import (
	"cmp"
	"regexp"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/sensor"
)

// maxSkew is how far in the future a timestamp may be, since clocks differ; beyond it the age is
// unknown.
const maxSkew = 2 * time.Minute

// ownTimestamp is the field that age checks find in every reading: if the data does not have it, it
// is the time of the write.
const ownTimestamp = "updatedAt"

// op is a check in compiled form.
type op uint8

const (
	opExists      op = iota // the reading exists
	opExistsField           // the field exists
	opSame
	opDiffers
	opIn
	opOrder // gt, gte, lt, lte, depending on holds
	opYounger
	opOlder
	opMatches
)

// orders is the set of comparison results (field to operand: -1, 0, 1) for which an order check
// holds.
type orders uint8

const (
	less orders = 1 << iota
	equal
	greater
)

func (o orders) outcome(compared int) Outcome { return outcome(o&(less<<(1+compared)) != 0) }

// predicate is a compiled rule: small, so that many fit into the CPU cache, and with everything
// precomputed that does not depend on the reading. Data that only its report needs is in report.
type predicate struct {
	op     op
	holds  orders  // for opOrder
	absent Outcome // outcome without a reading or field
	own    bool    // the field is ownTimestamp of an age check
	dotted bool    // the field is a path
	timed  bool    // it has settled or over
	slot   int32   // index of the sensor in a Snapshot
	report int32   // index of its report
	field  string
	with   operand // for opSame, opDiffers and opOrder; for opYounger and opOlder, its i is the age
	more   *rare
}

// age is the age that opYounger and opOlder compare with.
func (p *predicate) age() time.Duration { return time.Duration(p.with.i) }

// rare is what only few predicates need.
type rare struct {
	path []string       // for a dotted field
	in   []operand      // for opIn
	expr *regexp.Regexp // for opMatches
	time *timed         // for a rule with settled or over
}

// eval returns the outcome on the snapshot.
func (p *predicate) eval(s Snapshot, now time.Time) Outcome {
	if int(p.slot) >= len(s) {
		return p.absent
	}
	seen := &s[p.slot]
	if !seen.At.IsZero() {
		now = seen.At
	}
	if p.timed {
		return p.overTime(seen, now)
	}
	return p.on(seen.Reading, now)
}

// on returns the outcome on one reading, which may be nil.
func (p *predicate) on(r *sensor.Reading, now time.Time) Outcome {
	if r == nil || expired(r, now) {
		return p.absent
	}
	if p.op == opExists {
		return Pass
	}
	v := p.value(r)
	switch p.op {
	case opSame: // compare the usual types inline, without a call
		if text, ok := v.(string); ok && p.with.isText {
			return outcome(text == p.with.text)
		}
	case opOrder:
		if i, ok := v.(int64); ok && p.with.integer {
			return p.holds.outcome(cmp.Compare(i, p.with.i))
		}
	}
	return p.test(v, r, now)
}

func expired(r *sensor.Reading, now time.Time) bool {
	return !r.ExpiresAt.IsZero() && !r.ExpiresAt.After(now)
}

// value returns the predicate's field in r; nil for null and for a missing field alike.
func (p *predicate) value(r *sensor.Reading) any {
	v := r.Fields[p.field]
	if v == nil && p.dotted {
		return dig(r.Fields, p.more.path)
	}
	return v
}

// dig follows a path into objects. The caller has already tried a field whose name itself contains
// the dots.
func dig(m map[string]any, path []string) any {
	last := len(path) - 1
	for _, name := range path[:last] {
		inner, ok := m[name].(map[string]any)
		if !ok {
			return nil
		}
		m = inner
	}
	return m[path[last]]
}

// test returns the outcome on a field's value.
func (p *predicate) test(v any, r *sensor.Reading, now time.Time) Outcome {
	if v == nil && !p.own {
		return p.absent
	}
	switch p.op {
	case opSame:
		return outcome(p.with.same(v))
	case opDiffers:
		return outcome(!p.with.same(v))
	case opOrder:
		return p.order(v)
	case opYounger, opOlder:
		return p.compareAge(ageOf(v, r, now))
	case opIn:
		return outcome(slices.ContainsFunc(p.more.in, func(o operand) bool { return o.same(v) }))
	case opMatches:
		text, ok := v.(string)
		if !ok {
			return Unknown
		}
		return outcome(p.more.expr.MatchString(text))
	}
	return Pass // the field exists
}

func outcome(holds bool) Outcome {
	if holds {
		return Pass
	}
	return Fail
}

func (p *predicate) order(v any) Outcome {
	n, ok := numberOf(v)
	if !ok {
		return Unknown
	}
	return p.holds.outcome(n.compare(p.with.num()))
}

// compareAge returns the outcome on an age, if there is one.
func (p *predicate) compareAge(age time.Duration, ok bool) Outcome {
	switch {
	case !ok || age < -maxSkew:
		return Unknown
	case p.op == opYounger:
		return outcome(age < p.age())
	}
	return outcome(age > p.age())
}

// ageOf returns how long ago the time in v was; negative in the future. Without a value it uses the
// reading's own time.
func ageOf(v any, r *sensor.Reading, now time.Time) (time.Duration, bool) {
	if v == nil {
		return now.Sub(r.UpdatedAt), !r.UpdatedAt.IsZero()
	}
	t, ok := instantOf(v)
	return now.Sub(t), ok
}
