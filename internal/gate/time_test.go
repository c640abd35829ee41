package gate_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/gate/gatetest"
	"github.com/interlock-go/interlock/internal/period/periodtest"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

const hourly = `
pipeline: {id: gold, owner: tests}
schedule: {cron: "0 6 * * *", offset: -1, timezone: America/New_York, evaluation: {window: 8h}}
validation:
  preferUntil: "09:00"
  rules:
    - {key: landed, check: equals, field: complete, value: true, over: {slices: hour}}
    - {key: rows, check: gte, field: count, value: 5, settled: 15m}
    - {key: extra, check: exists, level: preferred}
`

// landed writes the hours of a day except some.
func landed(t *testing.T, s store.Store, day string, except ...string) {
	t.Helper()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	p := periodtest.Parse(t, day)
	for from := p.Start(zone); from.Before(p.End(zone)); from = from.Add(time.Hour) {
		name := day + from.In(zone).Format("T15")
		if name == "2026-11-01T01" && from.In(zone).Format("-07:00") == "-05:00" {
			name += "-05:00" // the repeated hour
		}
		if !slices.Contains(except, name) {
			write(t, s, "gold", "landed", name, sensor.Fields{"complete": true, "note": strings.Repeat("x", 50)}, morning)
		}
	}
}

func TestEveryHourOfADayCounts(t *testing.T) {
	def := define(t, hourly)["gold"]
	for day, hours := range map[string]int{"2026-03-03": 24, "2026-03-08": 23, "2026-11-01": 25} {
		s := memory.New()
		landed(t, s, day)
		v := evaluate(t, s, gate.Question{Definition: def, Period: periodtest.Parse(t, day)}, morning)
		if want := fmt.Sprintf("%d of %d", hours, hours); v.Verdict.Leaves[0].Reason != want {
			t.Errorf("%s: %s, want %s", day, v.Verdict.Leaves[0].Reason, want)
		}
	}
	s := memory.New()
	landed(t, s, "2026-11-01", "2026-11-01T01-05:00", "2026-11-01T07")
	write(t, s, "gold", "landed", "", sensor.Fields{"complete": true}, morning) // undated: says nothing about an hour
	v := evaluate(t, s, gate.Question{Definition: def, Period: periodtest.Parse(t, "2026-11-01")}, morning)
	if want := "23 of 25: T01-05:00 no reading, T07 no reading"; v.Verdict.Leaves[0].Reason != want {
		t.Errorf("%s, want %s", v.Verdict.Leaves[0].Reason, want)
	}
	write(t, s, "gold", "landed", "2026-11", sensor.Fields{"complete": true}, morning) // the month's fact holds for its hours
	v = evaluate(t, s, gate.Question{Definition: def, Period: periodtest.Parse(t, "2026-11-01")}, morning)
	if want := "25 of 25"; v.Verdict.Leaves[0].Reason != want {
		t.Errorf("%s, want %s", v.Verdict.Leaves[0].Reason, want)
	}
}

func TestLastSlicesLeaveOutExcludedOnes(t *testing.T) {
	def := define(t, `
pipeline: {id: gold, owner: tests}
schedule: {cron: "0 6 * * *", exclude: {weekends: true}}
validation: {rules: [{key: q, check: exists, over: {last: 3, of: day, atLeast: 2}}]}
`)["gold"]
	s := memory.New()
	write(t, s, "gold", "q", "2026-03-06", sensor.Fields{}, morning) // Friday
	write(t, s, "gold", "q", "2026-03-07", sensor.Fields{}, morning)
	v := evaluate(t, s, gate.Question{Definition: def, Period: periodtest.Parse(t, "2026-03-09")}, morning)
	if want := "1 of 2: 2026-03-05 no reading, 2026-03-09 no reading"; v.Verdict.Leaves[0].Reason != want || v.Open() {
		t.Errorf("%s, want %s", v.Verdict.Leaves[0].Reason, want)
	}
	write(t, s, "gold", "q", "2026-03-09", sensor.Fields{}, morning)
	if v := evaluate(t, s, gate.Question{Definition: def, Period: periodtest.Parse(t, "2026-03-09")}, morning); !v.Open() {
		t.Errorf("closed: %s", v.Verdict.Leaves[0].Reason)
	}
}

func TestMonthsOfAQuarterCount(t *testing.T) {
	def := define(t, `
pipeline: {id: books, owner: tests}
schedule: {cron: "0 6 5 1,4,7,10 *", period: quarter, offset: -1}
validation: {rules: [{key: closed, check: exists, over: {slices: month}}, {key: rates, check: exists, over: {last: 2, of: quarter}}]}
`)["books"]
	s := memory.New()
	write(t, s, "books", "closed", "2026-01", sensor.Fields{}, morning)
	write(t, s, "books", "closed", "2026-03", sensor.Fields{}, morning)
	write(t, s, "books", "rates", "2025-Q4", sensor.Fields{}, morning)
	write(t, s, "books", "rates", "2026-03", sensor.Fields{}, morning) // a month says nothing about its quarter
	v := evaluate(t, s, gate.Question{Definition: def, Period: periodtest.Parse(t, "2026-Q1")}, morning)
	for i, want := range []string{"2 of 3: 2026-02 no reading", "1 of 2: 2026-Q1 no reading"} {
		if got := v.Verdict.Leaves[i].Reason; got != want || v.Open() {
			t.Errorf("%s, want %s", got, want)
		}
	}
	write(t, s, "books", "closed", "2026-Q1", sensor.Fields{}, morning) // the quarter's fact holds for its months
	write(t, s, "books", "rates", "2026-Q1", sensor.Fields{}, morning)
	if v := evaluate(t, s, gate.Question{Definition: def, Period: periodtest.Parse(t, "2026-Q1")}, morning); !v.Open() {
		t.Errorf("closed: %s, %s", v.Verdict.Leaves[0].Reason, v.Verdict.Leaves[1].Reason)
	}
}

// stored returns a snapshot as read back from a store.
func stored(t *testing.T, v gate.View, now time.Time) store.Snapshot {
	t.Helper()
	text, err := json.Marshal(store.Snapshot{At: now, Sensors: v.Sensors, PreferUntil: v.PreferUntil, Degraded: v.Degraded})
	if err != nil {
		t.Fatal(err)
	}
	var s store.Snapshot
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestGateOpensByTimeAloneAtOpensAt(t *testing.T) {
	def := define(t, hourly)["gold"]
	s := memory.New()
	q := gate.Question{Definition: def, Period: periodtest.Parse(t, "2026-03-03")}
	six := time.Date(2026, 3, 4, 11, 0, 0, 0, time.UTC) // in New York
	landed(t, s, "2026-03-03", "2026-03-03T05")
	write(t, s, "gold", "rows", "2026-03-03", sensor.Fields{"count": int64(7)}, six.Add(-20*time.Minute))
	write(t, s, "gold", "rows", "2026-03-03", sensor.Fields{"count": int64(7)}, six.Add(-10*time.Minute)) // identical: settled continues
	nine := six.Add(3 * time.Hour)
	if v := evaluate(t, s, q, six); v.Open() || !v.OpensAt.IsZero() || !v.PreferUntil.Equal(nine) {
		t.Errorf("without an hour: open %t, opens at %s, prefers until %s", v.Open(), v.OpensAt, v.PreferUntil)
	}
	write(t, s, "gold", "landed", "2026-03-03T05", sensor.Fields{"complete": true}, six)
	v := evaluate(t, s, q, six)
	if v.Open() || !v.OpensAt.Equal(nine) {
		t.Errorf("before nine: open %t, opens at %s, want %s", v.Open(), v.OpensAt, nine)
	}
	if got := gatetest.Judge(def.Gate, stored(t, v, six)); got == rule.Pass {
		t.Error("its snapshot is judged as open")
	}
	v = evaluate(t, s, q, v.OpensAt)
	if !v.Open() || len(v.Degraded) != 1 || v.Degraded[0] != "extra: no reading" {
		t.Errorf("at nine: open %t, degraded %q", v.Open(), v.Degraded)
	}
	kept := stored(t, v, nine)
	if got := gatetest.Judge(def.Gate, kept); got != rule.Pass {
		t.Errorf("its snapshot alone is judged as %s", got)
	}
	if note := kept.Sensors[0].Slices[0].Fields["note"]; note != nil || len(kept.Sensors[0].Slices) != 24 {
		t.Errorf("%d slices, with the field %q that no rule reads", len(kept.Sensors[0].Slices), note)
	}
	write(t, s, "gold", "rows", "2026-03-03", sensor.Fields{"count": int64(8)}, nine) // changed: required rules always block
	if v := evaluate(t, s, q, nine); v.Open() || !v.OpensAt.Equal(nine.Add(15*time.Minute)) {
		t.Errorf("with new rows: open %t, opens at %s", v.Open(), v.OpensAt)
	}
	write(t, s, "gold", "extra", "2026-03-03", sensor.Fields{}, nine)
	if v := evaluate(t, s, q, nine.Add(time.Hour)); !v.Open() || v.Degraded != nil {
		t.Errorf("with everything: open %t, degraded %q", v.Open(), v.Degraded)
	}
}

func TestPreferenceMayCountFromTheOpening(t *testing.T) {
	def := define(t, strings.Replace(hourly, `"09:00"`, "45m", 1))["gold"]
	opened := morning.Add(7 * time.Minute)
	v := evaluate(t, memory.New(), gate.Question{Definition: def, Period: periodtest.Parse(t, "2026-03-02"), Opened: opened}, opened)
	if want := opened.Add(45 * time.Minute); !v.PreferUntil.Equal(want) {
		t.Errorf("prefers until %s, want %s", v.PreferUntil, want)
	}
}

func TestEnoughRunsOfAnUpstream(t *testing.T) {
	h := house{memory.New(), define(t, strings.Replace(strings.Replace(cascade, "PERIOD", "day", 1), "[silver]", "[{pipeline: silver, atLeast: 2}]", 1),
		strings.Replace(silverCron, "CRON", "0 8-10 * * *", 1))}
	for i, c := range []struct {
		hour   string
		open   bool
		reason string
	}{
		{"", false, "0 of 3 runs of silver are COMPLETED (needs 2), there is no run for 2026-03-03T08"},
		{"T08", false, "1 of 3 runs of silver are COMPLETED (needs 2), there is no run for 2026-03-03T09"},
		{"T10", true, `status is "COMPLETED"; 2 of 3 runs of silver are COMPLETED (needs 2)`},
		{"T09", true, `status is "COMPLETED"`},
	} {
		if c.hour != "" {
			h.move(t, "2026-03-03"+c.hour, run.Completed, 1, morning)
		}
		if v := h.evaluate(t, "2026-03-03"); v.Open() != c.open || v.Verdict.Leaves[0].Reason != c.reason {
			t.Errorf("%d: open %t: %s; want %t: %s", i, v.Open(), v.Verdict.Leaves[0].Reason, c.open, c.reason)
		}
	}
}
