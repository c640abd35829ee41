package awslambda_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

const report = `pipeline: {id: report, owner: data}
schedule: {after: [orders]}
job: {type: step-function, config: {stateMachineARN: "arn:aws:states:eu-west-1:123456789012:stateMachine:report"}}
`

// history plays a morning that uses every AWS service: a cron fire, a retry, a cascade, a deadline.
// It returns the events by run.
func history(t *testing.T, o awslambdatest.Options) map[string][]event.Type {
	t.Helper()
	return playMorning(t, deploy(t, o, daily, report))
}

// playMorning plays it on a deployment.
func playMorning(t *testing.T, w *world) map[string][]event.Type {
	t.Helper()
	w.jobs.fails["orders/cron/2026-03-03/1"] = true
	w.at("08:00")
	if local, is := w.Tables.(*awslambdatest.Local); is {
		local.Trouble(nil) // the test's own reads must not fail
	}
	events := map[string][]event.Type{}
	for _, key := range []string{today, "report/stream/2026-03-03"} {
		events[key] = w.eventTypes(t, key)
		if r := w.run(t, key); r.Status != run.Completed {
			t.Errorf("run %s is %s", key, r.Status)
		}
	}
	w.wantStarts(t, "orders/cron/2026-03-03/1", "orders/cron/2026-03-03/2", "report/stream/2026-03-03/1")
	published := map[string]bool{}
	for _, e := range w.Events {
		published[e.Resources[0]] = true
	}
	if len(published) < len(events[today])+len(events["report/stream/2026-03-03"]) {
		t.Errorf("%d events were published, want those of %v", len(published), events)
	}
	return events
}

// calm returns the events of the same morning without faults.
func calm(t *testing.T) map[string][]event.Type {
	t.Helper()
	return history(t, awslambdatest.Options{})
}

func TestAWSFaultsChangeNoEvents(t *testing.T) {
	want := calm(t)
	for operation, kinds := range map[string][]awslambdatest.Trouble{
		"StartExecution": {awslambdatest.Throttled, awslambdatest.Lost},
		"CreateSchedule": {awslambdatest.Throttled, awslambdatest.Lost},
		"DeleteSchedule": {awslambdatest.Throttled, awslambdatest.Lost},
		"PutEvents":      {awslambdatest.Throttled, awslambdatest.Lost, awslambdatest.Partly},
		"Invoke":         {awslambdatest.Throttled, awslambdatest.Lost},
	} {
		for _, trouble := range kinds {
			t.Run(operation+" "+string(trouble), func(t *testing.T) {
				t.Parallel()
				got := history(t, awslambdatest.Options{Wrong: tolerated, Fault: func(called string, n int) awslambdatest.Trouble {
					if called == operation && n%3 == 1 { // one in three
						return trouble
					}
					return awslambdatest.NoTrouble
				}})
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the events differ (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// twice delivers each record twice.
func twice(batch []json.RawMessage) []json.RawMessage { return slices.Concat(batch, batch) }

// mixed reorders the records of different pipelines and keeps those of one pipeline in order.
func mixed(dice *rand.Rand, owner func(json.RawMessage) string) func([]json.RawMessage) []json.RawMessage {
	return func(batch []json.RawMessage) []json.RawMessage {
		lanes := map[string][]json.RawMessage{}
		var owners []string
		for _, text := range batch {
			id := owner(text)
			if lanes[id] == nil {
				owners = append(owners, id)
			}
			lanes[id] = append(lanes[id], text)
		}
		var out []json.RawMessage
		for len(owners) > 0 {
			i := dice.IntN(len(owners))
			id := owners[i]
			out = append(out, lanes[id][0])
			if lanes[id] = lanes[id][1:]; len(lanes[id]) == 0 {
				owners = slices.Delete(owners, i, i+1)
			}
		}
		return out
	}
}

func TestRedeliveredRecordsCountOnce(t *testing.T) {
	if diff := cmp.Diff(calm(t), history(t, awslambdatest.Options{Shuffle: twice})); diff != "" {
		t.Errorf("the events differ (-want +got):\n%s", diff)
	}
}

func TestRecordsOfDifferentPipelinesMayArriveInAnyOrder(t *testing.T) {
	want := calm(t)
	for seed := range uint64(3) {
		tables := awslambdatest.NewMemory()
		owner := func(text json.RawMessage) string {
			var r awslambda.Record
			if err := json.Unmarshal(text, &r); err != nil {
				t.Fatal(err)
			}
			n, err := tables.Notice(r)
			if err != nil {
				t.Fatal(err)
			}
			return string(n.Pipeline)
		}
		got := history(t, awslambdatest.Options{
			Tables:  func(func() time.Time) awslambdatest.Tables { return tables },
			Shuffle: mixed(rand.New(rand.NewPCG(seed, 1)), owner),
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d: the events differ (-want +got):\n%s", seed, diff)
		}
	}
}

// A function may die before or after any of its commits: the next one finds all remaining work.
func TestFunctionMayDieAtAnyCommit(t *testing.T) {
	want := calm(t)
	for n := 1; n <= 40; n += 3 {
		for _, when := range []string{"before", "after"} {
			t.Run(fmt.Sprintf("%s commit %d", when, n), func(t *testing.T) {
				t.Parallel()
				tables := awslambdatest.NewMemory()
				tables.Kill = func(made int) (before, after bool) {
					return made == n && when == "before", made == n && when == "after"
				}
				got := history(t, awslambdatest.Options{Wrong: tolerated, Tables: func(func() time.Time) awslambdatest.Tables { return tables }})
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the events differ (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestInfraFailureIsReported(t *testing.T) {
	w := deploy(t, awslambdatest.Options{}, daily)
	w.at("06:03")
	in := awslambda.OrchestratorRequest{
		Mode: "infra-failure", Pipeline: "orders", Schedule: "cron", Date: "2026-03-03", Attempt: 1, Generation: 1,
		Error: awslambda.Failure{Error: "Sandbox.Timedout", Cause: `{"errorMessage": "timed out after 120 seconds"}`},
	}
	for range 2 { // the second call is a repeat
		if got, err := w.Orchestrate(in); err != nil || got.Status != string(run.Running) {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	events := slices.DeleteFunc(w.eventTypes(t, today), func(e event.Type) bool { return e != event.InfraFailure })
	if len(events) != 1 {
		t.Errorf("reported %d times", len(events))
	}
	w.Settle()
	said := func(e awslambdatest.Published) bool {
		return e.DetailType == string(event.InfraFailure) && strings.Contains(e.Detail, "Sandbox.Timedout: timed out after 120 seconds")
	}
	if !slices.ContainsFunc(w.Events, said) {
		t.Errorf("published %+v", w.Events)
	}
}

func TestFailingTaskIsRetriedLaterAndHoldsUpNoRecord(t *testing.T) {
	failed := 0
	w := deploy(t, awslambdatest.Options{Wrong: func(string, error) { failed++ }}, daily)
	b := store.Batch{ID: "of a newer version"}
	b.Schedule(store.Task{ID: "new", Kind: "not invented yet", Pipeline: "orders", Due: w.Now()})
	if err := w.Store().Commit(t.Context(), b, w.Now()); err != nil {
		t.Fatal(err)
	}
	w.at("05:50")
	task, err := w.Store().Task(t.Context(), "new")
	if err != nil || task.Failures < 5 || !task.RetryAt.After(dawn) {
		t.Errorf("the task is %+v, %v", task, err)
	}
	if failed == 0 || failed > 30 {
		t.Errorf("%d calls have failed in 20 minutes", failed)
	}
	if len(w.Poison) > 0 {
		t.Errorf("given up: %s", w.Poison)
	}
	kept := func(e awslambdatest.Published) bool {
		return e.DetailType == string(event.InfraFailure) && strings.Contains(e.Detail, "not invented yet")
	}
	if !slices.ContainsFunc(w.Events, kept) {
		t.Errorf("published %+v", w.Events)
	}
}
