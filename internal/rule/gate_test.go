package rule_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/sensor"
)

// leaf is a rule whose outcome is o on facts.
func leaf(o rule.Outcome) rule.Rule {
	return rule.Rule{Key: "k", Check: rule.Equals, Field: o.String(), Value: true}
}

func advisory(r rule.Rule) rule.Rule {
	r.Level = rule.Advisory
	return r
}

func leaves(outcomes ...rule.Outcome) []rule.Rule {
	var out []rule.Rule
	for _, o := range outcomes {
		out = append(out, leaf(o))
	}
	return out
}

func negated(r rule.Rule) rule.Rule { return rule.Rule{Not: &r} }

func atLeast(n int, of ...rule.Rule) rule.Rule {
	return rule.Rule{AtLeast: &rule.AtLeast{N: n, Of: of}}
}

// facts make leaf(pass) pass, leaf(fail) fail and leave leaf(unknown) unknown.
var facts = reading(sensor.Fields{"pass": true, "fail": false})

func decided(t failer, parts ...rule.Part) rule.Outcome {
	g := compile(t, parts...)
	return g.Decide(shows(g, facts), noon)
}

func outcomeOf(t failer, r rule.Rule) rule.Outcome {
	return decided(t, rule.Part{Rules: []rule.Rule{r}})
}

var outcomes = []rule.Outcome{fail, unknown, pass}

func TestGroupsFollowKleene(t *testing.T) {
	for _, a := range outcomes {
		if got := outcomeOf(t, negated(leaf(a))); got != pass-a {
			t.Errorf("not %s is %s", a, got)
		}
		if got := outcomeOf(t, negated(negated(leaf(a)))); got != a {
			t.Errorf("not not %s is %s", a, got)
		}
		for _, b := range outcomes {
			rules := leaves(a, b)
			for _, tc := range []struct {
				name string
				rule rule.Rule
				want rule.Outcome
			}{
				{"all", rule.Rule{All: rules}, min(a, b)},
				{"any", rule.Rule{Any: rules}, max(a, b)},
				{"at least 2", atLeast(2, rules...), min(a, b)},
				{"at least 1", atLeast(1, rules...), max(a, b)},
				{"not all", negated(rule.Rule{All: rules}), pass - min(a, b)},
				{"not any", negated(rule.Rule{Any: rules}), pass - max(a, b)},
			} {
				if got := outcomeOf(t, tc.rule); got != tc.want {
					t.Errorf("%s of %s and %s: got %s, want %s", tc.name, a, b, got, tc.want)
				}
			}
			if got := decided(t, rule.Part{Rules: rules}); got != min(a, b) {
				t.Errorf("ALL of %s and %s: %s", a, b, got)
			}
			if got := decided(t, rule.Part{Mode: rule.ModeAny, Rules: rules}); got != max(a, b) {
				t.Errorf("ANY of %s and %s: %s", a, b, got)
			}
			if got := decided(t, rule.Part{Rules: rules[:1]}, rule.Part{Start: true, Rules: rules[1:]}); got != min(a, b) {
				t.Errorf("parts %s and %s: %s", a, b, got)
			}
		}
	}
}

func TestAtLeastCountsPassesAndWhatMayPass(t *testing.T) {
	for _, a := range outcomes {
		for _, b := range outcomes {
			for _, c := range outcomes {
				for n := 1; n <= 3; n++ {
					var count [3]int
					for _, o := range []rule.Outcome{a, b, c} {
						count[o]++
					}
					want := unknown
					switch {
					case count[pass] >= n:
						want = pass
					case count[pass]+count[unknown] < n:
						want = fail
					}
					if got := outcomeOf(t, atLeast(n, leaves(a, b, c)...)); got != want {
						t.Errorf("%d of %s, %s, %s: got %s, want %s", n, a, b, c, got, want)
					}
					nested := atLeast(n, leaf(a), negated(leaf(pass-b)), rule.Rule{All: leaves(c, pass)})
					if got := outcomeOf(t, nested); got != want {
						t.Errorf("%d of %s, %s, %s in groups: got %s, want %s", n, a, b, c, got, want)
					}
				}
			}
		}
	}
}

func TestAdvisoryRulesTakePartInNothing(t *testing.T) {
	quiet := []rule.Rule{advisory(leaf(fail)), advisory(leaf(unknown)), advisory(leaf(pass))}
	for _, o := range outcomes {
		for i, r := range []rule.Rule{
			{All: append([]rule.Rule{leaf(o)}, quiet...)},
			{Any: append([]rule.Rule{leaf(o)}, quiet...)},
			atLeast(1, append([]rule.Rule{leaf(o)}, quiet...)...),
			{All: []rule.Rule{leaf(o), advisory(rule.Rule{All: leaves(fail, unknown)})}},
			{Any: []rule.Rule{leaf(o), advisory(rule.Rule{Any: leaves(pass)})}},
			{Any: []rule.Rule{leaf(o), advisory(negated(leaf(fail)))}},
			{Any: []rule.Rule{leaf(o), {All: quiet}}},
			{All: []rule.Rule{leaf(o), negated(rule.Rule{Any: quiet})}},
		} {
			if got := outcomeOf(t, r); got != o {
				t.Errorf("case %d: %s became %s", i, o, got)
			}
		}
	}
	for _, mode := range []rule.Mode{"", rule.ModeAll, rule.ModeAny} {
		for _, rules := range [][]rule.Rule{nil, quiet, {advisory(rule.Rule{Any: leaves(fail)})}, {{Any: quiet}}} {
			if got := decided(t, rule.Part{Mode: mode, Rules: rules}); got != pass {
				t.Errorf("mode %q with nothing that decides: %s", mode, got)
			}
		}
	}
	if got := decided(t); got != pass {
		t.Errorf("a gate of no parts: %s", got)
	}
}

func TestGateThatNobodyCompiledIsNeverOpen(t *testing.T) {
	if got := new(rule.Gate).Decide(nil, noon); got != unknown {
		t.Errorf("got %s", got)
	}
}

func TestDecidingAllocatesNothingOnThePassingPath(t *testing.T) {
	fields := decode(t, `{"status":"ready","count":1200,"text":"1200.5","big":9223372036854775807,"rate":0.25,"ok":"true",
		"at":"2026-03-03T11:30:00+05:30","epoch":"1772535600","deep":{"er":{"n":3}},"file":"orders-7.csv"}`)
	rules := []rule.Rule{
		{Key: "a", Check: rule.Exists},
		{Key: "a", Check: rule.Exists, Field: "file"},
		{Key: "a", Check: rule.Equals, Field: "status", Value: "ready"},
		{Key: "a", Check: rule.Equals, Field: "ok", Value: true},
		{Key: "a", Check: rule.NotEquals, Field: "status", Value: "error"},
		{Key: "b", Check: rule.In, Field: "status", Value: []any{1, "ready"}},
		{Key: "b", Check: rule.GTE, Field: "count", Value: 1000},
		{Key: "b", Check: rule.GT, Field: "text", Value: 1200.25},
		{Key: "b", Check: rule.GT, Field: "big", Value: 9.2e18},
		{Key: "b", Check: rule.LT, Field: "rate", Value: "0.5"},
		{Key: "c", Check: rule.AgeLT, Field: "at", Value: "2d"},
		{Key: "c", Check: rule.AgeGT, Field: "epoch", Value: "10m"},
		{Key: "c", Check: rule.AgeLT, Field: "updatedAt", Value: "2h"},
		{Key: "c", Check: rule.LTE, Field: "deep.er.n", Value: 3},
		{Key: "c", Check: rule.Matches, Field: "file", Value: `^orders-\d+\.csv$`},
		{Any: []rule.Rule{{Key: "d", Check: rule.GT, Field: "status", Value: 1}, {Key: "d", Check: rule.Equals, Field: "count", Value: "1200"}}},
		atLeast(2, leaf(fail), rule.Rule{Key: "d", Check: rule.Exists}, rule.Rule{Key: "e", Check: rule.Exists}),
		negated(rule.Rule{Key: "d", Check: rule.AgeLT, Field: "at", Value: "1s"}),
	}
	g := all(t, rules...)
	s := shows(g, reading(fields))
	for i, ref := range g.Refs() {
		if ref.Key == "k" {
			s[i] = sensor.Seen{Reading: facts}
		}
	}
	if got := g.Decide(s, noon); got != pass {
		for _, leaf := range g.Explain(s, noon).Leaves {
			t.Logf("%s: %s", leaf.Outcome, leaf.Reason)
		}
		t.Fatalf("got %s", got)
	}
	if n := testing.AllocsPerRun(100, func() { g.Decide(s, noon) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Explaining costs a few pieces of memory however many rules there are.
func TestExplainingAllocatesForTheVerdictNotForEachRule(t *testing.T) {
	var rules []rule.Rule
	for i := range 100 {
		rules = append(rules, rule.Rule{Key: fmt.Sprintf("k%d", i), Check: rule.GTE, Field: "count", Value: 1000})
	}
	g := all(t, rules...)
	s := shows(g, reading(sensor.Fields{"count": int64(950)}))
	if n := testing.AllocsPerRun(100, func() { g.Explain(s, noon) }); n > 4 {
		t.Errorf("%v allocations for 100 rules", n)
	}
}

func TestGateServesManyAtOnce(t *testing.T) {
	g := all(t, leaf(pass), rule.Rule{Any: leaves(fail, pass)}, rule.Rule{Key: "k", Check: rule.Matches, Field: "none", Value: "x+", Level: rule.Advisory})
	s := shows(g, facts)
	done := make(chan rule.Outcome)
	for range 8 {
		go func() {
			out := pass
			for i := range 100 {
				out = min(out, g.Decide(s, noon), g.Explain(s, noon.Add(time.Duration(i))).Outcome)
			}
			done <- out
		}()
	}
	for range 8 {
		if out := <-done; out != pass {
			t.Errorf("got %s", out)
		}
	}
}
