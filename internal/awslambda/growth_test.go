package awslambda_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
)

// grow plays three days with one run each, and returns what the third added to the tables.
func grow(t testing.TB) map[string]map[string]awslambdatest.Rows {
	t.Helper()
	environment, c := dynamotest.Streaming(t)
	var tables *awslambdatest.Local
	w := deploy(t, awslambdatest.Options{Watch: 96 * time.Hour, Pulse: 96 * time.Hour, Tables: func(now func() time.Time) awslambdatest.Tables {
		tables = awslambdatest.NewLocal(t, environment, c, now)
		return tables
	}}, daily)
	w.AdvanceTo(dawn.Add(25 * time.Hour))
	before := tables.Sizes()
	w.AdvanceTo(dawn.Add(49 * time.Hour))
	if n := len(w.jobs.starts); n != 3 {
		t.Fatalf("%d starts, want one a day", n)
	}
	after := tables.Sizes()
	for kept, kinds := range after {
		for kind, rows := range kinds {
			old := before[kept][kind]
			kinds[kind] = awslambdatest.Rows{Count: rows.Count - old.Count, Bytes: rows.Bytes - old.Bytes}
		}
	}
	return after
}

// Everything that grows with the number of runs is deleted again, except what keeps a period from
// running twice and a deadline from being reported twice.
func TestOnlyRunsAndTheirDeadlinesStay(t *testing.T) {
	stays := map[string]bool{"control TRIGGER": true, "control DEADLINE": true, "control BASELINE": true}
	for kind, rows := range grow(t)[awslambdatest.Stays] {
		if rows.Count > 0 && !stays[kind] {
			t.Errorf("%d rows %q are kept for each run, and nothing deletes them", rows.Count, kind)
		}
	}
}

// BenchmarkGrowth reports how many bytes a run adds to the tables, by how long they are kept.
func BenchmarkGrowth(b *testing.B) {
	units := map[string]string{awslambdatest.Stays: "B-that-stay", awslambdatest.Ages: "B-for-30-days", awslambdatest.Expires: "B-until-ttl"}
	for b.Loop() {
		for kept, kinds := range grow(b) {
			sum := 0
			for _, rows := range kinds {
				sum += rows.Bytes
			}
			b.ReportMetric(float64(sum), units[kept])
		}
	}
}
