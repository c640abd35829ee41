package sqlite

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Every statement finds what it looks for by an index, in the order it is wanted in, so that its cost does not grow with
// the number of pipelines, runs and years.
func TestNothingIsSearchedThrough(t *testing.T) {
	s := opened(t, empty(t), Options{foldAfter: 1})
	check(t, s.Commit(t.Context(), opening(orders), noon))
	note(t, s, write("rows", 1))
	askEverything(t, s)
	var statements []string
	for _, c := range append(s.readers.idle, s.conn) {
		statements = append(statements, slices.Collect(maps.Keys(c.stmts))...)
	}
	slices.Sort(statements)
	for _, query := range slices.Compact(statements) {
		if strings.Contains(query, "LIMIT ?") {
			t.Errorf("planned anew each time: %s", query)
		}
		for _, line := range plan(t, s, query) {
			if strings.HasPrefix(line, "SCAN") && !short(line, query) || strings.Contains(line, "TEMP B-TREE") && !few(query) {
				t.Errorf("%s:\n%s", line, query)
			}
		}
	}
}

// short says that what is read from end to end holds little: the names that were asked for, the open runs, or as much as goes
// on a page. So do the runs that are COMPLETED, which most are.
func short(line, query string) bool {
	return strings.HasPrefix(line, "SCAN json_each ") || strings.Contains(query, "FROM runs WHERE status = ? ORDER") || strings.Contains(line, "INDEX runs_open") || strings.Contains(line, "INDEX dry_runs_open") ||
		!strings.Contains(query, "WHERE") || strings.Contains(query, "FROM dead_letters") || strings.Contains(query, "ORDER BY id LIMIT 500")
}

// few says that what is sorted belongs to one run or pipeline, is open, or should not be there at all.
func few(query string) bool {
	for _, what := range []string{"FROM configs", "FROM dead_letters", "FROM job_log WHERE run", "FROM reruns WHERE run", "FROM deadlines WHERE run", "INDEXED BY runs_open"} {
		if strings.Contains(query, what) {
			return true
		}
	}
	return false
}

func plan(t *testing.T, s *Store, query string) (lines []string) {
	t.Helper()
	check(t, s.read(context.Background(), func(c *conn) error {
		return c.query("EXPLAIN QUERY PLAN "+query, func(r row) error {
			lines = append(lines, r.text(3))
			return nil
		}, make([]any, strings.Count(query, "?"))...)
	}))
	return lines
}

// askEverything makes every call that reads or forgets, with every combination of conditions that has a plan of its own.
func askEverything(t *testing.T, s *Store) {
	t.Helper()
	ctx, p := t.Context(), day("2026-03-03")
	var errs []error
	keep := func(_ any, err error) { errs = append(errs, err) }
	for _, q := range []store.RunQuery{
		{Status: run.Completed},
		{Status: run.FailedFinal},
		{Status: run.FailedFinal, Cursor: store.RunCursor(run.Run{Key: orders})},
		{},
		{Pipeline: "orders"},
		{Status: run.Pending},
		{Period: p},
		{From: p, To: p},
		{Pipeline: "orders", Status: run.Pending},
		{Cursor: store.RunCursor(run.Run{Key: orders})},
		{Pipeline: "orders", Cursor: store.RunCursor(run.Run{Key: orders})},
		{Status: run.Pending, Cursor: store.RunCursor(run.Run{Key: orders})},
		{Pipeline: "orders", From: p, To: p},
	} {
		keep(s.Runs(ctx, q))
	}
	for _, q := range []store.DeadlineQuery{
		{},
		{Pipeline: "orders"},
		{State: "ARMED"},
		{Key: orders},
		{Pipeline: "orders", State: "ARMED"},
		{Cursor: store.DeadlineCursor(store.Deadline{Key: orders, Kind: store.Absolute})},
		{State: "ARMED", Cursor: store.DeadlineCursor(store.Deadline{Key: orders, Kind: store.Absolute})},
		{From: noon, To: noon},
		{Pipeline: "orders", From: noon, To: noon},
		{From: noon, To: noon, Cursor: store.DeadlineCursor(store.Deadline{Key: orders, Kind: store.Absolute})},
	} {
		keep(s.Deadlines(ctx, q))
	}
	for _, q := range []store.EventQuery{
		{},
		{Pipeline: "orders"},
		{Key: orders},
		{Type: event.JobFailed},
		{Since: noon},
		{Pipeline: "orders", Since: noon},
		{Ascending: true},
		{Type: event.JobFailed, Since: noon},
		{Pipeline: "orders", Type: event.JobFailed},
		{Cursor: store.NumberCursor(int64(1))},
		{Pipeline: "orders", Cursor: store.NumberCursor(int64(1))},
		{Key: orders, Pipeline: "orders", Type: event.JobFailed},
	} {
		keep(s.Events(ctx, q))
	}
	keep(s.EventsAfter(ctx, 0, 10))
	keep(s.OpenRuns(ctx, ""))
	keep(s.OpenRuns(ctx, "orders"))
	keep(s.RunsAt(ctx, []run.Key{orders}))
	keep(s.Pipelines(ctx))
	keep(s.Configs(ctx, "orders"))
	keep(s.Readings(ctx, []store.ReadingQuery{{Pipeline: "orders", Key: "rows", Period: p}}))
	keep(s.LatestReadings(ctx, store.LatestQuery{Pipeline: "orders"}))
	keep(s.History(ctx, store.HistoryQuery{Pipeline: "orders", Key: "rows"}))
	keep(s.History(ctx, store.HistoryQuery{Pipeline: "orders", Key: "rows", Period: p}))
	keep(s.Writes(ctx, []store.WriteID{{Pipeline: "orders", Key: "rows", Version: 1}, {Pipeline: "orders", Key: "rows", Version: 99}}))
	keep(s.JobLogs(ctx, []run.Key{orders}))
	keep(s.Reruns(ctx, []run.Key{orders}))
	keep(s.Dead(ctx, "hook"))
	keep(s.Claim(ctx, store.ClaimQuery{Limit: 1}, noon))
	keep(s.NextDue(ctx, store.ClaimQuery{}))
	keep(s.Overdue(ctx, noon, 1))
	keep(s.Cursor(ctx, "hook"))
	keep(s.Receive(ctx, "router", "a", 1))
	keep(s.Trim(ctx, store.Retention{Events: 1, History: 1, JobLog: 1}, noon.Add(time.Hour)))
	for _, err := range errs {
		check(t, err)
	}
}
