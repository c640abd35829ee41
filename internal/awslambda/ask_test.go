package awslambda_test

import (
	"context"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/prober"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// warehouse answers probes, or fails while it is down.
type warehouse struct {
	down  bool
	empty bool // it knows nothing
	ran   []probe.Request
}

func (w *warehouse) Evaluate(_ context.Context, r probe.Request) (probe.Answer, error) {
	w.ran = append(w.ran, r)
	if w.down {
		return probe.Answer{}, &probe.Failure{Category: run.Transient, Reason: "connection refused"}
	}
	if w.empty {
		return probe.Answer{Status: probe.Unknown, Reason: "no row"}, nil
	}
	return probe.Answer{Status: probe.Pass, Value: sensor.Fields{"rows": int64(9007199254740993)}}, nil
}

const probed = `pipeline: {id: orders, owner: data}
schedule: {cron: "30 6 * * *", evaluation: {window: 1h, interval: 1m}}
probes: [{key: warehouse, url: "https://warehouse.example.com/ready", ttl: 10m}]
validation: {rules: [{key: warehouse, check: equals, field: rows, value: 9007199254740993}]}
job: {type: step-function, config: {stateMachineARN: "arn:aws:states:eu-west-1:123456789012:stateMachine:orders"}}
`

// The watchdog runs the probes of a gate through the orchestrator, and the answer starts the job.
func TestTheWatchdogRunsProbes(t *testing.T) {
	source := &warehouse{down: true}
	w := deploy(t, awslambdatest.Options{Evaluator: source}, probed)
	w.at("06:41")
	w.wantStarts(t)
	if len(source.ran) == 0 {
		t.Fatal("the probe was not run")
	}
	r := source.ran[0]
	if r.Pipeline != "orders" || r.Probe.Key != "warehouse" || r.Probe.URL != "https://warehouse.example.com/ready" || r.Period.String() != "2026-03-03" || r.Attempt != 1 {
		t.Errorf("ran %+v", r)
	}
	source.down, source.empty = false, true
	w.at("06:59")
	w.wantStarts(t)
	state, err := prober.StateOf(t.Context(), w.Store(), "orders", "warehouse", r.Version)
	if err != nil || state.Status != probe.Unknown || state.Reason != "no row" || state.Failures != 0 {
		t.Errorf("the state is %+v, %v", state, err)
	}
	source.empty = false
	w.at("07:15")
	w.wantStarts(t, "orders/cron/2026-03-03/1")
	ran := len(source.ran)
	w.AdvanceTo(w.Now().Add(2 * time.Hour))
	if len(source.ran) != ran {
		t.Errorf("ran %d times more for a run that has started", len(source.ran)-ran)
	}
	tasks, err := w.Store().Overdue(t.Context(), w.Now(), store.MaxPage)
	if err != nil || len(tasks) != 0 {
		t.Errorf("left: %+v, %v", tasks, err)
	}
}
