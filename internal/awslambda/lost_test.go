package awslambda_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
)

const ready = `{"PK": {"S": "PIPELINE#orders"}, "SK": {"S": "SENSOR#landed"}, "status": {"S": "ready"}, "date": {"S": "2026-03-03"}}`

// Streams tell the time in whole seconds, and a file is accepted a moment after its row was put.
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
	w.AdvanceTo(dawn.Add(6 * time.Minute)) // a pass of the watchdog
	w.wantStarts(t, "orders/stream/2026-03-03/1")
	if got := w.all(t, event.TriggerRecovered); len(got) != 1 {
		t.Errorf("told %d times", len(got))
	}
	w.AdvanceTo(dawn.Add(30 * time.Minute)) // it is recovered once
	w.wantStarts(t, "orders/stream/2026-03-03/1")
}
