package sensor

import "math"

// SameData reports whether two writes have the same data, so that the second is not new data.
// Numbers are compared by value: 1 and 1.0 are the same.
func SameData(a, b Fields) bool { return sameMap(a, b) }

func sameMap(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for name, value := range a {
		other, there := b[name]
		if !there || !same(value, other) {
			return false
		}
	}
	return true
}

func same(a, b any) bool {
	switch a := a.(type) {
	case int64:
		switch b := b.(type) {
		case int64:
			return a == b
		case float64:
			return CompareIntFloat(a, b) == 0
		}
		return false
	case float64:
		switch b := b.(type) {
		case int64:
			return CompareIntFloat(b, a) == 0
		case float64:
			return a == b
		}
		return false
	case []any:
		b, ok := b.([]any)
		return ok && sameList(a, b)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && sameMap(a, b)
	case nil:
		return b == nil
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case string:
		b, ok := b.(string)
		return ok && a == b
	}
	return false
}

func sameList(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !same(a[i], b[i]) {
			return false
		}
	}
	return true
}

// CompareIntFloat compares an integer and a float by their exact values: -1, 0 or 1 as i is less than, equal to or
// greater than f. Converting either to the other's type would round from 2^53 on. NaN is not ordered; callers exclude
// it, and here it counts as greater.
func CompareIntFloat(i int64, f float64) int {
	switch {
	case f != f, f >= 1<<63:
		return -1
	case f < -1<<63:
		return 1
	}
	whole := int64(f) // exact: f is in range, and only its fraction is dropped
	switch {
	case i < whole:
		return -1
	case i > whole:
		return 1
	}
	switch fraction := f - math.Trunc(f); {
	case fraction > 0:
		return -1
	case fraction < 0:
		return 1
	}
	return 0
}
