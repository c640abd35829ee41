package rule

import (
	"cmp"
	"regexp"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/sensor"
)

// maxSkew is how far in the future a timestamp may lie, since clocks differ; beyond it its age is unknown.
const maxSkew = 2 * time.Minute

// ownTimestamp is the field that age checks find in every reading: absent in the data, it is when the store took it.
const ownTimestamp = "updatedAt"

// op is a check as evaluation sees it.
type op uint8

const (
	opExists      op = iota // of the reading
	opExistsField           // of a field in it
	opSame
	opDiffers
	opIn
	opOrder // gt, gte, lt, lte, by the orders that hold
	opYounger
	opOlder
	opMatches
)

// orders is the set of comparison results (field to operand: -1, 0, 1) on which an order check holds.
type orders uint8

const (
	less orders = 1 << iota
	equal
	greater
)

func (o orders) outcome(compared int) Outcome { return outcome(o&(less<<(1+compared)) != 0) }

// predicate is a compiled rule: small, so that many fit into the processor's cache, and with no work left that
// does not depend on the reading. What only its report needs is in report.
type predicate struct {
	op     op
	holds  orders  // of opOrder
	absent Outcome // when there is no reading or no such field
	own    bool    // the field is ownTimestamp of an age check
	dotted bool    // the field is a path
	timed  bool    // it has settled or over
	slot   int32   // of the sensor in a Snapshot
	report int32   // of its rule
	field  string
	with   operand // of opSame, opDiffers and opOrder; of opYounger and opOlder, its i is the age
	more   *rare
}

// age is what opYounger and opOlder compare with.
func (p *predicate) age() time.Duration { return time.Duration(p.with.i) }

// rare is what few predicates need.
type rare struct {
	path []string       // of a dotted field
	in   []operand      // of opIn
	expr *regexp.Regexp // of opMatches
	time *timed         // of a rule with settled or over
}

// eval is the outcome on what the snapshot shows of the predicate's sensor.
func (p *predicate) eval(s Snapshot, now time.Time) Outcome {
	if int(p.slot) >= len(s) {
		return p.absent
	}
	if p.timed {
		return p.overTime(&s[p.slot], now)
	}
	return p.on(s[p.slot].Reading, now)
}

// on is the outcome on one reading; nil is none.
func (p *predicate) on(r *sensor.Reading, now time.Time) Outcome {
	if r == nil || expired(r, now) {
		return p.absent
	}
	if p.op == opExists {
		return Pass
	}
	v := p.value(r)
	switch p.op {
	case opSame: // the usual kinds of value are compared here and now, without a call
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

// value is the predicate's field in r; nil stands for null and for a missing field alike.
func (p *predicate) value(r *sensor.Reading) any {
	v := r.Fields[p.field]
	if v == nil && p.dotted {
		return dig(r.Fields, p.more.path)
	}
	return v
}

// dig follows a path into objects. The caller has looked for a field whose very name has the dots in it.
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

// test is the outcome on a field's value.
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
		return outcome(p.oneOf(v))
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

func (p *predicate) oneOf(v any) bool {
	for i := range p.more.in {
		if p.more.in[i].same(v) {
			return true
		}
	}
	return false
}

// compareAge is the outcome on an age, if there is one.
func (p *predicate) compareAge(age time.Duration, ok bool) Outcome {
	switch {
	case !ok || age < -maxSkew:
		return Unknown
	case p.op == opYounger:
		return outcome(age < p.age())
	}
	return outcome(age > p.age())
}

// ageOf is how long ago the instant in v was; negative in the future. Without a value it is the reading's own.
func ageOf(v any, r *sensor.Reading, now time.Time) (time.Duration, bool) {
	if v == nil {
		return now.Sub(r.UpdatedAt), !r.UpdatedAt.IsZero()
	}
	t, ok := instantOf(v)
	return now.Sub(t), ok
}

// splitField prepares a field that is a path.
func splitField(field string) []string {
	if !strings.Contains(field, ".") {
		return nil
	}
	return strings.Split(field, ".")
}
