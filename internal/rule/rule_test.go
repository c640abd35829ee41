package rule_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/sensor"
)

var noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

// failer is what *testing.T, *testing.F and *rapid.T have in common.
type failer interface{ Fatal(args ...any) }

func compile(t failer, parts ...rule.Part) *rule.Gate {
	g, err := rule.Compile(parts...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// all is a gate on rules that must all pass.
func all(t failer, rules ...rule.Rule) *rule.Gate { return compile(t, rule.Part{Rules: rules}) }

// reading is one written an hour before noon, version 7.
func reading(fields sensor.Fields) *sensor.Reading {
	return &sensor.Reading{Key: "k", Fields: fields, UpdatedAt: noon.Add(-time.Hour), Version: 7}
}

// shows is a snapshot in which every sensor shows r.
func shows(g *rule.Gate, r *sensor.Reading) rule.Snapshot {
	s := make(rule.Snapshot, len(g.Refs()))
	for i := range s {
		s[i].Reading = r
	}
	return s
}

func decode(t failer, data string) sensor.Fields {
	fields, err := sensor.Decode([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

// answer is the one leaf of a gate of one rule on r, with Decide checked against it.
func answer(t *testing.T, check rule.Rule, r *sensor.Reading) rule.Leaf {
	t.Helper()
	g := all(t, check)
	v := g.Explain(shows(g, r), noon)
	if len(v.Leaves) != 1 {
		t.Fatalf("%d leaves", len(v.Leaves))
	}
	leaf := v.Leaves[0]
	if got := g.Decide(shows(g, r), noon); got != leaf.Outcome || got != v.Outcome {
		t.Errorf("Decide says %s, Explain %s, its leaf %s", got, v.Outcome, leaf.Outcome)
	}
	return leaf
}

func TestRefsListEachSensorOnce(t *testing.T) {
	x := func(key, from string) rule.Rule { return rule.Rule{Key: key, From: from, Check: rule.Exists} }
	g := compile(t,
		rule.Part{Start: true, Rules: []rule.Rule{x("a", "")}},
		rule.Part{Rules: []rule.Rule{x("a", ""), x("a", "other"), {Any: []rule.Rule{x("b", ""), x("a", "")}}}},
		rule.Part{Rules: []rule.Rule{{Key: "c", Check: rule.Exists, Level: rule.Advisory}}},
	)
	want := []rule.Ref{{Key: "a", Start: true}, {Key: "a"}, {From: "other", Key: "a"}, {Key: "b"}, {Key: "c"}}
	if diff := cmp.Diff(want, g.Refs()); diff != "" {
		t.Error(diff)
	}
	g.Refs()[0].Key = "changed"
	if g.Refs()[0].Key != "a" {
		t.Error("a caller changed the gate")
	}
}

func TestEachRuleSeesItsOwnSensor(t *testing.T) {
	ready := func(key, from string) rule.Rule {
		return rule.Rule{Key: key, From: from, Check: rule.Equals, Field: "status", Value: "ready"}
	}
	g := compile(t,
		rule.Part{Start: true, Rules: []rule.Rule{ready("a", "")}},
		rule.Part{Rules: []rule.Rule{ready("a", ""), ready("a", "other"), {All: []rule.Rule{ready("b", "")}}}},
	)
	for odd := range g.Refs() {
		s := shows(g, reading(sensor.Fields{"status": "ready"}))
		s[odd].Reading = reading(sensor.Fields{"status": "late"})
		v := g.Explain(s, noon)
		for i, leaf := range v.Leaves {
			if (leaf.Outcome == fail) != (i == odd) {
				t.Errorf("with sensor %d late, rule %d is %s: %s", odd, i, leaf.Outcome, leaf.Reason)
			}
		}
		if got := g.Decide(s, noon); got != fail || v.Outcome != fail {
			t.Errorf("with sensor %d late: Decide %s, Explain %s", odd, got, v.Outcome)
		}
	}
}

func TestSnapshotTooShortShowsNothing(t *testing.T) {
	g := all(t, rule.Rule{Key: "a", Check: rule.Equals, Field: "f", Value: "x"})
	if got := g.Decide(nil, noon); got != rule.Unknown {
		t.Errorf("got %s", got)
	}
	if leaf := g.Explain(nil, noon).Leaves[0]; leaf.Reason != "no reading" || leaf.Outcome != rule.Unknown {
		t.Errorf("got %s: %s", leaf.Outcome, leaf.Reason)
	}
}

func TestLeavesWalksIntoGroups(t *testing.T) {
	x := func(key string) rule.Rule { return rule.Rule{Key: key, Check: rule.Exists} }
	not := x("e")
	inner := rule.Rule{Not: &not}
	rules := []rule.Rule{
		x("a"),
		{Any: []rule.Rule{x("b"), {All: []rule.Rule{x("c")}}}},
		{AtLeast: &rule.AtLeast{N: 1, Of: []rule.Rule{x("d"), inner}}},
		{Not: &rule.Rule{Any: []rule.Rule{x("f")}}},
	}
	got := map[string]string{}
	for path, r := range rule.Leaves(rules) {
		got[path] = r.Key
	}
	want := map[string]string{
		"[0]": "a", "[1].any[0]": "b", "[1].any[1].all[0]": "c",
		"[2].atLeast.of[0]": "d", "[2].atLeast.of[1].not": "e", "[3].not.any[0]": "f",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for path := range rule.Leaves(rules) {
		if path != "[0]" {
			t.Errorf("went on to %s", path)
		}
		break
	}
}

func TestLeavesEndsOnARuleThatHoldsItself(t *testing.T) {
	loop := &rule.Rule{}
	loop.Not = loop
	for path := range rule.Leaves([]rule.Rule{*loop}) {
		t.Errorf("found a leaf at %s", path)
	}
}

func TestOutcomeIsAWordInReports(t *testing.T) {
	text, err := json.Marshal([]rule.Outcome{rule.Pass, rule.Fail, rule.Unknown})
	if err != nil || string(text) != `["pass","fail","unknown"]` {
		t.Errorf("got %s, %v", text, err)
	}
}

func day(t failer, name string) period.Period {
	p, err := period.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
