package rule

import (
	"math"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/sensor"
)

// Examples lists values of the field with which the check is likely to pass, or to fail: the
// plainest first. A caller tries them with On. A time.Time stands for an instant as text.
func (t Term) Examples(pass bool, now time.Time) []any {
	value := normal(t.Value)
	switch t.Check {
	case Exists:
		return []any{true}
	case Equals, NotEquals:
		if pass == (t.Check == Equals) {
			return []any{value}
		}
		return others(value)
	case In:
		list, _ := value.([]any)
		if pass {
			return list
		}
		var values []any
		for _, item := range list {
			values = append(values, others(item)...)
		}
		return values
	case GT, GTE, LT, LTE:
		return t.numbers(pass)
	case AgeLT, AgeGT:
		age := t.predicate.age()
		if pass == (t.Check == AgeLT) {
			return []any{now, now.Add(-age / 2)}
		}
		return []any{now.Add(-age - margin(age))}
	case Matches:
		return t.texts(pass)
	}
	return nil
}

// margin is how much older than needed an example is, so that it is still so when it is rounded.
func margin(age time.Duration) time.Duration { return max(2*time.Second, age/100) }

// Between lists values that satisfy several checks at once where the examples of none do: the
// middles between the bounds that they set.
func Between(examples []any) []any {
	var numbers []float64
	var times []time.Time
	for _, v := range examples {
		if n, ok := numberOf(v); ok {
			numbers = append(numbers, floatOf(n))
		} else if at, ok := v.(time.Time); ok {
			times = append(times, at)
		}
	}
	slices.Sort(numbers)
	slices.SortFunc(times, time.Time.Compare)
	var between []any
	for i := 1; i < len(numbers); i++ {
		low, high := numbers[i-1], numbers[i]
		if middle := low/2 + high/2; low < middle && middle < high {
			if whole := math.Round(middle); low < whole && whole < high {
				middle = whole
			}
			between = append(between, plain(middle))
		}
	}
	for i := 1; i < len(times); i++ {
		between = append(between, times[i-1].Add(times[i].Sub(times[i-1])/2))
	}
	return between
}

func floatOf(n number) float64 {
	if n.integer {
		return float64(n.i)
	}
	return n.float()
}

// plain returns a float as an integer if it is one.
func plain(f float64) any {
	if n, ok := floatNumber(f); ok && n.integer && math.Abs(f) < 1<<53 {
		return n.i
	}
	return f
}

// others lists values that differ from v.
func others(v any) []any {
	switch v := v.(type) {
	case bool:
		return []any{!v}
	case string:
		switch v {
		case "true":
			return []any{false, "other"}
		case "false":
			return []any{true, "other"}
		}
		if n, ok := parseDecimal(v); ok {
			return append(beside(n, true), "other")
		}
		return []any{"other", "not " + v}
	default:
		n, _ := numberOf(v)
		return append(beside(n, true), "other")
	}
}

// numbers lists numbers for which an order check passes, or fails.
func (t Term) numbers(pass bool) []any {
	n := t.predicate.with.num()
	above := pass == (t.Check == GT || t.Check == GTE)
	values := beside(n, above)
	if inclusive := t.Check == GTE || t.Check == LTE; inclusive == pass {
		return append([]any{valueOf(n)}, values...)
	}
	return values
}

// valueOf returns a number as a value of a reading.
func valueOf(n number) any {
	if n.integer {
		return n.i
	}
	return n.float()
}

// beside lists numbers above n, or below it: the next whole one, and the next one of all.
func beside(n number, above bool) []any {
	step, toward := int64(1), math.Inf(1)
	if !above {
		step, toward = -1, math.Inf(-1)
	}
	if n.integer && n.i != math.MaxInt64 && n.i != math.MinInt64 {
		return []any{n.i + step, math.Nextafter(float64(n.i), toward)}
	}
	f := floatOf(n)
	whole := math.Ceil(f)
	if !above {
		whole = math.Floor(f)
	}
	var values []any
	if next := math.Nextafter(f, toward); !math.IsInf(next, 0) {
		values = append(values, next)
	}
	if whole != f && math.Abs(whole) < 1<<53 {
		values = append([]any{int64(whole)}, values...)
	}
	return values
}

// texts lists texts that match the expression, or do not.
func (t Term) texts(pass bool) []any {
	expr := t.predicate.more.expr
	tree, err := syntax.Parse(expr.String(), syntax.Perl)
	if err != nil {
		return nil // it compiled, so it parses
	}
	var found []any
	add := func(text string) {
		if expr.MatchString(text) == pass && !slices.Contains(found, any(text)) {
			found = append(found, text)
		}
	}
	if !pass {
		for _, text := range []string{"other", "", "0", "-", "Other", "a b"} {
			add(text)
		}
	}
	for variant := range maxVariants {
		var w strings.Builder
		left := maxSampled
		sample(&w, tree, variant, &left)
		for _, around := range []string{"", "a", " "} {
			add(around + w.String() + around)
		}
		if !pass {
			add(w.String() + "!")
			add("!" + w.String())
		}
	}
	return found
}

// maxVariants is how many texts are tried for an expression.
const maxVariants = 16

// maxSampled is of how many parts of an expression a text consists at most.
const maxSampled = 10_000

// sample writes a text of an expression. The variant decides on alternatives and repetitions.
// It takes at most so many parts as are left.
func sample(w *strings.Builder, re *syntax.Regexp, variant int, left *int) {
	if *left--; *left < 0 || w.Len() > sensor.MaxBytes/64 { // repetitions inside repetitions
		return
	}
	times := func(n int) {
		for range n {
			sample(w, re.Sub[0], variant, left)
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		w.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		w.WriteRune(member(re.Rune, variant))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		w.WriteRune(rune('a' + variant))
	case syntax.OpCapture:
		times(1)
	case syntax.OpStar, syntax.OpQuest:
		times(variant % 2)
	case syntax.OpPlus:
		times(1 + variant%3)
	case syntax.OpRepeat:
		times(re.Min + between(variant%3, re.Min, re.Max))
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			sample(w, sub, variant, left)
		}
	case syntax.OpAlternate:
		sample(w, re.Sub[variant%len(re.Sub)], variant/len(re.Sub)+variant%2, left)
	default: // anchors, and what matches nothing
	}
}

// between returns how many more than low repetitions there may be, at most more; high is negative
// without a limit.
func between(more, low, high int) int {
	if high < 0 {
		return more
	}
	return min(more, high-low)
}

// member returns a character of a class, given as pairs of bounds: a readable one if it has any.
func member(class []rune, variant int) rune {
	const readable = "a0Abcdefghijklmnopqrstuvwxyz123456789BCDEFGHIJKLMNOPQRSTUVWXYZ_-. :/"
	var good []rune
	for _, c := range readable {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= c && c <= class[i+1] {
				good = append(good, c)
			}
		}
	}
	switch {
	case len(good) > 0:
		return good[variant%len(good)]
	case len(class) > 0:
		return class[0]
	}
	return 'a' // a class without members matches nothing
}
