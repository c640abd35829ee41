package prober_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/prober"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// orders is manual and waits for a probe that runs when its gate needs it.
const orders = `pipeline: {id: orders, owner: tests}
schedule: {trigger: {key: ready, check: exists}, evaluation: {window: 4h, interval: 10m}}
probes: [{key: landing, command: x, ttl: 5m}]
validation: {rules: [{key: landing, check: equals, field: status, value: PASS}]}
job: {type: lambda, config: {functionName: f}}
`

// each runs its probe every minute, and opens runs on the result.
const each = `pipeline: {id: each, owner: tests}
schedule: {trigger: {key: landing, check: equals, field: status, value: PASS}}
probes: [{key: landing, command: x, interval: 1m}]
job: {type: lambda, config: {functionName: f}}
`

func TestGateThatNeedsAValueRunsItsProbe(t *testing.T) {
	w := newWorld(t, orders)
	w.Pass(time.Hour)
	w.wantAsked()
	w.write("orders", "ready", "2026-03-02", nil)
	w.wantAsked("orders/landing 2026-03-02 1")
	w.wantRun("orders/stream/2026-03-02", "RUNNING 1")
	r := w.reading("orders", "landing", "2026-03-02")
	if r.Source != "probe" || r.Period != w.Period("2026-03-02") || !r.ExpiresAt.Equal(w.Now().Add(5*time.Minute)) {
		t.Errorf("the reading is %+v", r)
	}
	if w.reading("orders", "landing", "2026-03-03") != nil {
		t.Error("an answer about one day is used for another")
	}
}

func TestProbeRunsAgainOnlyWhenItsValueHasExpired(t *testing.T) {
	w := newWorld(t, strings.Replace(orders, "ttl: 5m", "ttl: 15m", 1))
	w.answer = fails
	w.write("orders", "ready", "2026-03-03", nil)
	w.wantAsked("orders/landing 2026-03-03 1")
	w.Pass(10 * time.Minute) // the gate is evaluated, and the value counts
	w.wantAsked()
	w.wantRun("orders/stream/2026-03-03", "PENDING 1")
	w.answer = passes
	w.Pass(10 * time.Minute)
	w.wantAsked("orders/landing 2026-03-03 1")
	w.wantRun("orders/stream/2026-03-03", "RUNNING 1")
}

// A probe that knows nothing leaves no reading on which a rule could pass. It works, so it does not
// back off.
func TestUnknownAnswerIsNoReading(t *testing.T) {
	for _, check := range []string{"check: exists", "check: not_equals, field: status, value: PASS", "check: age_lt, field: updatedAt, value: 1h"} {
		waiting := strings.Replace(orders, "check: equals, field: status, value: PASS", check, 1)
		w := newWorld(t, waiting)
		w.answer = knowsNothing
		w.write("orders", "ready", "2026-03-03", nil)
		w.Pass(35 * time.Minute)
		w.wantRun("orders/stream/2026-03-03", "PENDING 1")
		if r := w.reading("orders", "landing", "2026-03-03"); r != nil {
			t.Errorf("%s: it left %+v", check, r)
		}
		w.wantAsked(slices.Repeat([]string{"orders/landing 2026-03-03 1"}, 4)...) // at each evaluation of the gate
		if s := w.state("orders", "landing"); s.Failures != 0 || s.Status != probe.Unknown || s.Reason != "no row" || !s.ExpiresAt.IsZero() {
			t.Errorf("%s: its state is %+v", check, s)
		}
	}
}

// The value of an answer may name another period, which counts for the one that was asked about.
func TestUnknownAnswerWithdrawsOneForALongerPeriod(t *testing.T) {
	w := newWorld(t, `pipeline: {id: each, owner: x}
schedule: {cron: "0 * * * *", evaluation: {window: 50m, interval: 1m}}
probes: [{key: landing, command: [x], interval: 1m, ttl: 3h}]
validation: {rules: [{key: landing, check: gte, field: count, value: 9}]}
job: {type: lambda, config: {functionName: f}}
`)
	w.answer = func(probe.Request) (probe.Answer, error) {
		return probe.Answer{Status: probe.Pass, Value: sensor.Fields{"count": int64(10), "date": "2026-03-03"}}, nil
	}
	w.Pass(time.Minute)
	if w.reading("each", "landing", "2026-03-03") == nil {
		t.Fatal("the answer is no reading of the day")
	}
	w.answer = knowsNothing
	w.Pass(time.Hour) // until it is asked about the next period
	if r := w.reading("each", "landing", "2026-03-03"); r != nil {
		t.Errorf("%+v is still there", r)
	}
}

func TestUnknownAnswerWithdrawsTheLastOne(t *testing.T) {
	w := newWorld(t, strings.Replace(each, "check: equals, field: status, value: PASS", "check: gte, field: count, value: 9", 1))
	w.answer = func(probe.Request) (probe.Answer, error) {
		return probe.Answer{Status: probe.Pass, Value: sensor.Fields{"count": int64(1)}}, nil
	}
	w.Pass(time.Minute)
	if w.reading("each", "landing", "2026-03-03") == nil {
		t.Fatal("there is no reading of the first answer")
	}
	w.answer = knowsNothing
	w.Pass(time.Minute)
	if r := w.reading("each", "landing", "2026-03-03"); r != nil {
		t.Errorf("the reading is still %+v", r)
	}
	w.write("each", "landing", "2026-03-03", sensor.Fields{"count": int64(2)}) // by hand
	w.asked = nil
	w.Pass(3 * time.Minute)
	if r := w.reading("each", "landing", "2026-03-03"); r == nil || r.Fields["count"] != int64(2) {
		t.Errorf("the reading that another client wrote is %+v", r)
	}
	w.wantAsked(slices.Repeat([]string{"each/landing 2026-03-03 1"}, 3)...)
}

func TestProbeThatKnowsNothingIsNotRunAtEachEvaluation(t *testing.T) {
	w := newWorld(t, strings.Replace(orders, "interval: 10m", "interval: 1s", 1))
	w.answer = knowsNothing
	w.write("orders", "ready", "2026-03-03", nil)
	w.Pass(5 * time.Minute)
	if n := len(w.asked); n < 25 || n > 31 {
		t.Errorf("asked %d times in five minutes", n)
	}
	w.answer = passes
	w.Pass(11 * time.Second)
	w.wantRun("orders/stream/2026-03-03", "RUNNING 1")
}

func TestFailingProbeLeavesNoValueAndIsRetriedWhileARunWaits(t *testing.T) {
	w := newWorld(t, orders)
	w.answer = breaks
	w.write("orders", "ready", "2026-03-03", nil)
	w.Pass(2 * time.Minute)
	w.wantAsked("orders/landing 2026-03-03 1", "orders/landing 2026-03-03 2", "orders/landing 2026-03-03 3", "orders/landing 2026-03-03 4")
	if r := w.reading("orders", "landing", "2026-03-03"); r != nil {
		t.Errorf("it left %+v", r)
	}
	if s := w.state("orders", "landing"); s.Failures != 4 || s.Failure != "exited with code 1: no such table" || s.Open() {
		t.Errorf("its state is %+v", s)
	}
	w.Pass(time.Hour)
	if n := len(w.asked); n < 4 || n > 8 || !w.state("orders", "landing").Open() {
		t.Errorf("asked %d times in an hour, and its state is %+v", n, w.state("orders", "landing"))
	}
	w.answer = passes
	w.Pass(15 * time.Minute)
	w.wantRun("orders/stream/2026-03-03", "RUNNING 1")
	if s := w.state("orders", "landing"); s.Failures != 0 || s.Status != probe.Pass {
		t.Errorf("its state is %+v", s)
	}
}

func TestFailingProbeBacksOffHoweverOftenTheGateIsEvaluated(t *testing.T) {
	w := newWorld(t, strings.Replace(orders, "interval: 10m", "interval: 1s", 1))
	w.answer = breaks
	w.write("orders", "ready", "2026-03-03", nil)
	w.Pass(30 * time.Minute)
	if n := len(w.asked); n > 10 {
		t.Errorf("asked %d times in half an hour", n)
	}
}

func TestLastValueSurvivesAFailureUntilItExpires(t *testing.T) {
	w := newWorld(t, each)
	w.Pass(time.Second)
	w.wantRun("each/stream/2026-03-03", "RUNNING 1")
	w = newWorld(t, strings.Replace(each, "key: landing, check", "key: other, check", 1))
	w.wantAsked("each/landing 2026-03-03 1")
	w.answer = breaks
	w.Pass(2*time.Minute - time.Second)
	if r := w.reading("each", "landing", "2026-03-03"); r == nil || !w.Now().Before(r.ExpiresAt) {
		t.Errorf("the reading is %+v", r)
	}
	w.Pass(time.Second)
	if r := w.reading("each", "landing", "2026-03-03"); r == nil || w.Now().Before(r.ExpiresAt) {
		t.Errorf("the reading is %+v", r)
	}
	if s := w.state("each", "landing"); s.Status != probe.Pass || s.Failures == 0 {
		t.Errorf("its state is %+v", s)
	}
}

func TestIntervalProbesTheCurrentPeriodAndOpensItsRun(t *testing.T) {
	w := newWorld(t, each)
	w.wantAsked("each/landing 2026-03-03 1")
	w.wantRun("each/stream/2026-03-03", "RUNNING 1")
	w.ended = true
	w.Pass(14 * time.Hour)
	w.wantAsked() // the day is done
	w.wantRun("each/stream/2026-03-03", "COMPLETED 1")
	w.answer = fails
	w.Pass(55 * time.Minute)
	var want []string
	for range 6 { // from midnight on
		want = append(want, "each/landing 2026-03-04 1")
	}
	w.wantAsked(want...)
	w.answer = passes
	w.Pass(time.Minute)
	w.wantRun("each/stream/2026-03-04", "RUNNING 1")
}

func TestLaterProbeResultIsNotLateData(t *testing.T) {
	n := 0
	w := newWorld(t, strings.Replace(orders, "command: x, ttl: 5m", "command: x, interval: 1m", 1))
	w.answer = func(probe.Request) (probe.Answer, error) {
		n++
		return probe.Answer{Status: probe.Pass, Value: sensor.Fields{"count": int64(n)}}, nil
	}
	w.write("orders", "ready", "2026-03-03", nil)
	w.wantRun("orders/stream/2026-03-03", "RUNNING 1")
	w.write("orders", "landing", "2026-03-03", sensor.Fields{"status": "PASS", "count": int64(99)}) // an answer that was in flight
	w.ended = true
	w.Pass(3 * time.Hour)
	w.wantRun("orders/stream/2026-03-03", "COMPLETED 1")
	page, err := w.Store.Events(t.Context(), store.EventQuery{Type: event.LateDataArrival})
	if err != nil || len(page.Items) > 0 {
		t.Errorf("events %v, %v", page.Items, err)
	}
}

func TestExcludedPeriodIsNotProbed(t *testing.T) {
	w := newWorld(t, each+"exclusions: {dates: [2026-03-03]}\n")
	w.Pass(time.Hour)
	w.wantAsked()
	w.Pass(14 * time.Hour)
	if len(w.asked) == 0 || w.asked[0] != "each/landing 2026-03-04 1" {
		t.Errorf("asked %v", w.asked)
	}
}

func TestSharedProbeRunsForTheReadersPeriod(t *testing.T) {
	const common = "pipeline: {id: common, owner: tests}\nprobes: [{key: up, command: x}]\n"
	reader := strings.NewReplacer("probes: [{key: landing, command: x, ttl: 5m}]\n", "", "{key: landing,", "{key: up, from: common,").Replace(orders)
	w := newWorld(t, common, reader)
	w.write("orders", "ready", "2026-03-01", nil)
	w.wantAsked("common/up 2026-03-01 1")
	w.wantRun("orders/stream/2026-03-01", "RUNNING 1")
}

func TestDryRunRunsItsProbesToo(t *testing.T) {
	w := newWorld(t, orders+"dryRun: true\n")
	w.write("orders", "ready", "2026-03-02", nil)
	w.wantAsked("orders/landing 2026-03-02 1")
	page, err := w.Store.Events(t.Context(), store.EventQuery{Type: event.DryRunWouldTrigger})
	if err != nil || len(page.Items) != 1 {
		t.Errorf("events %v, %v", page.Items, err)
	}
}

func TestDryRunOfAnotherPeriodRunsItsProbesEachInterval(t *testing.T) {
	w := newWorld(t, strings.Replace(orders, "ttl: 5m", "interval: 1m, ttl: 1d", 1)+"dryRun: true\n")
	w.answer = fails
	w.write("orders", "ready", "2026-03-01", nil)
	w.Pass(time.Minute)
	w.answer = passes
	w.Pass(time.Minute)
	page, err := w.Store.Events(t.Context(), store.EventQuery{Type: event.DryRunWouldTrigger})
	if err != nil || len(page.Items) != 1 {
		t.Errorf("events %v, %v", page.Items, err)
	}
	w.Pass(2 * time.Minute)
	w.asked = nil
	w.Pass(5 * time.Minute)
	for _, asked := range w.asked {
		if strings.Contains(asked, "2026-03-01") {
			t.Errorf("probed %s, which no run waits for any more", asked)
		}
	}
}

func TestRealRunKeepsItsProbesBesideADryRun(t *testing.T) {
	lasting := strings.Replace(orders, "ttl: 5m", "ttl: 15m", 1)
	w := newWorld(t, lasting)
	w.answer = fails
	w.write("orders", "ready", "2026-03-03", nil)
	w.apply(lasting + "dryRun: true\n")
	w.write("orders", "ready", "2026-03-03", sensor.Fields{"n": int64(1)}) // opens a dry run of the same period
	w.answer = passes
	w.Pass(30 * time.Minute)
	w.wantRun("orders/stream/2026-03-03", "RUNNING 1")
	page, err := w.Store.Events(t.Context(), store.EventQuery{Type: event.DryRunWouldTrigger})
	if err != nil || len(page.Items) != 1 {
		t.Errorf("events %v, %v", page.Items, err)
	}
}

func TestPostRunRulesRunTheirProbesToo(t *testing.T) {
	const after = "pipeline: {id: orders, owner: tests}\nschedule: {trigger: {key: ready, check: exists}}\nprobes: [{key: out, command: x, ttl: 1h}]\n" +
		"job: {type: lambda, config: {functionName: f}}\npostRun: {rules: [{key: out, check: equals, field: status, value: PASS}], evaluation: {window: 2h, interval: 10m}}\n"
	w := newWorld(t, after)
	w.ended = true
	w.write("orders", "ready", "2026-03-03", nil)
	w.Pass(30 * time.Minute)
	w.wantRun("orders/stream/2026-03-03", "COMPLETED 1")
	w.wantAsked("orders/out 2026-03-03 1")
	page, err := w.Store.Events(t.Context(), store.EventQuery{Type: event.PostRunPassed})
	if err != nil || len(page.Items) != 1 {
		t.Errorf("events %v, %v", page.Items, err)
	}
}

func TestAnswerMayBeAboutAnotherPeriod(t *testing.T) {
	w := newWorld(t)
	w.ended = true
	w.answer = func(probe.Request) (probe.Answer, error) {
		return probe.Answer{Status: probe.Pass, Value: sensor.Fields{"date": "20260301"}}, nil
	}
	w.apply(each)
	if r := w.reading("each", "landing", "2026-03-01"); r == nil || r.Period != w.Period("2026-03-01") {
		t.Errorf("the reading is %+v", r)
	}
	w.answer = func(probe.Request) (probe.Answer, error) {
		return probe.Answer{Status: probe.Pass, Value: sensor.Fields{"date": "soon"}}, nil
	}
	w.Pass(15 * time.Hour)
	if s := w.state("each", "landing"); s.Failures == 0 || !strings.Contains(s.Failure, "has an invalid period") {
		t.Errorf("its state is %+v", s)
	}
}

func TestProbesEndWithTheirFile(t *testing.T) {
	w := newWorld(t)
	w.answer = fails
	w.apply(each, orders)
	w.apply(orders)
	w.asked = nil
	w.Pass(time.Hour)
	w.wantAsked()
	for _, id := range []string{"probes/each", "probe/each/landing", "probe/each/landing#2026-03-03"} {
		if _, err := w.Store.Task(t.Context(), id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("task %s is still there: %v", id, err)
		}
	}
	w.apply(orders, each)
	w.wantAsked("each/landing 2026-03-03 1")
}

func TestOpenAttemptOfARemovedPipelineFinishes(t *testing.T) {
	w := newWorld(t, strings.Replace(orders, "ttl: 5m", "ttl: 15m", 1))
	w.answer = fails
	w.write("orders", "ready", "2026-03-03", nil)
	w.apply()
	w.answer = passes
	w.Pass(30 * time.Minute)
	w.wantRun("orders/stream/2026-03-03", "RUNNING 1")
}

func TestFixedFileEndsTheBackoff(t *testing.T) {
	w := newWorld(t, each)
	w.answer = breaks
	w.apply(each + "# broken\n")
	w.Pass(2 * time.Hour)
	w.Pass(14 * time.Hour) // a new day with a waiting run
	if !w.state("each", "landing").Open() {
		t.Fatalf("its state is %+v", w.state("each", "landing"))
	}
	w.answer, w.asked = fails, nil
	w.apply(each + "# mended\n")
	w.wantAsked("each/landing 2026-03-04 1")
}

func TestManyProbesOfOneGateAllRun(t *testing.T) {
	var probes, rules []string
	for i := range 25 {
		probes = append(probes, fmt.Sprintf("{key: p%02d, command: x}", i))
		rules = append(rules, fmt.Sprintf("{key: p%02d, check: equals, field: status, value: PASS}", i))
	}
	w := newWorld(t, strings.NewReplacer("{key: landing, command: x, ttl: 5m}", strings.Join(probes, ", "),
		"{key: landing, check: equals, field: status, value: PASS}", strings.Join(rules, ", ")).Replace(orders))
	w.write("orders", "ready", "2026-03-03", nil)
	if len(w.asked) != 25 {
		t.Errorf("asked %d: %v", len(w.asked), w.asked)
	}
	w.wantRun("orders/stream/2026-03-03", "RUNNING 1")
}

func TestOneReplicaRunsAProbeAtATime(t *testing.T) {
	w := newWorld(t, orders)
	claim := func(replica string) []store.Claim {
		claims, err := w.Store.Claim(t.Context(), store.ClaimQuery{Replica: replica, Limit: 10, Lease: time.Minute}, w.Now())
		w.Check(err)
		return claims
	}
	var others []string
	w.answer = func(probe.Request) (probe.Answer, error) {
		// While it runs, another replica looks for work, and the gate is evaluated again.
		for _, c := range claim("two") {
			others = append(others, c.Task.ID)
			w.Check(w.Store.Release(t.Context(), []store.Lease{c.Lease}, w.Now()))
		}
		return probe.Answer{Status: probe.Fail}, nil
	}
	w.write("orders", "ready", "2026-03-03", nil)
	w.wantAsked("orders/landing 2026-03-03 1")
	for _, id := range others {
		if strings.HasPrefix(id, "probe") {
			t.Errorf("another replica claimed %s meanwhile", id)
		}
	}
}

func TestAnswerUnderALostLeaseIsIgnored(t *testing.T) {
	w := newWorld(t, orders)
	slow, stalled := probe.Answer{Status: probe.Pass}, store.Claim{}
	w.answer = func(probe.Request) (probe.Answer, error) {
		if len(w.asked) > 1 {
			return probe.Answer{Status: probe.Fail, Reason: "gone again"}, nil
		}
		// This replica is stalled until its lease has long expired and another has run the probe.
		w.Move(w.Now().Add(2 * time.Minute))
		claims, err := w.Store.Claim(t.Context(), store.ClaimQuery{Replica: "two", Task: "probe/orders/landing#2026-03-03", Limit: 1, Lease: time.Minute}, w.Now())
		w.Check(err)
		stalled = claims[0]
		w.Check(w.Probe(t.Context(), stalled, w.Now))
		return slow, nil
	}
	w.Check(func() error {
		_, err := w.Store.PutReadings(t.Context(), []store.Write{{Pipeline: "orders", Reading: sensor.Reading{Key: "ready", Period: w.Period("2026-03-03")}}}, w.Now())
		return err
	}())
	for w.React() {
	}
	var lost error
	for range 10 {
		claims, err := w.Store.Claim(t.Context(), store.ClaimQuery{Replica: "one", Limit: 1, Lease: time.Minute}, w.Now())
		w.Check(err)
		for _, c := range claims {
			lost = errors.Join(lost, w.Perform(c))
		}
	}
	if !errors.Is(lost, store.ErrConflict) {
		t.Errorf("the replica that lost its lease got %v", lost)
	}
	w.Settle()
	if r := w.reading("orders", "landing", "2026-03-03"); r == nil || r.Fields["status"] != "FAIL" {
		t.Errorf("the reading is %+v", r)
	}
	w.wantRun("orders/stream/2026-03-03", "PENDING 1")
}

func TestCancelledProbeIsNotAFailure(t *testing.T) {
	w := newWorld(t, orders)
	ctx, cancel := context.WithCancel(t.Context())
	w.answer = func(probe.Request) (probe.Answer, error) {
		cancel()
		return probe.Answer{}, ctx.Err()
	}
	b := store.Batch{ID: "x"}
	b.Schedule(store.Task{ID: "probe/orders/landing#2026-03-03", Kind: store.RunProbe, Pipeline: "orders", Key: w.Key("orders/stream/2026-03-03"), Due: w.Now()})
	w.Check(w.Store.Commit(t.Context(), b, w.Now()))
	claims, err := w.Store.Claim(t.Context(), store.ClaimQuery{Limit: 1, Lease: time.Minute}, w.Now())
	w.Check(err)
	if err := w.Probe(ctx, claims[0], w.Now); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(probe.State{Config: w.Catalog.Current().Get("orders").Version}, w.state("orders", "landing")); diff != "" {
		t.Errorf("its state (-want +got):\n%s", diff)
	}
}

func TestReplicaLoadsAFileItDoesNotKnow(t *testing.T) {
	w := newWorld(t)
	other := catalog.New(w.Store, all.Kinds())
	w.Probe = prober.New(prober.Deps{Store: w.Store, Catalog: other, Evaluator: w}).Run
	w.answer = fails
	w.apply(each)
	w.Pass(2 * time.Minute)
	w.wantAsked("each/landing 2026-03-03 1", "each/landing 2026-03-03 1", "each/landing 2026-03-03 1")
}
