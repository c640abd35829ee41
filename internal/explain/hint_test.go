package explain_test

import (
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/run"
)

// gated returns a world in which the run of 2026-03-03 waits with the given rules.
func gated(t *testing.T, rules string) *world {
	t.Helper()
	w := newWorld(t, "pipeline: {id: gated, owner: data}\nschedule: {trigger: {key: go, check: exists}}\nvalidation: {rules: ["+rules+"]}\n")
	w.Write("gated", "go#2026-03-03", "on=true")
	return w
}

func TestOnlyATooRecentReadingWaitsForTime(t *testing.T) {
	w := gated(t, "{key: rest, check: age_gt, field: since, value: 10m}")
	if x := w.explain("gated", "2026-03-03"); strings.Contains(x.Text(), "  - time: rest passes") {
		t.Errorf("time alone does not create a reading:\n%s", x.Text())
	}
	w.Write("gated", "rest#2026-03-03", "since="+w.Now().Format("2006-01-02T15:04:05Z07:00"))
	w.says(w.explain("gated", "2026-03-03"), explain.Waiting, "time: rest passes at 2026-03-03T09:20:01Z")
}

func TestHintedWriteKeepsWhatOtherRulesNeed(t *testing.T) {
	rules := "{key: k, check: gte, field: count, value: 5}, {key: k, check: equals, field: status, value: ok}, {key: k, check: lte, field: count, value: 9}"
	w := gated(t, rules)
	w.says(w.explain("gated", "2026-03-03"), explain.Waiting, "interlock sensor set gated k#2026-03-03 count=5 status=ok")
	w.Write("gated", "k#2026-03-03", "status=ok")
	w.says(w.explain("gated", "2026-03-03"), explain.Waiting, "interlock sensor set gated k#2026-03-03 count=5 status=ok")
}

// The start condition of an open run is not checked again, but others may read it.
func TestHintedWriteKeepsTheStartCondition(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: gated, owner: data}
schedule: {trigger: {key: landed, check: equals, field: complete, value: true}}
validation: {rules: [{key: landed, check: gte, field: count, value: 1000}]}
`)
	w.Write("gated", "landed#2026-03-03", "complete=true", "count=12")
	w.says(w.explain("gated", "2026-03-03"), explain.Waiting, "interlock sensor set gated landed#2026-03-03 count=1000 complete=")
}

func TestOneOfTheAlternativesIsHintedAndTheOthersAreNamed(t *testing.T) {
	w := gated(t, "{any: [{key: k, check: equals, field: a, value: 1}, {key: k, check: equals, field: b, value: 2}]}")
	w.says(w.explain("gated", "2026-03-03"), explain.Waiting, "interlock sensor set gated k#2026-03-03 a=1", "another way: k with b equals 2 [any 2 of 2]")
}

func TestRuleOfAGroupThatPassesIsNotHinted(t *testing.T) {
	w := newWorld(t, "pipeline: {id: gated, owner: data}\nschedule: {trigger: {key: go, check: exists}}\n"+
		"validation: {rules: [{any: [{key: a, check: exists}, {key: b, check: exists}]}, {key: c, check: exists}]}\n")
	w.Write("gated", "a", "n=1")
	w.Write("gated", "go#2026-03-03", "on=true")
	x := w.explain("gated", "2026-03-03")
	w.says(x, explain.Waiting, "the gate is closed: 1 of 3 rules does not pass", "a reading of c")
	if strings.Contains(x.Text(), "a reading of b") {
		t.Errorf("b is hinted, although a passes:\n%s", x.Text())
	}
}

func TestHintDeletesASensorThatMustBeAbsent(t *testing.T) {
	w := newWorld(t, "pipeline: {id: gated, owner: data}\nschedule: {trigger: {key: go, check: exists}}\n"+
		"validation: {rules: [{not: {key: hold, check: exists}}]}\n")
	w.Write("gated", "hold", "why=migration")
	w.Write("gated", "go#2026-03-03", "on=true")
	w.says(w.explain("gated", "2026-03-03"), explain.Waiting, "no reading of hold, only if true [not]:", "interlock sensor delete gated hold\n")
	w.Write("gated", "hold#2026-03-03", "why=migration")
	w.says(w.explain("gated", "2026-03-03"), explain.Waiting, "interlock sensor delete gated hold --date 2026-03-03\n", "interlock sensor delete gated hold\n")
	shared := "pipeline: {id: shared, owner: data}\n"
	w = newWorld(t, shared, "pipeline: {id: gated, owner: data}\nschedule: {trigger: {key: go, check: exists}}\n"+
		"validation: {rules: [{not: {key: hold, from: shared, check: exists}}]}\n")
	w.Write("shared", "hold", "why=migration")
	w.Write("gated", "go#2026-03-03", "on=true")
	w.says(w.explain("gated", "2026-03-03"), explain.Waiting, "no reading of hold of shared, only if true", "interlock sensor delete shared hold")
}

func TestHintedTextStaysText(t *testing.T) {
	w := gated(t, `{key: k, check: equals, field: s, value: "null"}`)
	w.says(w.explain("gated", "2026-03-03"), explain.Waiting, "interlock sensor set gated k#2026-03-03 s='\"null\"'")
	w = gated(t, `{key: k, check: equals, field: my field, value: ok}`)
	w.says(w.explain("gated", "2026-03-03"), explain.Waiting, "interlock sensor set gated k#2026-03-03 'my field=ok'")
}

func TestUpstreamHintNamesItsOwnPeriod(t *testing.T) {
	hourly := "pipeline: {id: hourly, owner: data}\nschedule: {period: hour, trigger: {key: go, check: exists}}\n"
	daily := "pipeline: {id: daily, owner: data}\nschedule: {after: [hourly]}\n"
	below := "pipeline: {id: below, owner: data}\nschedule: {after: [daily], period: hour}\n"
	w := newWorld(t, hourly, daily, below)
	w.Write("hourly", "go#2026-03-03T00", "on=true")
	w.says(w.explain("daily", "2026-03-03"), explain.NotOpened, "for a COMPLETED run of hourly for 2026-03-03T01: a reading of go, only if true:", "interlock sensor set hourly go#2026-03-03T01 ready=true")
	w.finish("hourly/stream/2026-03-03T00", run.Report{Result: run.ResultSuccess})
	w.says(w.explain("daily", "2026-03-03"), explain.NotOpened, "for a COMPLETED run of hourly for 2026-03-03T01")
	w.says(w.explain("below", "2026-03-03T10"), explain.NotOpened, "for a COMPLETED run of daily for 2026-03-03: for a COMPLETED run of hourly for 2026-03-03T01: a reading of go, only if true:")
}
