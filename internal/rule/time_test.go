package rule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/sensor"
)

var eight = time.Date(2026, 3, 3, 8, 0, 0, 0, time.UTC)

func quarter() *document.Duration {
	d := document.Duration(15 * time.Minute)
	return &d
}

func compiled(t testing.TB, rules ...rule.Rule) *rule.Gate {
	t.Helper()
	g, err := rule.Compile(rule.Part{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestSettledPassesOnceItsDataHasNotChangedForThatLong(t *testing.T) {
	g := compiled(t, rule.Rule{Key: "rows", Check: rule.GTE, Field: "count", Value: 5, Settled: quarter()})
	reading := &sensor.Reading{Key: "rows", Fields: sensor.Fields{"count": int64(7)}, UpdatedAt: eight.Add(10 * time.Minute), ChangedAt: eight, Version: 3}
	for after, want := range map[time.Duration]rule.Outcome{
		10 * time.Minute: rule.Fail, 15*time.Minute - 1: rule.Fail, 15 * time.Minute: rule.Pass, time.Hour: rule.Pass,
	} {
		v := g.Explain(rule.Snapshot{{Reading: reading}}, eight.Add(after))
		if v.Outcome != want || v.Leaves[0].Outcome != want {
			t.Errorf("%s after the change: %s, leaf %s", after, v.Outcome, v.Leaves[0].Outcome)
		}
		if at := v.Leaves[0].PassesAt; want == rule.Fail && !at.Equal(eight.Add(15*time.Minute)) || want == rule.Pass && !at.IsZero() {
			t.Errorf("%s after the change: passes at %s", after, at)
		}
	}
	reason := g.Explain(rule.Snapshot{{Reading: reading}}, eight.Add(12*time.Minute)).Leaves[0].Reason
	if want := "count is 7 (needs ≥ 5), unchanged for 12m (needs 15m): passes at 2026-03-03T08:15:00Z"; reason != want {
		t.Errorf("reason %q, want %q", reason, want)
	}
}

func TestSettledDoesNotMendARuleThatFails(t *testing.T) {
	g := compiled(t, rule.Rule{Key: "rows", Check: rule.GTE, Field: "count", Value: 5, Settled: quarter()})
	for name, c := range map[string]struct {
		fields sensor.Fields
		want   rule.Outcome
	}{"too few": {sensor.Fields{"count": int64(1)}, rule.Fail}, "no field": {sensor.Fields{}, rule.Unknown}} {
		s := rule.Snapshot{{Reading: &sensor.Reading{Fields: c.fields, UpdatedAt: eight, Version: 1}}}
		if v := g.Explain(s, eight.Add(time.Hour)); v.Outcome != c.want || !v.Leaves[0].PassesAt.IsZero() {
			t.Errorf("%s: %s, passes at %s", name, v.Outcome, v.Leaves[0].PassesAt)
		}
	}
	if got := g.Decide(rule.Snapshot{{}}, eight); got != rule.Unknown {
		t.Errorf("without a reading: %s", got)
	}
}

// hours is what the hours of a day show: "y" complete, "n" not, "." no reading.
func hours(t testing.TB, marks string) sensor.Seen {
	t.Helper()
	day, err := period.Parse("2026-03-03")
	if err != nil {
		t.Fatal(err)
	}
	seen := sensor.Seen{For: day}
	p := period.At(day.Start(time.UTC), period.Hour, time.UTC)
	for _, mark := range marks {
		one := sensor.Seen{For: p}
		if mark != '.' {
			one.Reading = &sensor.Reading{Period: p, Fields: sensor.Fields{"complete": mark == 'y'}, UpdatedAt: eight, Version: 1}
		}
		seen.Over = append(seen.Over, one)
		p = p.Add(1, time.UTC)
	}
	return seen
}

func TestOverCountsSlicesAndNamesTheMissingOnes(t *testing.T) {
	complete := rule.Rule{Key: "landed", Check: rule.Equals, Field: "complete", Value: true}
	for _, c := range []struct {
		marks   string
		atLeast int
		want    rule.Outcome
		reason  string
	}{
		{strings.Repeat("y", 24), 0, rule.Pass, "24 of 24"},
		{"yyy.yyynyyyyyyyyyyyyyy", 0, rule.Fail, "20 of 22: T03 no reading, T07 complete is false"},
		{"yyy.yyyyyyyyyyyyyyyyyy", 0, rule.Unknown, "21 of 22: T03 no reading"},
		{"yyy.yyynyyyyyyyyyyyyyyyy", 22, rule.Pass, "22 of 24 (needs 22): T03 no reading, T07 complete is false"},
		{"yyy.yyynnyyyyyyyyyyyyyyy", 22, rule.Unknown, "21 of 22: T03 no reading, T07 complete is false, T08 complete is false"},
		{"yyynyyynnyyyyyyyyyyyyyyy", 22, rule.Fail, "21 of 22: T03 complete is false, T07 complete is false, T08 complete is false"},
		{"............", 0, rule.Unknown, "0 of 12: T00 no reading, T01 no reading, T02 no reading, T03 no reading, T04 no reading, T05 no reading, T06 no reading, T07 no reading, T08 no reading, T09 no reading and 2 more"},
		{"", 0, rule.Unknown, "no slice counts"},
	} {
		r := complete
		r.Over = &rule.Over{Slices: "hour", AtLeast: c.atLeast}
		g := compiled(t, r)
		if diff := cmp.Diff([]rule.Ref{{Key: "landed", Over: rule.Range{Size: period.Hour}}}, g.Refs()); diff != "" {
			t.Fatal(diff)
		}
		v := g.Explain(rule.Snapshot{hours(t, c.marks)}, eight)
		if v.Outcome != c.want || v.Leaves[0].Outcome != c.want || v.Leaves[0].Reason != c.reason {
			t.Errorf("%q: %s, %q; want %s, %q", c.marks, v.Outcome, v.Leaves[0].Reason, c.want, c.reason)
		}
	}
}

func TestSettledSlicesPassWhenEnoughOfThemHave(t *testing.T) {
	g := compiled(t, rule.Rule{Key: "landed", Check: rule.Exists, Settled: quarter(), Over: &rule.Over{Slices: "hour", AtLeast: 3}})
	seen := hours(t, "yyyy.")
	for i, minute := range []int{0, 20, 10, 30} {
		seen.Over[i].Reading.UpdatedAt = eight.Add(time.Duration(minute) * time.Minute)
	}
	now := eight.Add(16 * time.Minute)
	l := g.Explain(rule.Snapshot{seen}, now).Leaves[0]
	if want := eight.Add(35 * time.Minute); l.Outcome != rule.Fail || !l.PassesAt.Equal(want) {
		t.Errorf("%s, passes at %s, want %s (%s)", l.Outcome, l.PassesAt, want, l.Reason)
	}
	if got := g.Decide(rule.Snapshot{seen}, l.PassesAt); got != rule.Pass {
		t.Errorf("at that instant it is %s", got)
	}
}

func TestEarliestInstantIsTheOneAtWhichARuleStartsToPass(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		settled := document.Duration(rapid.IntRange(1, 60).Draw(rt, "settled")) * document.Duration(time.Minute)
		marks := rapid.StringOfN(rapid.RuneFrom([]rune("yyn.")), 1, 24, -1).Draw(rt, "marks")
		g := compiled(t, rule.Rule{
			Key: "landed", Check: rule.Equals, Field: "complete", Value: true, Settled: &settled,
			Over: &rule.Over{Slices: "hour", AtLeast: rapid.IntRange(0, 24).Draw(rt, "atLeast")},
		})
		seen := hours(t, marks)
		for i := range seen.Over {
			if r := seen.Over[i].Reading; r != nil {
				r.UpdatedAt = eight.Add(-time.Duration(rapid.IntRange(0, 90).Draw(rt, "age")) * time.Minute)
			}
		}
		l := g.Explain(rule.Snapshot{seen}, eight).Leaves[0]
		if l.Outcome != g.Decide(rule.Snapshot{seen}, eight) {
			rt.Fatalf("report %s, verdict %s", l.Outcome, g.Decide(rule.Snapshot{seen}, eight))
		}
		if l.PassesAt.IsZero() {
			if l.Outcome != rule.Pass && g.Decide(rule.Snapshot{seen}, eight.Add(24*time.Hour)) == rule.Pass {
				rt.Fatal("time alone lets it pass, and the report does not say when")
			}
			return
		}
		if g.Decide(rule.Snapshot{seen}, l.PassesAt) != rule.Pass || g.Decide(rule.Snapshot{seen}, l.PassesAt.Add(-1)) == rule.Pass {
			rt.Fatalf("it does not start to pass at %s", l.PassesAt)
		}
	})
}

func TestPreferredRulesStandApart(t *testing.T) {
	g := compiled(t,
		rule.Rule{Key: "rows", Check: rule.Exists},
		rule.Rule{Level: rule.Preferred, Any: []rule.Rule{{Key: "a", Check: rule.Exists}, {Key: "b", Check: rule.Exists}}},
	)
	there := sensor.Seen{Reading: &sensor.Reading{UpdatedAt: eight, Version: 1}}
	for _, c := range []struct {
		s             rule.Snapshot
		all, required rule.Outcome
	}{
		{rule.Snapshot{there, {}, {}}, rule.Fail, rule.Pass},
		{rule.Snapshot{there, {}, there}, rule.Pass, rule.Pass},
		{rule.Snapshot{{}, there, there}, rule.Fail, rule.Fail},
	} {
		if all, required := g.Decide(c.s, eight), g.DecideRequired(c.s, eight); all != c.all || required != c.required {
			t.Errorf("%s, without the preferred %s; want %s, %s", all, required, c.all, c.required)
		}
	}
	leaves := g.Explain(rule.Snapshot{there, {}, {}}, eight).Leaves
	if leaves[0].Preferred || !leaves[1].Preferred || !leaves[2].Preferred || !g.Prefers() {
		t.Errorf("%+v", leaves)
	}
}

func TestFindingsAboutTime(t *testing.T) {
	minus := document.Duration(-time.Minute)
	base := rule.Rule{Key: "a", Check: rule.Exists}
	for want, change := range map[string]func(*rule.Rule){
		"settled: is -1m; it must be above 0":       func(r *rule.Rule) { r.Settled = &minus },
		"over: combines slices with last":           func(r *rule.Rule) { r.Over = &rule.Over{Slices: "hour", Last: 3} },
		"over: needs slices, like {slices: hour}":   func(r *rule.Rule) { r.Over = &rule.Over{AtLeast: 3} },
		"over: last needs of":                       func(r *rule.Rule) { r.Over = &rule.Over{Last: 3} },
		"over: of needs last":                       func(r *rule.Rule) { r.Over = &rule.Over{Of: "day"} },
		"over.atLeast: is 8; write a number from 1": func(r *rule.Rule) { r.Over = &rule.Over{Last: 7, Of: "day", AtLeast: 8} },
		"over.last: is 2000; at most 1500":          func(r *rule.Rule) { r.Over = &rule.Over{Last: 2000, Of: "day"} },
		"any[0].level: is preferred inside a group": func(r *rule.Rule) {
			*r = rule.Rule{Any: []rule.Rule{{Key: "a", Check: rule.Exists, Level: rule.Preferred}, base}}
		},
		"over: is next to any": func(r *rule.Rule) {
			*r = rule.Rule{Any: []rule.Rule{base}, Over: &rule.Over{Slices: "hour"}}
		},
	} {
		r := base
		change(&r)
		var got []string
		for _, f := range r.Findings() {
			got = append(got, f.Path+": "+f.Message)
		}
		if len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
