package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/store/row"
)

var noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

// reading returns the op of a sensor write: a row of orders with a number, and a change.
func reading(key string, count int64) row.Op {
	return row.Op{If: row.Any, Change: []byte(key), Row: row.Row{
		Ref: row.Ref{Kind: "sensor", Part: "orders", Key: key}, Version: 1,
		Body: fmt.Appendf(nil, `{"count":%d}`, count),
	}}
}

// large returns a reading of 60 kB.
func large(key string) row.Op {
	op := reading(key, 0)
	op.Row.Body = fmt.Appendf(nil, `{"count":0,"text":%q}`, fmt.Sprintf("%060000d", 0))
	return op
}

// runRef is the run that opening creates.
var runRef = row.Ref{Kind: "run", Part: "orders", Key: "cron/2026-03-03"}

// opening creates a run, with an event and a task, as one decision.
func opening(id string) row.Tx {
	return row.Tx{
		ID: id,
		Ops: []row.Op{
			{Row: row.Row{
				Ref: runRef, Version: 1, Body: []byte(`{"status":"PENDING"}`),
				Places: [row.Indexes]row.Place{
					row.Ordered: {List: "runs", Key: "1"}, row.Pending: {List: "open", Key: "1"},
				},
			}},
			{If: row.Any, Row: row.Row{
				Ref: row.Ref{Kind: row.Tasks, Key: "advance/" + id}, Version: 1, Tag: "orders",
				Body: []byte(`{"kind":"advance"}`),
				Places: [row.Indexes]row.Place{
					row.Ordered: {List: "tasks:advance", Key: id}, row.Pending: {List: "due:advance", Key: id},
				},
			}},
		},
		Events: []row.Event{{
			ID: "opened/" + id, Part: "orders", Type: "RUN_OPENED", At: noon, Body: []byte(`{"id":"opened"}`),
		}},
	}
}

// template is an empty database, built once: creating the tables takes longer than most of the
// tests.
var template = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "interlock")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	e, err := OpenEngine(context.Background(), dir, Options{})
	if err != nil {
		return nil, err
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, fileName))
})

// empty creates a data directory with an empty database.
func empty(t testing.TB) string {
	t.Helper()
	text, err := template()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, fileName), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// opened opens a directory until the test ends or closes it.
func opened(t testing.TB, dir string, o Options) *Engine {
	t.Helper()
	e, err := OpenEngine(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { check(t, e.Close()) })
	return e
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put applies ops at noon.
func put(t testing.TB, e *Engine, ops ...row.Op) {
	t.Helper()
	check(t, e.Apply(t.Context(), row.Tx{Ops: ops}, noon))
}

// count returns the number in a reading; -1 if there is none.
func count(t testing.TB, e *Engine, key string) int64 {
	t.Helper()
	r := get(t, e, reading(key, 0).Row.Ref)
	if r.Version == 0 {
		return -1
	}
	var body struct{ Count int64 }
	check(t, json.Unmarshal(r.Body, &body))
	return body.Count
}

func get(t testing.TB, e *Engine, ref row.Ref) row.Row {
	t.Helper()
	rows, err := e.Get(t.Context(), []row.Ref{ref})
	check(t, err)
	return rows[0]
}

// busy blocks the writer until release is called, so that a test can queue requests.
func busy(t testing.TB, e *Engine) (release func()) {
	t.Helper()
	began, free := make(chan struct{}), make(chan struct{})
	var once sync.Once
	go func() {
		_ = e.write(context.Background(), opFunc(func(*tx) error {
			once.Do(func() { close(began) })
			<-free
			return nil
		}), 1)
	}()
	<-began
	return sync.OnceFunc(func() { close(free) })
}

type opFunc func(*tx) error

func (f opFunc) do(tx *tx) error { return f(tx) }
