package rule

import (
	"cmp"
	"math"
	"strconv"

	"github.com/interlock-go/interlock/internal/sensor"
)

// number is a finite value stored exactly: as an integer if it fits into 64 bits, otherwise as a float.
type number struct {
	i       int64 // the bits of the float if not integer
	integer bool
}

func (n number) float() float64 { return math.Float64frombits(uint64(n.i)) }

// numberOf interprets v as a number: an integer, a finite float, or decimal text.
func numberOf(v any) (number, bool) {
	switch v := v.(type) {
	case int64:
		return number{i: v, integer: true}, true
	case float64:
		return floatNumber(v)
	case string:
		return parseDecimal(v)
	}
	return number{}, false
}

func floatNumber(f float64) (number, bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return number{}, false
	}
	if f == math.Trunc(f) && f >= -1<<63 && f < 1<<63 {
		return number{i: int64(f), integer: true}, true
	}
	return number{i: int64(math.Float64bits(f))}, true
}

// compare returns -1, 0 or 1 as a is less than, equal to or greater than b, without rounding.
func (a number) compare(b number) int {
	switch {
	case a.integer && b.integer:
		return cmp.Compare(a.i, b.i)
	case a.integer:
		return sensor.CompareIntFloat(a.i, b.float())
	case b.integer:
		return -sensor.CompareIntFloat(b.i, a.float())
	}
	return cmp.Compare(a.float(), b.float())
}

// parseDecimal parses a sign, digits, a fraction and an exponent, but not the other forms strconv accepts (Inf, NaN,
// hexadecimal, underscores). It does not allocate, unless the number is too large for a float.
func parseDecimal(s string) (number, bool) {
	rest := skipSign(s)
	whole := countDigits(rest)
	rest, digits, plain := rest[whole:], whole, true
	if rest != "" && rest[0] == '.' {
		fraction := countDigits(rest[1:])
		rest, digits, plain = rest[1+fraction:], digits+fraction, false
	}
	if digits == 0 {
		return number{}, false
	}
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		rest, plain = skipSign(rest[1:]), false
		exponent := countDigits(rest)
		if exponent == 0 {
			return number{}, false
		}
		rest = rest[exponent:]
	}
	if rest != "" {
		return number{}, false
	}
	if plain && whole < 20 {
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return number{i: i, integer: true}, true
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return number{}, false
	}
	return floatNumber(f)
}

func skipSign(s string) string {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		return s[1:]
	}
	return s
}

func countDigits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return c-'0' <= 9 }
