package sensor

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// SameFacts reports whether two writes for one period have the same data, so that the second is not
// new data. How each names the period makes no difference.
func SameFacts(a, b Fields) bool { return SameData(Facts(a), Facts(b)) }

// Facts returns the fields without those that name the period of the write: a producer may send
// {"date": "2026-03-03"}, {"date": "20260303"} or the suffix "#2026-03-03" of the key.
func Facts(f Fields) Fields {
	if _, dated := f["date"]; !dated {
		return f
	}
	facts := maps.Clone(f)
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
