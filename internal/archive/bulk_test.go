package archive_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/archive"
	"github.com/interlock-go/interlock/internal/archive/pgtest"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// forgetful is a store that trims everything it may between reading the news and reading the
// records they name.
type forgetful struct {
	store.Store
	now time.Time
}

func (f *forgetful) Receive(ctx context.Context, group, consumer string, limit int) ([]store.Change, error) {
	changes, err := f.Store.Receive(ctx, group, consumer, limit)
	for n := 1; err == nil && n > 0; {
		n, err = f.Trim(ctx, store.Retention{Events: time.Hour, History: time.Hour, JobLog: time.Hour}, f.now)
	}
	return changes, err
}

func TestRecordsTrimmedDuringAPassAreSkipped(t *testing.T) {
	dsn, w := pgtest.Database(t), newWorld(t)
	w.days(0, 1)
	pass(t, w.archiver(dsn), noon)
	next := noon.AddDate(0, 0, 1)
	w.days(1, 1)
	later := next.AddDate(0, 0, 2)
	a, err := archive.New(&forgetful{w.store, later}, dsn, "one")
	check(t, err)
	pass(t, a, next)
	since := "at > '" + noon.Add(12*time.Hour).Format(time.RFC3339) + "'"
	same(t, "of each key the newest write is left", lines(t, dsn, "SELECT pipeline || ' ' || sensor FROM sensor_history WHERE "+since+" ORDER BY pipeline, sensor"),
		[]string{"orders landing", "orders upstream", "users landing", "users upstream"})
	same(t, "no log is left", lines(t, dsn, "SELECT count(*) FROM run_logs WHERE "+since), []string{"0"})
	same(t, "runs stay", lines(t, dsn, "SELECT count(*) FROM runs WHERE period = '2026-03-04'"), []string{"2"})
	same(t, "events wait for the archive", lines(t, dsn, "SELECT count(*) FROM events WHERE "+since), []string{"6"})
	b, err := a.Backlog(context.Background())
	check(t, err)
	same(t, "backlog", b, archive.Backlog{})
}

// asked counts the reads of a store.
type asked struct {
	store.Store
	runs, logs, writes atomic.Int64
}

func (a *asked) RunsAt(ctx context.Context, keys []run.Key) (map[run.Key]run.Run, error) {
	a.runs.Add(1)
	return a.Store.RunsAt(ctx, keys)
}

func (a *asked) JobLogs(ctx context.Context, keys []run.Key) (map[run.Key][]store.JobEntry, error) {
	a.logs.Add(1)
	return a.Store.JobLogs(ctx, keys)
}

func (a *asked) Writes(ctx context.Context, ids []store.WriteID) (map[store.WriteID]*sensor.Reading, error) {
	a.writes.Add(1)
	return a.Store.Writes(ctx, ids)
}

func TestRecordsNamedByNewsAreReadTogether(t *testing.T) {
	dsn, w := pgtest.Database(t), newWorld(t)
	w.days(0, 1)
	pass(t, w.archiver(dsn), noon)
	for i := range 50 {
		day := noon.AddDate(0, 0, i+1)
		w.live(keyOf("orders", day.Format(time.DateOnly)), day, time.Minute)
		w.put("orders", "landing", day, int64(i))
		w.put("orders", "upstream", day, int64(i))
	}
	s := &asked{Store: w.store}
	a, err := archive.New(s, dsn, "one")
	check(t, err)
	pass(t, a, noon)
	w.archived(dsn)
	same(t, "runs, logs, writes", fmt.Sprint(s.runs.Load(), s.logs.Load(), s.writes.Load()), "1 1 1")
}

func TestArchivedRowsSurviveACrashOfPostgres(t *testing.T) {
	server, w := ownServer(t, "-c wal_writer_delay=10s"), newWorld(t)
	dsn := server.DSN("postgres")
	w.days(0, 1)
	a := w.archiver(dsn)
	pass(t, a, noon)
	for i := range archive.MaxRows { // with the other rows, more than one batch: the first does not wait for the disk
		w.put("orders", "landing", noon.Add(time.Duration(i)*time.Second), int64(i))
	}
	w.days(1, 2)
	pass(t, a, noon.AddDate(0, 0, 2))
	check(t, server.Pause("immediate"))
	check(t, server.Resume("-c fsync=off"))
	w.archived(dsn)
}

// slow is a store that returns one event and one change at a time.
type slow struct{ store.Store }

func (s slow) EventsAfter(ctx context.Context, after store.Position, _ int) ([]store.StoredEvent, error) {
	return s.Store.EventsAfter(ctx, after, 1)
}

func (s slow) Receive(ctx context.Context, group, consumer string, _ int) ([]store.Change, error) {
	return s.Store.Receive(ctx, group, consumer, 1)
}

func TestRunNamedOftenIsCopiedOnce(t *testing.T) {
	dsn, w := pgtest.Database(t), newWorld(t)
	w.days(0, 1)
	pass(t, w.archiver(dsn), noon)
	w.live(keyOf("orders", "2026-03-04"), noon.AddDate(0, 0, 1), time.Minute)
	a, err := archive.New(slow{w.store}, dsn, "one")
	check(t, err)
	same(t, "rows: a run, two lines, two events", pass(t, a, noon).Rows, 5)
	w.archived(dsn)
}

// much creates more than one batch; the first ones are written concurrently if possible.
func (w *world) much(day int) {
	for i := range 3 * archive.MaxRows {
		w.put("orders", []sensor.Key{"landing", "upstream"}[i%2], noon.AddDate(0, 0, day).Add(time.Duration(i)*time.Second), int64(i))
	}
	w.days(day, 1)
}

func TestOneConnectionIsEnoughIfThereIsNoSecond(t *testing.T) {
	owner := ownServer(t).DSN("postgres")
	for _, statement := range []string{
		"CREATE ROLE lonely LOGIN CONNECTION LIMIT 1", "GRANT ALL ON SCHEMA public TO lonely",
		"CREATE ROLE alike LOGIN CONNECTION LIMIT 1 IN ROLE lonely",
	} {
		lines(t, owner, statement)
	}
	w := newWorld(t)
	w.days(0, 1)
	pass(t, w.archiver(strings.Replace(owner, "user=postgres", "user=lonely", 1)), noon)
	w.much(1)
	// As another user, because the server takes a moment to close a connection.
	pass(t, w.archiver(strings.Replace(owner, "user=postgres", "user=alike", 1)), noon.AddDate(0, 0, 2))
	w.archived(owner)
}
