package gate_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/period/periodtest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

var morning = time.Date(2026, 3, 3, 8, 0, 0, 0, time.UTC)

func define(t *testing.T, texts ...string) map[pipeline.ID]*pipeline.Definition {
	t.Helper()
	var sources []pipeline.Source
	for i, text := range texts {
		sources = append(sources, pipeline.Source{File: string(rune('a'+i)) + ".yaml", Data: []byte(text)})
	}
	set := pipeline.Load(sources, pipeline.Options{Jobs: all.Kinds()})
	if set.Failed() {
		t.Fatalf("rejected: %v", set.Problems)
	}
	defs := map[pipeline.ID]*pipeline.Definition{}
	for _, d := range set.Definitions {
		defs[d.ID] = d
	}
	return defs
}

// write stores a reading for a period ("" means undated) at now.
func write(t *testing.T, s store.Sensors, id pipeline.ID, key sensor.Key, date string, fields sensor.Fields, now time.Time) {
	t.Helper()
	r := sensor.Reading{Key: key, Fields: fields}
	if date != "" {
		r.Period = periodtest.Parse(t, date)
	}
	if _, err := s.PutReadings(context.Background(), []store.Write{{Pipeline: id, Reading: r}}, now); err != nil {
		t.Fatal(err)
	}
}

func evaluate(t *testing.T, s store.Store, q gate.Question, now time.Time) gate.View {
	t.Helper()
	v, err := gate.Evaluate(context.Background(), s, q, now)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const orders = `
pipeline: {id: orders, owner: tests}
schedule: {cron: "0 8 * * *", trigger: {key: ready, check: equals, field: status, value: "yes"}}
validation: {rules: [{key: rows, check: gte, field: count, value: 10}, {key: shared, check: exists, from: common}]}
`

func TestGateOpensOnStoredReadings(t *testing.T) {
	s := memory.New()
	q := gate.Question{Definition: define(t, orders)["orders"], Period: periodtest.Parse(t, "2026-03-03")}
	if v := evaluate(t, s, q, morning); v.Open() {
		t.Error("the gate is open without a reading")
	}
	write(t, s, "orders", "ready", "2026-03-03", sensor.Fields{"status": "yes"}, morning)
	write(t, s, "orders", "rows", "", sensor.Fields{"count": int64(12)}, morning)
	write(t, s, "common", "shared", "", sensor.Fields{"x": int64(1)}, morning)
	if v := evaluate(t, s, q, morning); !v.Open() {
		t.Errorf("the gate is %s: %+v", v.Verdict.Outcome, v.Verdict.Leaves)
	}
	write(t, s, "orders", "rows", "2026-03-03", sensor.Fields{"count": int64(3)}, morning)
	if v := evaluate(t, s, q, morning); v.Open() {
		t.Error("the gate is open on 3 rows, needs 10")
	}
}

func TestReadingOfAnotherDayDoesNotCount(t *testing.T) {
	s := memory.New()
	q := gate.Question{Definition: define(t, orders)["orders"], Period: periodtest.Parse(t, "2026-03-03")}
	write(t, s, "orders", "rows", "2026-03-02", sensor.Fields{"count": int64(12)}, morning)
	v := evaluate(t, s, q, morning)
	if reason := v.Verdict.Leaves[1].Reason; !strings.Contains(reason, "2026-03-02") {
		t.Errorf("the reason does not name the other day: %q", reason)
	}
}

func TestYesterdaysUndatedStartConditionNeverStartsToday(t *testing.T) {
	s := memory.New()
	q := gate.Question{Definition: define(t, orders)["orders"], Period: periodtest.Parse(t, "2026-03-03")}
	write(t, s, "orders", "ready", "", sensor.Fields{"status": "yes"}, morning.Add(-9*time.Hour))
	if got := evaluate(t, s, q, morning).Verdict.Leaves[0]; got.Outcome != rule.Unknown {
		t.Errorf("written the evening before: %s, want unknown (%s)", got.Outcome, got.Reason)
	}
	write(t, s, "orders", "ready", "", sensor.Fields{"status": "yes"}, morning.Add(-8*time.Hour))
	if got := evaluate(t, s, q, morning).Verdict.Leaves[0]; got.Outcome != rule.Pass {
		t.Errorf("written at midnight: %s, want pass (%s)", got.Outcome, got.Reason)
	}
}

const streamed = `
pipeline: {id: events, owner: tests}
schedule: {trigger: {key: ready, check: exists}}
validation: {rules: [{key: rows, check: exists}]}
`

func TestStartConditionIsIncludedBesideTheGate(t *testing.T) {
	s := memory.New()
	q := gate.Question{Definition: define(t, streamed)["events"], Period: periodtest.Parse(t, "2026-03-03")}
	write(t, s, "events", "ready", "", sensor.Fields{"n": int64(1)}, morning)
	write(t, s, "events", "rows", "", sensor.Fields{"n": int64(1)}, morning)
	then := evaluate(t, s, q, morning)
	if !then.Open() || len(then.Verdict.Leaves) != 1 || len(then.Sensors) != 2 {
		t.Fatalf("got %s, %d leaves, sensors %+v", then.Verdict.Outcome, len(then.Verdict.Leaves), then.Sensors)
	}
	write(t, s, "events", "ready", "", sensor.Fields{"n": int64(2)}, morning.Add(time.Hour))
	if got := rerun.Changed(then.Seen(), evaluate(t, s, q, morning).Seen()); !cmp.Equal(got, []string{"events/ready"}) {
		t.Errorf("changed: %v, want events/ready", got)
	}
	write(t, s, "events", "ready", "", sensor.Fields{"n": int64(3)}, morning.Add(24*time.Hour))
	if got := rerun.Changed(then.Seen(), evaluate(t, s, q, morning).Seen()); len(got) != 0 {
		t.Errorf("tomorrow's undated reading is new for today: %v", got)
	}
}

func TestPostRunRulesAreEvaluatedAlone(t *testing.T) {
	s := memory.New()
	d := define(t, streamed+"postRun: {rules: [{key: out, check: exists}]}\n")["events"]
	v := evaluate(t, s, gate.Question{Definition: d, Gate: d.PostRun.Gate, Period: periodtest.Parse(t, "2026-03-03")}, morning)
	if len(v.Sensors) != 1 || v.Sensors[0].Key != "out" {
		t.Errorf("got %+v, want out alone", v.Sensors)
	}
}

// judge returns the gate's outcome on the facts of a view alone.
func judge(d *pipeline.Definition, v gate.View, now time.Time) rule.Outcome {
	snapshot := make(rule.Snapshot, len(d.Gate.Refs()))
	for i := range snapshot {
		if s := v.Sensors[i]; s.Version != 0 {
			snapshot[i].Reading = &sensor.Reading{
				Key: s.Key, Period: s.Period, Fields: s.Fields, UpdatedAt: s.UpdatedAt, ExpiresAt: s.ExpiresAt, Version: s.Version,
			}
		}
	}
	return d.Gate.Decide(snapshot, now)
}

func TestStoredFactsAloneGiveTheSameVerdict(t *testing.T) {
	s := memory.New()
	d := define(t, orders)["orders"]
	q := gate.Question{Definition: d, Period: periodtest.Parse(t, "2026-03-03")}
	write(t, s, "orders", "ready", "2026-03-03", sensor.Fields{"status": "yes"}, morning)
	write(t, s, "common", "shared", "", sensor.Fields{}, morning)
	expiring := sensor.Reading{Key: "rows", Fields: sensor.Fields{"count": int64(12)}, ExpiresAt: morning.Add(time.Hour)}
	if _, err := s.PutReadings(context.Background(), []store.Write{{Pipeline: "orders", Reading: expiring}}, morning); err != nil {
		t.Fatal(err)
	}
	for _, now := range []time.Time{morning, morning.Add(2 * time.Hour)} {
		v := evaluate(t, s, q, now)
		if got := judge(d, v, now); got != v.Verdict.Outcome {
			t.Errorf("at %s the facts alone give %s, the evaluation gave %s", now, got, v.Verdict.Outcome)
		}
	}
}
