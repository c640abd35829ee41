package rule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/sensor"
)

func TestReasonsSayWhatWasSeenAndWhatIsNeeded(t *testing.T) {
	for _, tc := range []struct {
		rule rule.Rule
		data string
		want string
	}{
		{rule.Rule{Check: rule.GTE, Field: "count", Value: 1000}, `{"count":950}`, `count is 950, needs ≥ 1000`},
		{rule.Rule{Check: rule.GTE, Field: "n", Value: float64(1 << 63)}, `{"n":9223372036854775808}`, `n is 9223372036854775808 (needs ≥ 9223372036854775808)`},
		{rule.Rule{Check: rule.GTE, Field: "count", Value: 1000}, `{"count":1200}`, `count is 1200 (needs ≥ 1000)`},
		{rule.Rule{Check: rule.GT, Field: "count", Value: "0"}, `{"count":"0.0"}`, `count is "0.0", needs > 0`},
		{rule.Rule{Check: rule.LT, Field: "rate", Value: 0.5}, `{"rate":1e6}`, `rate is 1000000, needs < 0.5`},
		{rule.Rule{Check: rule.LTE, Field: "rate", Value: 5}, `{"rate":1e-9}`, `rate is 1e-09 (needs ≤ 5)`},
		{rule.Rule{Check: rule.GTE, Field: "count", Value: 1000}, `{"count":"abc"}`, `count is "abc", not a number`},
		{rule.Rule{Check: rule.GTE, Field: "count", Value: 1000}, `{"count":[]}`, `count is a list, not a number`},
		{rule.Rule{Check: rule.GTE, Field: "count", Value: 1000}, `{"count":true}`, `count is true, not a number`},
		{rule.Rule{Check: rule.GTE, Field: "count", Value: 1000}, `{"count":null}`, `field count is missing`},
		{rule.Rule{Check: rule.GTE, Field: "a.count", Value: 1000}, `{"a":5}`, `field a.count is missing`},
		{rule.Rule{Check: rule.Equals, Field: "status", Value: "ready"}, `{"status":"pending"}`, `status is "pending", needs "ready"`},
		{rule.Rule{Check: rule.Equals, Field: "status", Value: "ready"}, `{"status":"ready"}`, `status is "ready"`},
		{rule.Rule{Check: rule.Equals, Field: "status", Value: true}, `{"status":{}}`, `status is an object, needs true`},
		{rule.Rule{Check: rule.Equals, Field: "status", Value: "ä"}, `{"status":"\"\n"}`, `status is "\"\n", needs "ä"`},
		{rule.Rule{Check: rule.NotEquals, Field: "status", Value: "error"}, `{"status":"error"}`, `status is "error", needs anything but "error"`},
		{rule.Rule{Check: rule.NotEquals, Field: "status", Value: "error"}, `{"status":"ok"}`, `status is "ok" (needs anything but "error")`},
		{rule.Rule{Check: rule.In, Field: "status", Value: []any{"a", 1, true}}, `{"status":"b"}`, `status is "b", needs one of "a", 1, true`},
		{rule.Rule{Check: rule.In, Field: "n", Value: []any{1, 2, 3, 4, 5, 6, 7, 8, 9}}, `{"n":10}`, `n is 10, needs one of 1, 2, 3, 4, 5, 6, 7, 8, …`},
		{rule.Rule{Check: rule.In, Field: "status", Value: []any{"a"}}, `{"status":"a"}`, `status is "a"`},
		{rule.Rule{Check: rule.Matches, Field: "file", Value: `^a.*\.csv$`}, `{"file":"b.csv"}`, `file is "b.csv", needs a match of "^a.*\\.csv$"`},
		{rule.Rule{Check: rule.Matches, Field: "file", Value: `^a`}, `{"file":5}`, `file is 5, not text`},
		{rule.Rule{Check: rule.Exists}, `{}`, `a reading is there`},
		{rule.Rule{Check: rule.Exists, Field: "f"}, `{"f":1}`, `f is 1`},
		{rule.Rule{Check: rule.Exists, Field: "f"}, `{}`, `field f is missing`},
		{rule.Rule{Check: rule.AgeLT, Field: "updatedAt", Value: "2h"}, `{"updatedAt":"2026-03-03T08:55:00Z"}`, `updatedAt is 3h5m old, needs < 2h`},
		{rule.Rule{Check: rule.AgeLT, Value: "2h"}, `{}`, `updatedAt is 1h old (needs < 2h)`},
		{rule.Rule{Check: rule.AgeGT, Field: "at", Value: "1w"}, `{"at":"2026-03-01T10:58:57Z"}`, `at is 2d1h1m old, needs > 1w`},
		{rule.Rule{Check: rule.AgeGT, Field: "at", Value: "1h"}, `{"at":"2026-03-03T11:59:59.5Z"}`, `at is 500ms old, needs > 1h`},
		{rule.Rule{Check: rule.AgeGT, Field: "at", Value: "1h"}, `{"at":"2026-03-03T12:00:00Z"}`, `at is 0s old, needs > 1h`},
		{rule.Rule{Check: rule.AgeGT, Field: "at", Value: "1h"}, `{"at":"2026-03-03T12:01:30Z"}`, `at is 1m30s in the future, needs > 1h`},
		{rule.Rule{Check: rule.AgeLT, Field: "at", Value: "1h"}, `{"at":"2026-03-03T12:05:00Z"}`, `at is 5m in the future; a clock may be ahead by 2m at most`},
		{rule.Rule{Check: rule.AgeLT, Field: "at", Value: "1h"}, `{"at":"soon"}`, `at is "soon", not a time (RFC 3339, or epoch seconds or milliseconds)`},
		{rule.Rule{Check: rule.AgeLT, Field: "at", Value: "1h"}, `{"at":1772535600000000}`, `at is 1772535600000000, not a time (RFC 3339, or epoch seconds or milliseconds)`},
		{rule.Rule{Check: rule.AgeLT, Field: "at", Value: "1h"}, `{}`, `field at is missing`},
		{rule.Rule{Check: rule.Equals, Field: "s", Value: 1}, `{"s":"` + strings.Repeat("x", 79) + `äöü"}`, `s is "` + strings.Repeat("x", 79) + `"…, needs 1`},
	} {
		tc.rule.Key = "k"
		if got := answer(t, tc.rule, reading(decode(t, tc.data))).Reason; got != tc.want {
			t.Errorf("%s on %s:\n got %s\nwant %s", tc.rule.Check, tc.data, got, tc.want)
		}
	}
}

func TestReasonsForAbsentReadings(t *testing.T) {
	g := all(t, rule.Rule{Key: "k", Check: rule.Equals, Field: "f", Value: 1})
	gone := reading(nil)
	gone.ExpiresAt = noon.Add(-5 * time.Minute)
	for want, seen := range map[string]sensor.Seen{
		"no reading": {For: day(t, "2026-03-03")},
		"no reading for 2026-03-03; the newest belongs to 2026-03-02":  {For: day(t, "2026-03-03"), Other: day(t, "2026-03-02")},
		"no reading for this period; the newest belongs to 2026-03-02": {Other: day(t, "2026-03-02")},
		"written too early": {For: day(t, "2026-03-03"), Other: day(t, "2026-03-02"), Note: "written too early"},
		"expired 5m ago":    {Reading: gone},
	} {
		v := g.Explain(rule.Snapshot{seen}, noon)
		if got := v.Leaves[0]; got.Reason != want || got.Outcome != unknown || v.Outcome != unknown {
			t.Errorf("got %s (%s), want %s", got.Reason, got.Outcome, want)
		}
	}
}

func TestLeafReportsValueVersionAndAge(t *testing.T) {
	check := rule.Rule{Key: "k", Check: rule.GTE, Field: "count", Value: int64(1000)}
	got := answer(t, check, reading(sensor.Fields{"count": int64(950)}))
	asked := rule.Asked{Key: "k", Check: rule.GTE, Field: "count", Value: int64(1000)}
	want := rule.Leaf{Rule: &asked, Outcome: fail, Value: int64(950), Version: 7, Age: time.Hour, Reason: "count is 950, needs ≥ 1000"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	none := answer(t, check, nil)
	if diff := cmp.Diff(rule.Leaf{Rule: &asked, Outcome: unknown, Age: -1, Reason: "no reading"}, none); diff != "" {
		t.Error(diff)
	}
	early := reading(nil)
	early.UpdatedAt = noon.Add(time.Second)
	if got := answer(t, check, early).Age; got != 0 {
		t.Errorf("a reading from a clock ahead of ours is %s old", got)
	}
	own := answer(t, rule.Rule{Key: "k", Check: rule.AgeLT, Value: "2h"}, reading(nil))
	if own.Value != "2026-03-03T11:00:00Z" {
		t.Errorf("the store's own time is shown as %v", own.Value)
	}
}

func TestLeafShowsTheRuleAsWritten(t *testing.T) {
	quarter := document.Duration(15 * time.Minute)
	for _, tc := range []struct {
		written rule.Rule
		want    rule.Asked
	}{
		{rule.Rule{Key: "k", Check: rule.Exists}, rule.Asked{Key: "k", Check: rule.Exists}},
		{
			rule.Rule{Key: "k", Check: rule.AgeLT, Value: "2h", From: "other", Level: rule.Advisory},
			rule.Asked{Key: "k", Check: rule.AgeLT, Value: "2h", From: "other", Level: rule.Advisory},
		},
		{
			rule.Rule{Key: "k", Check: rule.AgeGT, Field: "updatedAt", Value: "2h", Level: rule.Required},
			rule.Asked{Key: "k", Check: rule.AgeGT, Field: "updatedAt", Value: "2h", Level: rule.Required},
		},
		{
			rule.Rule{Key: "k", Check: rule.Matches, Field: "a.b", Value: "^x", Settled: &quarter, Over: &rule.Over{Slices: "hour", AtLeast: 22}},
			rule.Asked{
				Key: "k", Check: rule.Matches, Field: "a.b", Value: "^x", Over: true,
				Time: "settled for 15m, for at least 22 of its hours",
			},
		},
	} {
		got := all(t, rule.Rule{Key: "first", Check: rule.Exists}, tc.written).Explain(nil, noon).Leaves[1].Rule
		if diff := cmp.Diff(&tc.want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestLeavesStandInWrittenOrderWithTheirPlace(t *testing.T) {
	x := func(key string) rule.Rule { return rule.Rule{Key: key, Check: rule.Exists} }
	inner := x("e")
	hint := rule.Rule{All: []rule.Rule{x("f")}, Level: rule.Advisory}
	g := compile(t,
		rule.Part{Start: true, Rules: []rule.Rule{x("start")}},
		rule.Part{Rules: []rule.Rule{
			{Any: []rule.Rule{x("a"), {AtLeast: &rule.AtLeast{N: 2, Of: []rule.Rule{x("b"), x("c")}}}}},
			x("d"),
			{Not: &inner},
			hint,
		}},
		rule.Part{Mode: rule.ModeAny, Rules: []rule.Rule{x("g"), {Key: "h", Check: rule.Exists, Level: rule.Advisory}}},
	)
	var got []string
	for _, leaf := range g.Explain(shows(g, nil), noon).Leaves {
		line := leaf.Rule.Key + ": " + leaf.Path
		if leaf.Advisory {
			line += " (advisory)"
		}
		got = append(got, line)
	}
	want := []string{
		"start: ", "a: any 1 of 2", "b: any 2 of 2 › at least 2: 1 of 2", "c: any 2 of 2 › at least 2: 2 of 2", "d: ", "e: not",
		"f: all 1 of 1 (advisory)", "g: any 1 of 2", "h: any 2 of 2 (advisory)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A rule under "not" has two outcomes: its own, and the one that counts for the gate.
func TestRuleInAGroupThatPassesDoesNotCloseTheGate(t *testing.T) {
	there := func(key string) rule.Rule { return rule.Rule{Key: key, Check: rule.Exists} }
	not := func(r rule.Rule) rule.Rule { return rule.Rule{Not: &r} }
	for name, tc := range map[string]struct {
		rule rule.Rule
		want string // the rules that close the gate; a and b have a reading, x and y have none
	}{
		"any that passes":           {rule.Rule{Any: []rule.Rule{there("a"), there("x")}}, "z"},
		"any that fails":            {rule.Rule{Any: []rule.Rule{there("x"), there("y")}}, "x y z"},
		"at least that passes":      {rule.Rule{AtLeast: &rule.AtLeast{N: 2, Of: []rule.Rule{there("a"), there("b"), there("x")}}}, "z"},
		"at least that fails":       {rule.Rule{AtLeast: &rule.AtLeast{N: 2, Of: []rule.Rule{there("a"), there("x"), there("y")}}}, "x y z"},
		"all inside any":            {rule.Rule{Any: []rule.Rule{there("a"), {All: []rule.Rule{there("x"), there("y")}}}}, "z"},
		"any inside not that fails": {not(rule.Rule{Any: []rule.Rule{there("a"), there("x")}}), "a z"},
		"all inside not that holds": {not(rule.Rule{All: []rule.Rule{there("a"), there("x")}}), "z"},
	} {
		gate, err := rule.Compile(rule.Part{Rules: []rule.Rule{tc.rule, there("z")}})
		if err != nil {
			t.Fatal(err)
		}
		snapshot := make(rule.Snapshot, len(gate.Refs()))
		for i, ref := range gate.Refs() {
			if ref.Key == "a" || ref.Key == "b" {
				snapshot[i].Reading = reading(sensor.Fields{})
			}
		}
		var closes []string
		for _, l := range gate.Explain(snapshot, noon).Leaves {
			if l.Closes() {
				closes = append(closes, l.Rule.Key)
			}
		}
		if got := strings.Join(closes, " "); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestLeafUnderNotHasAnEffectiveOutcome(t *testing.T) {
	gone := rule.Rule{Key: "gone", Check: rule.Exists}
	there := rule.Rule{Key: "there", Check: rule.Exists}
	not := func(r rule.Rule) rule.Rule { return rule.Rule{Not: &r} }
	g, err := rule.Compile(rule.Part{Rules: []rule.Rule{
		gone, not(gone), not(there), not(not(there)), not(rule.Rule{Any: []rule.Rule{gone, there}}), not(rule.Rule{Key: "there", Check: rule.GT, Field: "n", Value: 1}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	snapshot := make(rule.Snapshot, len(g.Refs()))
	for i, ref := range g.Refs() {
		if ref.Key == "there" {
			snapshot[i].Reading = &sensor.Reading{Key: ref.Key}
		}
	}
	var got []string
	for _, l := range g.Explain(snapshot, time.Time{}).Leaves {
		got = append(got, l.Outcome.String()+" "+l.Effective().String())
	}
	want := []string{"fail fail", "fail pass", "pass fail", "pass pass", "fail pass", "pass fail", "unknown unknown"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcome and effective outcome (-want +got):\n%s", diff)
	}
}
