package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

var noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

var orders = keyOf("orders")

func keyOf(id pipeline.ID) run.Key {
	return run.Key{Pipeline: id, Schedule: "cron", Period: day("2026-03-03")}
}

// day parses a period that is known to be one.
func day(name string) period.Period {
	p, err := period.Parse(name)
	if err != nil {
		panic(err)
	}
	return p
}

// told is an event about a run; which tells it apart from others.
func told(key run.Key, which string) event.Event {
	return event.New(event.TriggerStarted, event.About{
		Pipeline: key.Pipeline, Schedule: key.Schedule, Date: key.Period, Attempt: 1, Which: which, At: noon,
	}, which, nil)
}

// write is an undated reading of orders.
func write(key sensor.Key, count int64) store.Write {
	return store.Write{Pipeline: "orders", Reading: sensor.Reading{Key: key, Fields: sensor.Fields{"count": count}}}
}

// opening creates a run, with an event and a task.
func opening(key run.Key) store.Batch {
	b := store.Batch{ID: "open/" + key.String()}
	b.Create(run.Run{Key: key, Version: 1, Status: run.Pending, Attempt: 1, OpenedAt: noon, UpdatedAt: noon})
	b.Emit(told(key, "opened"))
	b.Schedule(store.Task{ID: "advance/" + key.String(), Kind: store.Advance, Pipeline: key.Pipeline, Key: key, Due: noon})
	return b
}

// template is an empty database, made once: creating the tables anew for every test takes longer than most of the tests.
var template = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "interlock")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := Open(context.Background(), dir, Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, fileName))
})

// empty gives a data directory with an empty database.
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

// opened opens a directory; the test closes it, if it has not done so itself.
func opened(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { check(t, s.Close()) })
	return s
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// note writes readings at noon.
func note(t testing.TB, s *Store, writes ...store.Write) []store.Put {
	t.Helper()
	puts, err := s.PutReadings(t.Context(), writes, noon)
	check(t, err)
	return puts
}

// count reads the undated reading of a key of orders; -1 if there is none.
func count(t testing.TB, s *Store, key sensor.Key) int64 {
	t.Helper()
	answers, err := s.Readings(t.Context(), []store.ReadingQuery{{Pipeline: "orders", Key: key}})
	check(t, err)
	if len(answers[0]) == 0 {
		return -1
	}
	return answers[0][0].Fields["count"].(int64)
}

// busy keeps the writer from its work until the given function is called, so that a test can see what is queued behind.
func busy(t testing.TB, s *Store) (release func()) {
	t.Helper()
	began, free := make(chan struct{}), make(chan struct{})
	go func() { _ = s.write(context.Background(), &stopper{began: began, free: free}) }()
	<-began
	return sync.OnceFunc(func() { close(free) })
}

// stopper is an op that lasts.
type stopper struct{ began, free chan struct{} }

func (o *stopper) do(*tx) error {
	close(o.began)
	<-o.free
	return nil
}
