package sqlite

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/store/row"
)

// Every statement finds its rows by an index, in result order, so that its cost does not grow with
// the number of pipelines, runs and years.
func TestNoStatementScansATable(t *testing.T) {
	e := opened(t, empty(t), Options{})
	useEverything(t, e)
	statements := map[string]bool{}
	for _, c := range append(e.readers.idle, e.conn) {
		for query := range c.stmts {
			statements[query] = true
		}
	}
	if len(statements) < 40 {
		t.Errorf("only %d statements were used", len(statements))
	}
	for _, query := range slices.Sorted(maps.Keys(statements)) {
		if strings.Contains(query, "LIMIT ?") {
			t.Errorf("replanned each time: %s", query)
		}
		for _, line := range plan(t, e, query) {
			if strings.HasPrefix(line, "SCAN") && !short(line, query) || strings.Contains(line, "TEMP B-TREE") {
				t.Errorf("%s:\n%s", line, query)
			}
		}
		if strings.Contains(query, "tag NOT IN") &&
			(strings.Contains(query, "ordered >") || strings.Contains(query, "pending >")) {
			tagged(t, e, query)
		}
	}
}

// short reports whether the scanned data is small: tags, tables, groups, or a limited range.
func short(line, query string) bool {
	return strings.HasPrefix(line, "SCAN json_each ") || strings.Contains(query, "FROM groups") ||
		strings.Contains(query, "FROM sqlite_schema") || strings.Contains(query, "FROM applied ORDER BY n"+upTo)
}

// tagged checks that rows are excluded by tag before the table is read: the column is in the index.
func tagged(t *testing.T, e *Engine, query string) {
	t.Helper()
	without := strings.Replace(query, "SELECT ref, version, body", "SELECT id", 1)
	for _, line := range plan(t, e, without) {
		if strings.HasPrefix(line, "SEARCH rows") && !strings.Contains(line, "COVERING INDEX") {
			t.Errorf("%s:\n%s", line, query)
		}
	}
}

func plan(t *testing.T, e *Engine, query string) (lines []string) {
	t.Helper()
	check(t, e.read(t.Context(), func(c *conn) error {
		return c.query("EXPLAIN QUERY PLAN "+query, func(v values) error {
			lines = append(lines, v.text(3))
			return nil
		}, make([]any, strings.Count(query, "?"))...)
	}))
	return lines
}

// useEverything makes every call, in every form that has its own statement.
func useEverything(t *testing.T, e *Engine) {
	t.Helper()
	ctx := t.Context()
	var errs []error
	keep := func(_ any, err error) { errs = append(errs, err) }
	check(t, e.Apply(ctx, opening("a"), noon))
	put(t, e, reading("rows", 1))
	var ops []row.Op
	for _, condition := range []int64{0, 1, row.Any, row.First} {
		for _, do := range []row.Do{row.Put, row.Delete, row.Check} {
			ops = append(ops, row.Op{Do: do, If: condition, Row: reading("other", 1).Row})
		}
	}
	for _, op := range ops {
		_ = e.Apply(ctx, row.Tx{Ops: []row.Op{op}}, noon) // some are conflicts
	}
	for _, r := range []row.Range{
		{Kind: "run", Part: "orders"},
		{Kind: "run", List: "runs"},
		{Kind: "run", Part: "orders", List: "runs"},
		{Kind: "run", Index: row.Pending, List: "open"},
		{Kind: "run", Part: "orders", Index: row.Pending, List: "open"},
		{Kind: "run", Index: row.Aging, List: "old"},
		{Kind: row.Events, Part: "orders", List: "events"},
	} {
		for _, r.Backwards = range []bool{false, true} {
			for _, r.Except = range [][]string{nil, {"orders"}} {
				r.Limit = 10
				keep(e.Scan(ctx, []row.Range{r}))
			}
		}
	}
	keep(e.Get(ctx, []row.Ref{runRef}))
	keep(e.Next(ctx, 1))
	keep(e.Receive(ctx, "router", "a", 1))
	_, _, err := e.Backlog(ctx, "router")
	keep(nil, err)
	keep(e.Drop(ctx, []row.Row{{Ref: runRef, Version: 9}}))
	keep(e.Trim(ctx, noon.Add(2*time.Hour), 10))
	keep(nil, e.Probe(ctx))
	for _, err := range errs {
		check(t, err)
	}
}
