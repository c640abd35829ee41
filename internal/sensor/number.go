package sensor

import "math"

// CompareIntFloat orders an integer and a float by their exact values: -1, 0 or 1 as i is less than, equal
// to or greater than f. Converting either to the other's type would round from 2^53 on. A NaN f is not ordered and
// counts as equal to nothing; callers rule it out first, here it is taken as greater.
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
