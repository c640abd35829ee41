package rule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/rule"
)

func TestFindingsSayWhatWouldBeRight(t *testing.T) {
	x := rule.Rule{Key: "k", Check: rule.Exists}
	eq := rule.Rule{Key: "k", Check: rule.Equals, Field: "f", Value: "x"}
	with := func(change func(*rule.Rule)) rule.Rule {
		r := eq
		change(&r)
		return r
	}
	value := func(c rule.Check, v any) rule.Rule { return rule.Rule{Key: "k", Check: c, Field: "f", Value: v} }
	for name, tc := range map[string]struct {
		rule rule.Rule
		want []string // "path: part of the message"
	}{
		"fine":                {eq, nil},
		"fine exists":         {x, nil},
		"fine age":            {rule.Rule{Key: "k", Check: rule.AgeLT, Value: "2h"}, nil},
		"fine from":           {with(func(r *rule.Rule) { r.From = "silver-orders" }), nil},
		"empty":               {rule.Rule{}, []string{": is empty; a rule has key and check, or is one of the groups"}},
		"only a level":        {rule.Rule{Level: rule.Advisory}, []string{": is empty"}},
		"no key":              {with(func(r *rule.Rule) { r.Key = "" }), []string{"key: is required"}},
		"dated key":           {with(func(r *rule.Rule) { r.Key = "k#2026-03-03" }), []string{`key: "k#2026-03-03" contains a period; a rule always reads the run's own period: write "k"`}},
		"bad key":             {with(func(r *rule.Rule) { r.Key = "a b" }), []string{"key: sensor key \"a b\" has ' ' in it"}},
		"no check":            {with(func(r *rule.Rule) { r.Check = "" }), []string{"check: is required: one of exists, equals"}},
		"close check":         {with(func(r *rule.Rule) { r.Check = "equal" }), []string{`check: unknown check "equal"; did you mean "equals"?`}},
		"strange check":       {with(func(r *rule.Rule) { r.Check = "zzzzzzzz" }), []string{`check: unknown check "zzzzzzzz"; use one of exists, `}},
		"no field":            {with(func(r *rule.Rule) { r.Field = "" }), []string{"field: is required: the field of the reading that equals checks"}},
		"empty path":          {with(func(r *rule.Rule) { r.Field = "a..b" }), []string{`field: "a..b" has an empty part`}},
		"no value":            {with(func(r *rule.Rule) { r.Value = nil }), []string{"value: is required: the value that equals compares with"}},
		"two at once":         {rule.Rule{Key: "k", Check: rule.GT}, []string{"field: is required", "value: is required"}},
		"exists with value":   {rule.Rule{Key: "k", Check: rule.Exists, Value: 1}, []string{"warning value: is ignored by exists; use check: equals"}},
		"bad from":            {with(func(r *rule.Rule) { r.From = "Silver" }), []string{`from: "Silver" is not a pipeline id`}},
		"bad level":           {with(func(r *rule.Rule) { r.Level = "advisry" }), []string{`level: unknown level "advisry"; did you mean "advisory"?`}},
		"list to equals":      {value(rule.Equals, []any{"a"}), []string{"value: is a list, but equals compares with one value; use check: in for several"}},
		"list to not_equals":  {value(rule.NotEquals, []any{"a"}), []string{"value: is a list, but not_equals compares with one value; use check: in for several, inside a not"}},
		"object to equals":    {value(rule.Equals, map[string]any{}), []string{"value: is an object, but equals compares with one value; use a dotted field to reach into the reading"}},
		"no list to in":       {value(rule.In, "ready"), []string{`value: "ready" is not a list; in needs one, like [ready, done]`}},
		"empty list":          {value(rule.In, []any{}), []string{"value: is an empty list"}},
		"null in the list":    {value(rule.In, []any{"a", nil, []any{}}), []string{"value[1]: is null; in needs", "value[2]: is a list; in needs"}},
		"text to gt":          {value(rule.GT, "many"), []string{`value: "many" is not a number; gt needs one, like 1000`}},
		"bool to lte":         {value(rule.LTE, true), []string{"value: true is not a number; lte needs one"}},
		"hex to lt":           {value(rule.LT, "0x10"), []string{`value: "0x10" is not a number`}},
		"number to age":       {value(rule.AgeLT, 7200), []string{"value: 7200 is not a duration; age_lt needs one with its unit, like 2h"}},
		"bad duration":        {value(rule.AgeGT, "2 hours"), []string{"value: "}},
		"age below nothing":   {value(rule.AgeLT, "0s"), []string{`value: "0s" can never pass`}},
		"number to matches":   {value(rule.Matches, 5), []string{"value: 5 is not text; matches needs a regular expression in quotes"}},
		"bad expression":      {value(rule.Matches, "a("), []string{`value: "a(" is not a valid regular expression (RE2): error parsing regexp: missing closing )`}},
		"foreign value":       {value(rule.Equals, make(chan int)), []string{"value: a reading cannot contain a chan int"}},
		"two groups":          {rule.Rule{All: []rule.Rule{x}, Any: []rule.Rule{x}}, []string{"any (all): is next to all, but a rule can be only one group"}},
		"group and predicate": {rule.Rule{Key: "k", Check: rule.Exists, Any: []rule.Rule{x}}, []string{"key (any): is next to any, but a group has no key", "check (any): is next to any"}},
		"empty all":           {rule.Rule{All: []rule.Rule{}}, []string{"all: is empty; list at least one rule"}},
		"empty atLeast":       {atLeast(1), []string{"atLeast.of: is empty; list at least one rule"}},
		"n too small":         {atLeast(0, x), []string{"atLeast.n: is 0; it must be at least 1"}},
		"n too large":         {atLeast(3, x, x), []string{"atLeast.n: is 3, but of has only 2 rules; write a number from 1 to 2"}},
		"n beyond deciding":   {atLeast(2, x, advisory(x)), []string{"atLeast.n: is 2, but only 1 of the 2 rules count, because the others are advisory; write a number from 1 to 1"}},
		"n beyond groups":     {atLeast(2, x, negated(rule.Rule{All: []rule.Rule{advisory(x)}})), []string{"warning atLeast.of[1].not.all: contains only advisory rules", "atLeast.n: is 2, but only 1 of the 2 rules count"}},
		"only advisory":       {rule.Rule{Any: []rule.Rule{advisory(x)}}, []string{"warning any: contains only advisory rules"}},
		"not advisory":        {negated(advisory(x)), []string{"not.level: is advisory, so not has no effect; set the level beside not"}},
		"advisory not":        {advisory(negated(x)), nil},
		"group level":         {rule.Rule{Level: "x", All: []rule.Rule{x}}, []string{`level: unknown level "x"; use one of required, preferred, advisory`}},
		"inside groups":       {rule.Rule{Any: []rule.Rule{x, atLeast(1, negated(rule.Rule{Key: "k"}))}}, []string{"any[1].atLeast.of[0].not.check: is required"}},
	} {
		t.Run(name, func(t *testing.T) {
			found := tc.rule.Findings()
			got := lines(found)
			if len(got) != len(tc.want) {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], tc.want[i]) {
					t.Errorf("got  %s\nwant %s", got[i], tc.want[i])
				}
			}
			_, err := rule.Compile(rule.Part{Rules: []rule.Rule{tc.rule}})
			if hasErrors(found) != (err != nil) {
				t.Errorf("Compile says %v", err)
			}
		})
	}
}

func lines(found []document.Finding) []string {
	var out []string
	for _, f := range found {
		line := f.Path
		if f.Severity == document.Warning {
			line = "warning " + line
		}
		if len(f.Also) > 0 {
			line += fmt.Sprintf(" (%s)", strings.Join(f.Also, ", "))
		}
		out = append(out, line+": "+f.Message)
	}
	return out
}

func hasErrors(found []document.Finding) bool {
	for _, f := range found {
		if f.Severity != document.Warning {
			return true
		}
	}
	return false
}

func TestCompileNamesThePlaceOfEachProblem(t *testing.T) {
	ok := rule.Rule{Key: "k", Check: rule.Exists}
	_, err := rule.Compile(
		rule.Part{Rules: []rule.Rule{ok, {Any: []rule.Rule{{Key: "k"}}}}},
		rule.Part{Mode: "SOME", Rules: []rule.Rule{{Check: rule.Exists}}},
	)
	if err == nil {
		t.Fatal("compiled")
	}
	want := []string{
		"parts[0].rules[1].any[0].check: is required: one of exists, equals, not_equals, in, gt, gte, lt, lte, age_lt, age_gt, matches",
		`parts[1].mode: "SOME" is neither ALL nor ANY`,
		"parts[1].rules[0].key: is required: the sensor that the rule checks",
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestDeepNestingIsRefused(t *testing.T) {
	nest := func(depth int) rule.Rule {
		r := rule.Rule{Key: "k", Check: rule.Exists}
		for range depth {
			r = rule.Rule{All: []rule.Rule{r}}
		}
		return r
	}
	if found := nest(20).Findings(); len(found) > 0 {
		t.Errorf("20 groups: %v", found)
	}
	if found := nest(21).Findings(); len(found) != 1 || !strings.Contains(found[0].Message, "nested too deeply; at most 20") {
		t.Errorf("21 groups: %v", found)
	}
	loop := &rule.Rule{}
	loop.Not = loop
	if found := loop.Findings(); len(found) != 1 {
		t.Errorf("a rule inside itself: %v", found)
	}
}

func TestTooManyRulesAreRefusedOnce(t *testing.T) {
	rules := make([]rule.Rule, 1000)
	for i := range rules {
		rules[i] = rule.Rule{Key: "k", Check: rule.Exists}
	}
	if found := rule.Findings(rules); len(found) > 0 {
		t.Errorf("1000 rules: %v", found)
	}
	if _, err := rule.Compile(rule.Part{Rules: rules}); err != nil {
		t.Error(err)
	}
	more := append(rules, rules...)
	want := []string{"[1000]: is one rule too many; at most 1000 are allowed"}
	if diff := cmp.Diff(want, lines(rule.Findings(more))); diff != "" {
		t.Error(diff)
	}
	group := rule.Rule{Any: more}
	if got := lines(group.Findings()); len(got) != 1 || !strings.HasPrefix(got[0], "any[1000]: ") {
		t.Errorf("in a group: %q", got)
	}
}

func TestRulesDecodeFromAFile(t *testing.T) {
	const src = `rules:
  - key: orders
    check: gte
    field: count
    value: 1000
  - any:
      - {key: a, check: exists, level: advisory}
      - not: {key: b, check: in, field: status, value: [failed, 3], from: other}
  - atLeast:
      n: 1
      of:
        - {key: c, check: age_lt, value: 2h}
`
	doc, problems := document.Parse("rules.yaml", []byte(src))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var got struct {
		Rules []rule.Rule `yaml:"rules" doc:"Rules."`
	}
	if problems := doc.Decode(&got); len(problems) > 0 {
		t.Fatal(problems)
	}
	inner := rule.Rule{Key: "b", Check: rule.In, Field: "status", Value: []any{"failed", int64(3)}, From: "other", Level: rule.Required}
	want := []rule.Rule{
		{Key: "orders", Check: rule.GTE, Field: "count", Value: int64(1000), Level: rule.Required},
		{Level: rule.Required, Any: []rule.Rule{{Key: "a", Check: rule.Exists, Level: rule.Advisory}, {Level: rule.Required, Not: &inner}}},
		{Level: rule.Required, AtLeast: &rule.AtLeast{N: 1, Of: []rule.Rule{{Key: "c", Check: rule.AgeLT, Value: "2h", Level: rule.Required}}}},
	}
	if diff := cmp.Diff(want, got.Rules); diff != "" {
		t.Error(diff)
	}
}
