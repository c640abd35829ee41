package awslambda_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/otlp"
	"github.com/interlock-go/interlock/internal/otlp/otlptest"
	"github.com/interlock-go/interlock/internal/sensor"
)

// The change that a producer's row is, the steps of the attempt, each poll and what the end of the job
// causes are one trace, although different functions handle them.
func TestOneTraceFromRowToJobEnd(t *testing.T) {
	collector := otlptest.NewReceiver(t)
	tracing, err := otlp.NewTracing(func(name string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	w := deploy(t, awslambdatest.Options{Tracing: tracing}, onLanding)
	if err := w.PutSensor("orders", "landed#2026-03-03", sensor.Fields{"status": "ready"}, w.Now()); err != nil {
		t.Fatal(err)
	}
	w.AdvanceTo(w.Now().Add(30 * time.Minute))
	if err := tracing.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	const row, step = "change reading", "change reading > task advance > step "
	var all []string
	for _, trace := range collector.Traces() {
		paths := map[string]bool{}
		for _, span := range collector.Of(trace) {
			paths[otlptest.Path(collector.Of(trace), span)] = true
		}
		if paths[row] && paths[step+"evaluate > start step-function"] && paths[step+"check-job"] && paths[row+" > change run"] {
			return
		}
		for path := range paths {
			all = append(all, path)
		}
	}
	t.Errorf("no trace has all of them: %q", all)
}
