package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/sim"
)

// A world without faults is a controller whose clock tests can move.
func TestWorldWithoutFaultsEmitsTheUsualEvents(t *testing.T) {
	w := sim.New(sim.Options{
		Start: time.Date(2026, 3, 3, 8, 0, 0, 0, time.UTC),
		Files: catalog.Files{Pipelines: []pipeline.Source{{File: "orders.yaml", Data: []byte(`
pipeline: {id: orders, owner: tests}
schedule: {trigger: {key: landed, check: exists}, period: hour}
sla: {deadline: ":30"}
job: {type: glue, config: {jobName: x}, pollInterval: 30s}
`)}}},
	})
	defer w.Close()
	w.Settle()
	w.AdvanceTo(w.Now().Add(5 * time.Minute))
	if err := w.PutSensor("orders", "landed#2026-03-03T07", sensor.Fields{"count": 3}); err != nil {
		t.Fatal(err)
	}
	w.AdvanceTo(w.Now().Add(90 * time.Minute))
	events, err := w.Events()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprintf("%s %s %s", e.Time.Format("15:04:05"), e.Type, e.Detail.Date))
	}
	want := []string{
		"08:00:00 CONFIG_ACCEPTED ",
		"08:05:00 TRIGGER_STARTED 2026-03-03T07",
		"08:05:00 VALIDATION_PASSED 2026-03-03T07",
		"08:05:00 JOB_TRIGGERED 2026-03-03T07",
		"08:06:00 JOB_COMPLETED 2026-03-03T07",
		"09:30:00 SLA_BREACH 2026-03-03T08",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
