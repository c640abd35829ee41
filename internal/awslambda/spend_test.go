package awslambda_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
)

// spent is what one run uses.
type spent struct {
	calls   map[string]int // of DynamoDB, by operation
	units   awslambdatest.Units
	records map[string]awslambdatest.Records
	states  int            // entered by its execution
	called  map[string]int // functions, by name
	events  int            // published on the bus
	fired   int            // schedules that called a function
}

func (s spent) total() (all, writes int) {
	for operation, n := range s.calls {
		all += n
		if operation != "GetItem" && operation != "Query" && operation != "BatchGetItem" {
			writes += n
		}
	}
	return all, writes
}

// since returns what was used after before.
func (s spent) since(before spent) spent {
	s.units.Read, s.units.Write = s.units.Read-before.units.Read, s.units.Write-before.units.Write
	s.states, s.events, s.fired = s.states-before.states, s.events-before.events, s.fired-before.fired
	for operation, n := range before.calls {
		s.calls[operation] -= n
	}
	for function, n := range before.called {
		s.called[function] -= n
	}
	for table, n := range before.records {
		s.records[table] = awslambdatest.Records{Written: s.records[table].Written - n.Written, Delivered: s.records[table].Delivered - n.Delivered}
	}
	return s
}

func used(w *world, tables *awslambdatest.Local) spent {
	s := spent{
		calls: tables.Calls(), units: tables.Units(), records: maps.Clone(tables.Records()), states: w.Entered(),
		called: map[string]int{}, events: len(w.Events), fired: w.Called("fire"),
	}
	for _, function := range []string{"stream-router", "orchestrator", "sla-monitor"} {
		s.called[function] = w.Called("call test-interlock-" + function)
	}
	s.called["event-sink"] = s.events
	return s
}

// spendRun measures one run, from its cron fire to the end of its execution: a job of ten minutes that
// is polled every 30 seconds, with a deadline, after 20 runs of the same length.
func spendRun(t testing.TB, tables **awslambdatest.Local, o awslambdatest.Options) spent {
	t.Helper()
	w := deploy(t, o, strings.Replace(daily, "07:00", "08:00", 1))
	w.jobs.takes = 10 * time.Minute
	earlier(t, w.Store(), 20, w.jobs.takes)
	w.at("05:50")
	(*tables).Measure()
	before := used(w, *tables)
	w.at("06:40")
	if ended := w.Ended(); len(ended) != 1 {
		t.Fatalf("executions ended as %v, want one", ended)
	}
	return used(w, *tables).since(before)
}

// earlier stores completed runs whose jobs took that long.
func earlier(t testing.TB, s store.Store, n int, took time.Duration) {
	t.Helper()
	for day := range n {
		at := time.Date(2026, 2, 1+day, 6, 0, 0, 0, time.UTC)
		p, err := period.Parse(at.Format(time.DateOnly))
		if err != nil {
			t.Fatal(err)
		}
		r := run.Run{Key: run.Key{Pipeline: "orders", Schedule: "cron", Period: p}, Attempt: 1, Version: 1, Status: run.Completed, EndedAt: at.Add(took), UpdatedAt: at.Add(took)}
		r.Progress.StartedAt = at
		b := store.Batch{ID: fmt.Sprint("earlier ", day)}
		b.Swap(run.Run{}, r)
		if err := s.Commit(t.Context(), b, at); err != nil {
			t.Fatal(err)
		}
	}
}

// measure measures one run on a local DynamoDB.
func measure(t testing.TB) spent {
	t.Helper()
	environment, c := dynamotest.Streaming(t)
	var tables *awslambdatest.Local
	return spendRun(t, &tables, awslambdatest.Options{Watch: 24 * time.Hour, Pulse: 24 * time.Hour, Tables: func(now func() time.Time) awslambdatest.Tables {
		tables = awslambdatest.NewLocal(t, environment, c, now)
		return tables
	}})
}

// The smallest run with a deadline originally took 225 DynamoDB calls and 28 control records that
// reached the router. It must stay a third below that.
func TestRunTakesFewCallsAndRecords(t *testing.T) {
	s := measure(t)
	if all, _ := s.total(); all > 120 || all == 0 {
		t.Errorf("%d DynamoDB calls, want at most 120: %v", all, s.calls)
	}
	if n := s.records[dynamo.Control].Delivered; n > 18 || n == 0 {
		t.Errorf("%d control records reach the stream-router, want at most 18", n)
	}
	if s.states != 27 { // 12 for a job that is done at its first poll, and 3 for each further poll
		t.Errorf("its execution enters %d states, want 27", s.states)
	}
	checkPrice(t, s)
}

// BenchmarkRun reports what one run uses.
func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		s := measure(b)
		all, writes := s.total()
		b.ReportMetric(float64(all), "calls")
		b.ReportMetric(float64(writes), "writes")
		b.ReportMetric(float64(s.states), "states")
		for table, n := range s.records {
			b.ReportMetric(float64(n.Written), table+"-records")
			b.ReportMetric(float64(n.Delivered), table+"-delivered")
		}
	}
}
