package rerun

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"

	"github.com/interlock-go/interlock/internal/excerpt"
)

// Movement is the result of comparing a post-run value with its baseline.
type Movement struct {
	Known   bool   // both are numbers, so they can be compared
	Drifted bool   // they differ by more than the threshold
	Delta   string // current − baseline, if Known
	Reason  string // as text; says what cannot be compared if not Known
}

// Drift compares the drift field of a reading with its baseline: it has drifted if |current −
// baseline| > threshold, without rounding. A nil value means that the field is missing, which is
// neither zero nor unchanged: like anything that is not a number, it makes the result unknown and
// must be reported.
func Drift(baseline, current any, threshold float64) Movement {
	was, why := number(baseline)
	if was == nil {
		return Movement{Reason: "the baseline " + why}
	}
	is, why := number(current)
	if is == nil {
		return Movement{Reason: "the new reading " + why}
	}
	limit, _ := number(max(threshold, 0))
	if limit == nil {
		return Movement{Reason: fmt.Sprintf("the threshold %v is not a number", threshold)}
	}
	delta := new(big.Rat).Sub(is, was)
	m := Movement{Known: true, Delta: decimal(delta), Drifted: new(big.Rat).Abs(delta).Cmp(limit) > 0}
	than := "within"
	if m.Drifted {
		than = "beyond"
	}
	m.Reason = fmt.Sprintf("changed by %s from %s to %s, %s the threshold of %s", m.Delta, decimal(was), decimal(is), than, decimal(limit))
	return m
}

// decimalText matches numbers in text form. Hex, Inf, NaN and fractions do not count, and the
// exponent is short, so that no input makes us compute with a billion digits.
var decimalText = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$`)

// maxText is the longest text that is parsed as a number.
const maxText = 400

// number returns v as an exact number, or nil and what it is instead. A float is converted by its
// shortest decimal form, which is what its writer wrote.
func number(v any) (*big.Rat, string) {
	text := ""
	switch v := v.(type) {
	case nil:
		return nil, "has no such field"
	case int:
		return new(big.Rat).SetInt64(int64(v)), ""
	case int64:
		return new(big.Rat).SetInt64(v), ""
	case float64:
		text = strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		text = v
	case bool:
		return nil, noNumber(strconv.FormatBool(v))
	case []any:
		return nil, noNumber("a list")
	default:
		return nil, noNumber("an object")
	}
	if len(text) <= maxText && decimalText.MatchString(text) {
		if n, ok := new(big.Rat).SetString(text); ok {
			return n, ""
		}
	}
	return nil, noNumber(excerpt.Quoted(text, 40))
}

func noNumber(found string) string { return "has " + found + ", which is not a number" }

// decimal formats n: in full, which is exact for decimals, or with an exponent if that is long.
func decimal(n *big.Rat) string {
	const longest = 40
	digits, _ := n.FloatPrec()
	if text := n.FloatString(digits); len(text) <= longest {
		return text
	}
	return new(big.Float).SetRat(n).Text('g', 17)
}
