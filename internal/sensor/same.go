package sensor

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/interlock-go/interlock/internal/period"
)

// SameFacts reports whether two writes for one period have the same data, so that the second is not
// new data. How each names the period makes no difference.
func (r *Reading) SameFacts(old *Reading) bool {
	return r.Deleted == old.Deleted && SameData(r.Facts(), old.Facts())
}

// Facts returns the fields without those that only name the period of the reading: a producer may
// send {"date": "2026-03-03"}, {"date": "20260303"} or the suffix "#2026-03-03" of the key. Fields
// that name another period are data.
func (r *Reading) Facts() Fields {
	if _, dated := r.Fields["date"]; !dated {
		return r.Fields
	}
	if of, err := PeriodOf(r.Fields, period.Period{}); err != nil || of != r.Period {
		return r.Fields
	}
	facts := maps.Clone(r.Fields)
	for _, name := range []string{"date", "hour", "minute"} {
		delete(facts, name)
	}
	return facts
}

// SameData reports whether two writes have the same fields. Numbers are compared by value: 1 and
// 1.0 are the same.
func SameData(a, b Fields) bool { return maps.EqualFunc(a, b, same) }

func same(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, same)
	case int64:
		if b, ok := b.(float64); ok {
			return CompareIntFloat(a, b) == 0
		}
	case float64:
		if b, ok := b.(int64); ok {
			return CompareIntFloat(b, a) == 0
		}
	case nil, bool, string:
	default:
		return false
	}
	return a == b
}

// CompareIntFloat compares an integer and a float by their exact values: -1, 0 or 1 as i is less
// than, equal to or greater than f. Converting either to the other's type would round from 2^53 on.
// NaN is not ordered; callers exclude it, and here it counts as greater.
func CompareIntFloat(i int64, f float64) int {
	switch {
	case f != f, f >= 1<<63:
		return -1
	case f < -1<<63:
		return 1
	}
	whole, fraction := math.Modf(f)
	return cmp.Or(cmp.Compare(i, int64(whole)), cmp.Compare(0, fraction)) // exact: f is in range
}
