package sensor

import (
	"math"
	"strconv"
)

// AppendFloat appends a number as rules show it: without an exponent for ordinary magnitudes. A
// whole number beyond 64 bits has all its digits, as it is compared; the shortest form, which JSON
// uses, would end in zeros.
func AppendFloat(b []byte, f float64) []byte {
	format, precision := byte('f'), -1
	switch size := math.Abs(f); {
	case beyondInt64(f):
		precision = 0
	case size != 0 && size < 1e-6 || size >= 1e21:
		format = 'g'
	}
	return strconv.AppendFloat(b, f, format, precision, 64)
}

// beyondInt64 reports whether f is a whole number that does not fit in 64 bits and is still written
// without an exponent.
func beyondInt64(f float64) bool { return math.Abs(f) >= 1<<63 && math.Abs(f) < 1e21 }
