package redis

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/redistest"
	"github.com/interlock-go/interlock/internal/store/row"
	"github.com/interlock-go/interlock/internal/store/rowtest"
	"github.com/interlock-go/interlock/internal/store/storetest"
)

// never is how often the tests of the contract poll: a change that wakes no waiter must fail them.
const never = 24 * time.Hour

func TestMain(m *testing.M) { os.Exit(redistest.Main(m)) }

func TestEngine(t *testing.T) {
	urls := map[row.Engine]string{}
	open := func(t *testing.T, url string) row.Engine {
		e, err := OpenEngine(t.Context(), url, Options{look: never})
		check(t, err)
		urls[e] = url
		return e
	}
	rowtest.Run(t, func(t *testing.T) row.Engine { return open(t, redistest.Shared(t)) }, rowtest.Options{
		Reopen: func(t *testing.T, e row.Engine) row.Engine {
			check(t, e.Close())
			return open(t, urls[e])
		},
	})
}

func TestStore(t *testing.T) {
	urls := map[store.Store]string{}
	open := func(t *testing.T, url string) store.Store {
		s, err := Open(t.Context(), url, Options{CallersClock: true, look: never})
		check(t, err)
		urls[s] = url
		return s
	}
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, redistest.Shared(t)) }, storetest.Options{
		Reopen: func(t *testing.T, s store.Store) store.Store {
			check(t, s.Close())
			return open(t, urls[s])
		},
	})
}

var noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

// reading writes a sensor row, with a change.
func reading(count int64) row.Tx {
	body := fmt.Appendf(nil, `{"count":%d}`, count)
	r := row.Row{Ref: row.Ref{Kind: "sensor", Part: "orders", Key: "rows#" + row.Digits(0)}, Version: count + 1, Body: body}
	return row.Tx{Ops: []row.Op{{If: row.Any, Row: r, Change: body}}}
}

func put(t *testing.T, e *Engine, count int64) {
	t.Helper()
	check(t, e.Apply(t.Context(), reading(count), noon))
}

// marking creates a mark and a task.
func marking(name string) row.Tx {
	task := row.Row{Ref: row.Ref{Kind: row.Tasks, Key: name}, Version: 1, Body: []byte(`{}`), Tag: "orders"}
	task.Places[row.Ordered] = row.Place{List: "tasks:timers", Key: row.Digits(noon.UnixNano()) + "#" + name}
	return row.Tx{ID: "mark " + name, Ops: []row.Op{
		{Row: row.Row{Ref: row.Ref{Kind: "mark", Key: name}, Version: 1, Body: []byte(`{}`)}}, {Row: task},
	}}
}

func marked(t *testing.T, e *Engine, name string) bool {
	t.Helper()
	rows, err := e.Get(t.Context(), []row.Ref{{Kind: "mark", Key: name}})
	check(t, err)
	return rows[0].Version != 0
}

// scan returns all rows of a range.
func scan(t *testing.T, e *Engine, r row.Range) []row.Row {
	t.Helper()
	r.Limit = 1000
	pages, err := e.Scan(t.Context(), []row.Range{r})
	check(t, err)
	return pages[0].Rows
}

func receive(t *testing.T, e *Engine, limit int) []row.Change {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	changes, err := e.Receive(ctx, "router", "one", limit)
	check(t, err)
	return changes
}

func backlog(t *testing.T, e *Engine) int {
	t.Helper()
	n, _, err := e.Backlog(t.Context(), "router")
	check(t, err)
	return n
}
