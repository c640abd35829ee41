package rule

import (
	"cmp"
	"math"
	"strconv"

	"github.com/interlock-go/interlock/internal/sensor"
)

// number is a finite value stored exactly: as an integer if it fits into 64 bits, otherwise as a
// float.
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

// parseDecimal parses a sign, digits, a fraction and an exponent, but not the other forms strconv
// accepts (Inf, NaN, hexadecimal, underscores). It does not allocate, unless the number is too
// large for a float.
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

// operand is a scalar that a rule compares with, with everything precomputed that a comparison
// needs.
type operand struct {
	text    string // exact text; only if isText
	i       int64  // of the number, only if isNum; not stored as a number struct, to save space
	integer bool
	isText  bool
	isNum   bool // also for text that is a decimal number
	isBool  bool // also for the texts "true" and "false"
	boolean bool
}

// num returns the operand as a number.
func (o *operand) num() number { return number{o.i, o.integer} }

func (o *operand) setNum(n number, ok bool) { o.i, o.integer, o.isNum = n.i, n.integer, ok }

// operandOf prepares a scalar; ok is false for anything else.
func operandOf(v any) (o operand, ok bool) {
	switch v := v.(type) {
	case string:
		o = operand{text: v, isText: true, isBool: v == "true" || v == "false", boolean: v == "true"}
		o.setNum(parseDecimal(v))
		return o, true
	case bool:
		return operand{isBool: true, boolean: v}, true
	case int64, float64:
		o.setNum(numberOf(v))
		return o, o.isNum
	}
	return operand{}, false
}

// same reports whether a field's value equals the operand: text exactly, numbers by value. A number
// or bool written as text, on either side, counts as that number or bool.
func (o *operand) same(v any) bool {
	switch v := v.(type) {
	case string:
		if o.isText {
			return v == o.text
		}
		if o.isBool {
			return o.boolean && v == "true" || !o.boolean && v == "false"
		}
		n, ok := parseDecimal(v)
		return ok && n.compare(o.num()) == 0
	case int64:
		return o.isNum && o.num().compare(number{i: v, integer: true}) == 0
	case float64:
		n, ok := floatNumber(v)
		return ok && o.isNum && n.compare(o.num()) == 0
	case bool:
		return o.isBool && v == o.boolean
	}
	return false
}
