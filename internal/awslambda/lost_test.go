package awslambda_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
)

const ready = `{"PK": {"S": "PIPELINE#orders"}, "SK": {"S": "SENSOR#landed"}, "status": {"S": "ready"}, "date": {"S": "2026-03-03"}}`

// Stream times are in whole seconds, and a file is accepted a moment after its row was put.
func TestASensorWrittenRightAfterItsFileCounts(t *testing.T) {
	w, tables := onTables(t)
	w.AdvanceTo(dawn.Add(800 * time.Millisecond))
	w.put(t, onLanding)
	w.AdvanceTo(dawn.Add(900 * time.Millisecond))
	tables.Put(dynamo.Control, ready)
	w.Settle()
	w.wantStarts(t, "orders/stream/2026-03-03/1")
}

// troubledWorld is a deployment whose functions may fail.
func troubledWorld(t *testing.T, files ...string) (*world, *awslambdatest.Local) {
	t.Helper()
	var local *awslambdatest.Local
	environment, c := dynamotest.Streaming(t)
	w := deploy(t, awslambdatest.Options{
		Wrong: func(string, error) {},
		Tables: func(now func() time.Time) awslambdatest.Tables {
			local = awslambdatest.NewLocal(t, environment, c, now)
			return local
		},
	}, files...)
	return w, local
}

func TestASensorThatTheStreamGaveUpIsRecovered(t *testing.T) {
	w, tables := troubledWorld(t, onLanding)
	tables.Trouble(func(string, int) awslambdatest.Trouble { return awslambdatest.Throttled })
	tables.Put(dynamo.Control, ready)
	w.Settle()
	tables.Trouble(nil)
	if len(w.Poison) == 0 {
		t.Fatal("the stream did not give up")
	}
	w.wantStarts(t)
	w.AdvanceTo(dawn.Add(6 * time.Minute)) // one watchdog pass: the record may still be in the stream
	w.wantStarts(t)
	w.Restart() // Lambda may carry out the next pass in another container
	w.AdvanceTo(dawn.Add(11 * time.Minute))
	w.wantStarts(t, "orders/stream/2026-03-03/1")
	if got := w.all(t, event.TriggerRecovered); len(got) != 1 {
		t.Errorf("reported %d times", len(got))
	}
	w.AdvanceTo(dawn.Add(30 * time.Minute)) // it is recovered only once
	w.wantStarts(t, "orders/stream/2026-03-03/1")
}

// A pass may begin between a write and the delivery of its record, and a row may change between two
// passes: nothing is lost, so nothing is reported as recovered.
func TestARowThatTheStreamIsAboutToDeliverIsNotRecovered(t *testing.T) {
	w, tables := onTables(t)
	w.put(t, onLanding)
	for minute, status := range []string{"loading", "waiting", "ready"} {
		w.AdvanceTo(dawn.Add(time.Duration(minute) * time.Minute))
		tables.Put(dynamo.Control, strings.Replace(ready, `"ready"`, strconv.Quote(status), 1))
		w.Watch()
	}
	w.wantStarts(t, "orders/stream/2026-03-03/1")
	if got := w.all(t, event.TriggerRecovered); len(got) != 0 {
		t.Errorf("reported %d times", len(got))
	}
}

// What an earlier pass found unread may have been delivered since, and be written again with the same
// contents.
func TestARowThatWasUnreadOnceIsNotRecovered(t *testing.T) {
	w, tables := onTables(t)
	w.put(t, onLanding)
	for _, minute := range []int{0, 12} {
		w.AdvanceTo(dawn.Add(time.Duration(minute) * time.Minute))
		tables.Put(dynamo.Control, strings.Replace(ready, `"ready"`, `"loading"`, 1))
		w.Settle()
		tables.Put(dynamo.Control, ready)
		w.Watch()
		w.Settle()
	}
	w.wantStarts(t, "orders/stream/2026-03-03/1")
	if got := w.all(t, event.TriggerRecovered); len(got) != 0 {
		t.Errorf("reported %d times", len(got))
	}
}

// A schedule that cannot be deleted does no harm: the run stays COMPLETED, and no alert is sent.
func TestARunThatCompletedIsNotBrokenByItsEntries(t *testing.T) {
	w := deploy(t, awslambdatest.Options{
		Wrong: func(string, error) {},
		Fault: func(operation string, _ int) awslambdatest.Trouble {
			if operation == "DeleteSchedule" {
				return awslambdatest.Throttled
			}
			return awslambdatest.NoTrouble
		},
	}, daily)
	w.at("06:50")
	if got := w.run(t, today).Status; got != run.Completed {
		t.Fatalf("the run is %s", got)
	}
	if w.Called("DeleteSchedule") == 0 {
		t.Fatal("no entry was deleted")
	}
	for _, kind := range w.eventTypes(t, today) {
		if kind == event.InfraFailure {
			t.Errorf("got %v", w.eventTypes(t, today))
		}
	}
	for name, status := range w.Ended() {
		if status != "SUCCEEDED" {
			t.Errorf("%s: %s", name, status)
		}
	}
}

// The bus delivers in any order; events are listed in order of their time.
func TestEventsAreListedInOrderOfTime(t *testing.T) {
	environment, c := dynamotest.Streaming(t)
	log := dynamo.New(c, environment, dynamo.Options{Follow: true})
	for _, minute := range []int{3, 1, 2} {
		at := dawn.Add(time.Duration(minute) * time.Minute)
		e := event.New(event.SLAWarning, event.About{Pipeline: "orders", At: at, Which: at.String()}, "late", nil)
		if err := log.AppendEvents(t.Context(), []event.Event{e}); err != nil {
			t.Fatal(err)
		}
	}
	page, err := log.Events(t.Context(), store.EventQuery{Pipeline: "orders"})
	if err != nil || len(page.Items) != 3 {
		t.Fatalf("%d events, %v", len(page.Items), err)
	}
	for i, e := range page.Items[1:] {
		if e.Time.After(page.Items[i].Time) {
			t.Errorf("%s comes after %s", e.Time, page.Items[i].Time)
		}
	}
}
