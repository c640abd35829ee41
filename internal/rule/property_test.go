package rule_test

import (
	"encoding/json"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/sensor"
)

// tree draws a rule over leaves of known outcomes; with negations only if asked for.
func tree(negations bool, depth int) *rapid.Generator[rule.Rule] {
	return rapid.Custom(func(t *rapid.T) rule.Rule {
		kinds := []string{"leaf", "all", "any", "atLeast"}
		if negations {
			kinds = append(kinds, "not")
		}
		if depth == 0 {
			kinds = kinds[:1]
		}
		kind := rapid.SampledFrom(kinds).Draw(t, "kind")
		if kind == "leaf" {
			return leaf(rapid.SampledFrom(outcomes).Draw(t, "outcome"))
		}
		if kind == "not" {
			return negated(tree(negations, depth-1).Draw(t, "inner"))
		}
		members := rapid.SliceOfN(tree(negations, depth-1), 1, 4).Draw(t, "members")
		switch kind {
		case "all":
			return rule.Rule{All: members}
		case "any":
			return rule.Rule{Any: members}
		}
		return atLeast(rapid.IntRange(1, len(members)).Draw(t, "n"), members...)
	})
}

// fold is the outcome by the definition, given those of the leaves; it takes them off the front as
// it meets them.
func fold(r rule.Rule, leaves *[]rule.Leaf) rule.Outcome {
	members, n := r.All, len(r.All)
	switch {
	case r.Any != nil:
		members, n = r.Any, 1
	case r.AtLeast != nil:
		members, n = r.AtLeast.Of, r.AtLeast.N
	case r.Not != nil:
		return pass - fold(*r.Not, leaves)
	case r.All == nil:
		first := (*leaves)[0]
		*leaves = (*leaves)[1:]
		return first.Outcome
	}
	var count [3]int
	for _, m := range members {
		count[fold(m, leaves)]++
	}
	switch {
	case count[pass] >= n:
		return pass
	case count[pass]+count[unknown] < n:
		return fail
	}
	return unknown
}

func TestDecideIsWhatTheLeavesAddUpTo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := tree(true, 4).Draw(t, "rule")
		g := all(t, r)
		v := g.Explain(shows(g, facts), noon)
		leaves := v.Leaves
		for _, l := range leaves {
			if l.Rule.Field != l.Outcome.String() {
				t.Fatalf("leaf %s is %s", l.Rule.Field, l.Outcome)
			}
		}
		want := fold(r, &leaves)
		if got := g.Decide(shows(g, facts), noon); got != want || v.Outcome != want {
			t.Fatalf("Decide %s, Explain %s, the leaves say %s", got, v.Outcome, want)
		}
	})
}

func TestDeMorgan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.SliceOfN(tree(true, 2), 1, 4).Draw(t, "members")
		var not []rule.Rule
		for _, m := range members {
			not = append(not, negated(m))
		}
		if a, b := outcomeOf(t, negated(rule.Rule{All: members})), outcomeOf(t, rule.Rule{Any: not}); a != b {
			t.Fatalf("not all is %s, any not is %s", a, b)
		}
		if a, b := outcomeOf(t, negated(rule.Rule{Any: members})), outcomeOf(t, rule.Rule{All: not}); a != b {
			t.Fatalf("not any is %s, all not is %s", a, b)
		}
		n := rapid.IntRange(1, len(members)).Draw(t, "n")
		if a, b := outcomeOf(t, negated(atLeast(n, members...))), outcomeOf(t, atLeast(len(members)-n+1, not...)); a != b {
			t.Fatalf("not at least %d is %s, at least %d not is %s", n, a, len(members)-n+1, b)
		}
	})
}

// replaced is a copy of r with the outcome of one drawn leaf changed.
func replaced(t *rapid.T, r rule.Rule, change func(rule.Outcome) rule.Outcome) rule.Rule {
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var copied rule.Rule
	if err := json.Unmarshal(text, &copied); err != nil {
		t.Fatal(err)
	}
	n := 0
	for range rule.Leaves([]rule.Rule{r}) {
		n++
	}
	left := rapid.IntRange(0, n-1).Draw(t, "which")
	changeLeaf(&copied, &left, change)
	return copied
}

func changeLeaf(r *rule.Rule, left *int, change func(rule.Outcome) rule.Outcome) {
	members := r.All
	switch {
	case r.All != nil:
	case r.Any != nil:
		members = r.Any
	case r.AtLeast != nil:
		members = r.AtLeast.Of
	case r.Not != nil:
		changeLeaf(r.Not, left, change)
		return
	default:
		if *left == 0 {
			*r = leaf(change(map[string]rule.Outcome{"pass": pass, "fail": fail, "unknown": unknown}[r.Field]))
		}
		*left--
		return
	}
	for i := range members {
		changeLeaf(&members[i], left, change)
	}
}

func TestBetterFactsNeverMakeItWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := tree(false, 3).Draw(t, "rule")
		better := replaced(t, r, func(o rule.Outcome) rule.Outcome { return min(pass, o+1) })
		if a, b := outcomeOf(t, r), outcomeOf(t, better); b < a {
			t.Fatalf("%s became %s", a, b)
		}
	})
}

func TestLearningMoreNeverTurnsADecisionRound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := tree(true, 3).Draw(t, "rule")
		to := rapid.SampledFrom(outcomes).Draw(t, "to")
		known := replaced(t, r, func(o rule.Outcome) rule.Outcome {
			if o == unknown {
				return to
			}
			return o
		})
		if a, b := outcomeOf(t, r), outcomeOf(t, known); a != unknown && a != b {
			t.Fatalf("%s became %s when an unknown became %s", a, b, to)
		}
	})
}

// numeric draws a number in one of the forms a field or a rule may hold it, and its exact value.
var numeric = rapid.Custom(func(t *rapid.T) any {
	edge := rapid.SampledFrom([]int64{0, 1, -1, 1 << 53, 1<<53 + 1, -(1<<53 + 1), math.MaxInt64, math.MaxInt64 - 1, math.MinInt64}).Draw(t, "edge")
	i := rapid.OneOf(rapid.Just(edge), rapid.Int64(), rapid.Int64Range(-5, 5)).Draw(t, "i")
	f := rapid.OneOf(rapid.Just(float64(edge)), rapid.Just(math.Nextafter(float64(edge), 0)), rapid.Float64(), rapid.Float64Range(-5, 5)).Draw(t, "f")
	return rapid.SampledFrom([]any{i, f, strconv.FormatInt(i, 10), strconv.FormatFloat(f, 'g', -1, 64)}).Draw(t, "form")
})

// exact is the value of what numeric drew; text with a fraction or exponent stands for the float
// nearest to it.
func exact(t *rapid.T, v any) *big.Rat {
	switch v := v.(type) {
	case int64:
		return new(big.Rat).SetInt64(v)
	case float64:
		return new(big.Rat).SetFloat64(v)
	}
	if i, err := strconv.ParseInt(v.(string), 10, 64); err == nil {
		return new(big.Rat).SetInt64(i)
	}
	f, err := strconv.ParseFloat(v.(string), 64)
	if err != nil {
		t.Fatal(err)
	}
	return new(big.Rat).SetFloat64(f)
}

func TestNumbersCompareExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := numeric.Draw(t, "field"), numeric.Draw(t, "value")
		c := exact(t, a).Cmp(exact(t, b))
		_, aText := a.(string)
		_, bText := b.(string)
		for check, want := range map[rule.Check]bool{
			rule.GT: c > 0, rule.GTE: c >= 0, rule.LT: c < 0, rule.LTE: c <= 0, rule.Equals: c == 0, rule.NotEquals: c != 0,
		} {
			if aText && bText && (check == rule.Equals || check == rule.NotEquals) {
				want = (a == b) == (check == rule.Equals)
			}
			g := all(t, rule.Rule{Key: "k", Check: check, Field: "f", Value: b})
			s := shows(g, reading(sensor.Fields{"f": a}))
			if got := g.Decide(s, noon); (got == pass) != want || got == unknown {
				t.Fatalf("%v %s %v: got %s (%s)", a, check, b, got, g.Explain(s, noon).Leaves[0].Reason)
			}
		}
	})
}

func TestEveryTimestampHasItsAge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		younger := all(t, rule.Rule{Key: "k", Check: rule.AgeLT, Field: "at", Value: "1h"})
		at, err := time.Parse(time.RFC3339, rapid.SampledFrom([]string{
			"2024-02-29T23:59:59Z", "2023-12-31T00:00:00Z", "2000-02-29T12:00:00Z", "1900-02-28T00:59:00Z", "2026-04-30T23:00:00Z", "9999-12-30T00:00:00Z",
			"2026-01-31T12:00:00Z", "2026-06-30T12:00:00Z", "2026-09-30T12:00:00Z", "2026-11-30T12:00:00Z",
		}).Draw(t, "edge"))
		if err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Duration(rapid.Int64Range(0, 60*60*1e9-1).Draw(t, "later")))
		zone := time.FixedZone("", 60*rapid.IntRange(-23*60-59, 23*60+59).Draw(t, "minutes east"))
		text := at.In(zone).Format(rapid.SampledFrom([]string{time.RFC3339, time.RFC3339Nano, "2006-01-02T15:04:05.000Z07:00"}).Draw(t, "layout"))
		if at, err = time.Parse(time.RFC3339, text); err != nil { // the layout may have cut it
			t.Fatal(err)
		}
		age := time.Duration(rapid.SampledFrom([]int64{-121e9, -120e9, 0, 3600e9 - 1, 3600e9, 1e15}).Draw(t, "age"))
		want := fail
		switch {
		case age < -2*time.Minute:
			want = unknown
		case age < time.Hour:
			want = pass
		}
		if got := younger.Decide(shows(younger, reading(sensor.Fields{"at": text})), at.Add(age)); got != want {
			t.Fatalf("%s, %s ago: got %s, want %s", text, age, got, want)
		}
	})
}

var decimalText = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// FuzzInstant compares the ages of texts with time.Parse, which takes a little more than RFC 3339.
func FuzzInstant(f *testing.F) {
	for _, seed := range []string{
		"2026-03-03T11:00:00Z", "2026-03-03T11:00:00.123456789012+05:30", "2024-02-29T23:59:59-23:59", "1772535600", "2026-02-29T00:00:00Z", "1e11", "0x10", "9999-12-31T23:59:59Z",
	} {
		f.Add(seed, int64(0))
	}
	younger := all(f, rule.Rule{Key: "k", Check: rule.AgeLT, Field: "at", Value: "1h"})
	f.Fuzz(func(t *testing.T, text string, shift int64) {
		now := noon.Add(time.Duration(shift))
		s := shows(younger, reading(sensor.Fields{"at": text}))
		got := younger.Decide(s, now)
		if v := younger.Explain(s, now); v.Outcome != got || v.Leaves[0].Outcome != got {
			t.Fatalf("Decide %s, Explain %s: %s", got, v.Outcome, v.Leaves[0].Reason)
		}
		if decimalText.MatchString(text) {
			return
		}
		at, err := time.Parse(time.RFC3339, text)
		switch age := now.Sub(at); {
		case err != nil && got != unknown:
			t.Fatalf("%q is no time, but %s", text, got)
		case got == unknown:
		case age < -2*time.Minute, (age < time.Hour) != (got == pass):
			t.Fatalf("%q is %s old, but %s", text, age, got)
		}
	})
}

// FuzzCompile takes any JSON as rules and readings: nothing panics, what has no errors compiles,
// and deciding agrees with explaining.
func FuzzCompile(f *testing.F) {
	for _, seed := range [][2]string{
		{`[{"Key":"k","Check":"gte","Field":"count","Value":1000}]`, `{"count":"1e3"}`},
		{`[{"Any":[{"Key":"k","Check":"exists"},{"Not":{"Key":"k","Check":"matches","Field":"a.b","Value":"x+"}}]}]`, `{"a":{"b":"xx"}}`},
		{`[{"AtLeast":{"N":2,"Of":[{"Key":"k","Check":"age_lt","Value":"2h"},{"Key":"k","Check":"in","Field":"s","Value":[1,"a"]}]}}]`, `{"s":"a"}`},
		{`[{"Key":"k","Check":"equals","Field":"s","Value":true,"Level":"advisory"}]`, `{"s":"true"}`},
		{`[{"All":[],"Key":"a#b"}]`, `{}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, text, data []byte) {
		var rules []rule.Rule
		if json.Unmarshal(text, &rules) != nil {
			return
		}
		fields, err := sensor.Decode(data)
		if err != nil {
			return
		}
		for range rule.Leaves(rules) {
			break
		}
		broken := hasErrors(rule.Findings(rules))
		for _, mode := range []rule.Mode{rule.ModeAll, rule.ModeAny} {
			g, err := rule.Compile(rule.Part{Mode: mode, Rules: rules})
			if broken != (err != nil) {
				t.Fatalf("findings: errors %v, Compile: %v", broken, err)
			}
			if err != nil {
				continue
			}
			for _, r := range []*sensor.Reading{nil, reading(fields)} {
				v := g.Explain(shows(g, r), noon)
				if got := g.Decide(shows(g, r), noon); got != v.Outcome {
					t.Fatalf("Decide %s, Explain %s", got, v.Outcome)
				}
				for _, l := range v.Leaves {
					if l.Reason == "" {
						t.Fatalf("%s has no reason", l.Rule.Check)
					}
				}
			}
		}
	})
}
