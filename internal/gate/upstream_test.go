package gate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/period/periodtest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

const cascade = `
pipeline: {id: gold, owner: tests}
schedule: {after: [silver], period: PERIOD}
`

const silverCron = `
pipeline: {id: silver, owner: tests}
schedule: {cron: "CRON"}
`

// house is a dependent and its upstream over one store.
type house struct {
	store *memory.Store
	defs  map[pipeline.ID]*pipeline.Definition
}

func newHouse(t *testing.T, size, cron string) house {
	t.Helper()
	return house{memory.New(), define(t, strings.ReplaceAll(cascade, "PERIOD", size), strings.ReplaceAll(silverCron, "CRON", cron))}
}

func (h house) evaluate(t *testing.T, date string) gate.View {
	t.Helper()
	return evaluate(t, h.store, gate.Question{
		Definition: h.defs["gold"], Period: periodtest.Parse(t, date),
		Upstream: func(id pipeline.ID) *pipeline.Definition { return h.defs[id] },
	}, morning)
}

// move moves the run of silver for a period to a status.
func (h house) move(t *testing.T, date string, to run.Status, attempt int, now time.Time) {
	t.Helper()
	ctx := context.Background()
	key := run.Key{Pipeline: "silver", Schedule: pipeline.ByCron, Period: periodtest.Parse(t, date)}
	read, err := h.store.Run(ctx, key)
	if err != nil {
		read = run.Run{}
	}
	next := run.Run{Key: key, Version: read.Version + 1, Status: to, Attempt: attempt, UpdatedAt: now}
	if to.Ended() {
		next.EndedAt = now
	}
	b := store.Batch{ID: fmt.Sprintf("move/%s/v%d", key, read.Version), Runs: []store.Swap[run.Run]{{Read: read.Version, Next: next}}}
	if err := h.store.Commit(ctx, b, now); err != nil {
		t.Fatal(err)
	}
}

func TestUpstreamOfTheSameSizeMustBeCompleted(t *testing.T) {
	h := newHouse(t, "day", "0 6 * * *")
	if v := h.evaluate(t, "2026-03-03"); v.Open() || !strings.Contains(v.Verdict.Leaves[0].Reason, "no run of silver for 2026-03-03") {
		t.Errorf("without a run: %s, %q", v.Verdict.Outcome, v.Verdict.Leaves[0].Reason)
	}
	h.move(t, "2026-03-03", run.Running, 1, morning)
	if v := h.evaluate(t, "2026-03-03"); v.Open() || !strings.Contains(v.Verdict.Leaves[0].Reason, "RUNNING") {
		t.Errorf("while it runs: %s, %q", v.Verdict.Outcome, v.Verdict.Leaves[0].Reason)
	}
	h.move(t, "2026-03-03", run.Completed, 1, morning)
	if v := h.evaluate(t, "2026-03-03"); !v.Open() {
		t.Errorf("completed: %q", v.Verdict.Leaves[0].Reason)
	}
	h.move(t, "2026-03-03", run.Pending, 2, morning)
	if v := h.evaluate(t, "2026-03-03"); v.Open() {
		t.Error("an upstream that was opened again counts as completed")
	}
}

func TestReadingOfAnUpstreamDoesNotOpenTheGate(t *testing.T) {
	h := newHouse(t, "day", "0 6 * * *")
	write(t, h.store, "gold", "run/silver", "2026-03-03", sensor.Fields{"status": "COMPLETED"}, morning)
	if h.evaluate(t, "2026-03-03").Open() {
		t.Error("a reading opened the gate although there is no run")
	}
}

func TestEveryExpectedPeriodOfASmallerUpstreamCounts(t *testing.T) {
	h := newHouse(t, "day", "5 6-8 * * *") // three hours of each day
	for _, hour := range []string{"06", "08"} {
		h.move(t, "2026-03-03T"+hour, run.Completed, 1, morning)
	}
	v := h.evaluate(t, "2026-03-03")
	if v.Open() || !strings.Contains(v.Verdict.Leaves[0].Reason, "2026-03-03T07") {
		t.Errorf("one is missing: %s, %q", v.Verdict.Outcome, v.Verdict.Leaves[0].Reason)
	}
	if reason := v.Verdict.Leaves[0].Reason; !strings.Contains(reason, "2 of 3 runs of silver are COMPLETED") {
		t.Errorf("the one after the missing hour counts as well: %q", reason)
	}
	h.move(t, "2026-03-03T07", run.Running, 1, morning)
	if reason := h.evaluate(t, "2026-03-03").Verdict.Leaves[0].Reason; !strings.Contains(reason, "RUNNING") ||
		!strings.Contains(reason, "2 of 3 runs of silver are COMPLETED, 2026-03-03T07 is not") {
		t.Errorf("while one runs: %q", reason)
	}
	h.move(t, "2026-03-03T07", run.Completed, 1, morning)
	then := h.evaluate(t, "2026-03-03")
	if !then.Open() {
		t.Fatalf("all are done: %q", then.Verdict.Leaves[0].Reason)
	}
	h.move(t, "2026-03-03T06", run.Completed, 2, morning.Add(time.Hour))
	if got := rerun.Changed(then.Seen(), h.evaluate(t, "2026-03-03").Seen()); len(got) != 1 {
		t.Errorf("a new completion of one slice changed %v, want gold/run/silver", got)
	}
}

func TestLargerUpstreamIsThePeriodThatContainsOurs(t *testing.T) {
	h := newHouse(t, "hour", "0 6 * * *")
	h.move(t, "2026-03-03", run.Completed, 1, morning)
	if v := h.evaluate(t, "2026-03-03T10"); !v.Open() {
		t.Errorf("its day is done: %q", v.Verdict.Leaves[0].Reason)
	}
	if h.evaluate(t, "2026-03-04T10").Open() {
		t.Error("the day before opened the gate")
	}
}

func TestRunOfTheExactPeriodTakesPrecedence(t *testing.T) {
	h := newHouse(t, "day", "0 6 * * *")
	h.move(t, "2026-03-03", run.Completed, 1, morning)
	h.move(t, "2026-03-03T10", run.Running, 1, morning)
	if v := h.evaluate(t, "2026-03-03T10"); v.Open() || !strings.Contains(v.Verdict.Leaves[0].Reason, "RUNNING") {
		t.Errorf("while it runs: %s, %q", v.Verdict.Outcome, v.Verdict.Leaves[0].Reason)
	}
	h.move(t, "2026-03-03T10", run.Completed, 1, morning)
	if v := h.evaluate(t, "2026-03-03T10"); !v.Open() || v.Sensors[0].Period != periodtest.Parse(t, "2026-03-03T10") {
		t.Errorf("completed: %q for %s", v.Verdict.Leaves[0].Reason, v.Sensors[0].Period)
	}
	if v := h.evaluate(t, "2026-03-03T11"); !v.Open() || v.Sensors[0].Period != periodtest.Parse(t, "2026-03-03") {
		t.Errorf("an hour without a run of its own: %q for %s", v.Verdict.Leaves[0].Reason, v.Sensors[0].Period)
	}
}

func TestUpstreamWithoutPeriodsKeepsTheGateClosed(t *testing.T) {
	h := newHouse(t, "day", "5 6 * * 1") // Mondays
	h.defs["silver"] = define(t, `
pipeline: {id: silver, owner: tests}
schedule: {cron: "5 6 * * 1", period: hour}
`)["silver"]
	if v := h.evaluate(t, "2026-03-03"); v.Open() || !strings.Contains(v.Verdict.Leaves[0].Reason, "no period inside") {
		t.Errorf("a Tuesday: %s, %q", v.Verdict.Outcome, v.Verdict.Leaves[0].Reason)
	}
	delete(h.defs, "silver")
	if v := h.evaluate(t, "2026-03-03"); v.Open() || !strings.Contains(v.Verdict.Leaves[0].Reason, "not active") {
		t.Errorf("gone: %s, %q", v.Verdict.Outcome, v.Verdict.Leaves[0].Reason)
	}
}
