package archive_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlock-go/interlock/internal/archive"
	"github.com/interlock-go/interlock/internal/archive/pgtest"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

func sorted(all []string) []string { return slices.Sorted(slices.Values(all)) }

func TestEverythingIsArchivedOnce(t *testing.T) {
	dsn, w := pgtest.Database(t), newWorld(t)
	w.days(0, 3)
	a := w.archiver(dsn)
	pass(t, a, noon.AddDate(0, 0, 3))
	w.archived(dsn)
	w.days(3, 2)
	pass(t, a, noon.AddDate(0, 0, 5))
	w.archived(dsn)
	if r := pass(t, a, noon.AddDate(0, 0, 5)); r.Rows != 0 {
		t.Errorf("a pass with nothing to do wrote %d rows", r.Rows)
	}
}

func TestMoreThanABatchIsArchived(t *testing.T) {
	dsn, w := pgtest.Database(t), newWorld(t)
	w.accept("orders", noon)
	pass(t, w.archiver(dsn), noon)
	for i := range 2*archive.MaxRows + 1 {
		w.put("orders", "landing", noon.Add(time.Duration(i)*time.Second), int64(i))
	}
	pass(t, w.archiver(dsn), noon.Add(time.Hour))
	same(t, "readings", lines(t, dsn, "SELECT count(*), max((fields->>'count')::int) FROM sensor_history"),
		[]string{fmt.Sprint(2*archive.MaxRows+1, " ", 2*archive.MaxRows)})
}

func TestNothingIsWrittenAfterABatchThatFailed(t *testing.T) {
	dsn, w := pgtest.Database(t), newWorld(t)
	w.days(0, 1)
	a := w.archiver(dsn)
	pass(t, a, noon)
	for i := range archive.MaxRows / 2 { // with the other rows, more than one batch, and one from the feed
		w.put("orders", "landing", noon.Add(time.Duration(i)*time.Second), int64(i))
		w.put("orders", "upstream", noon.Add(time.Duration(i)*time.Second), int64(i))
	}
	w.days(1, 1)
	exec(t, dsn, "ALTER TABLE sensor_history ADD CONSTRAINT refused CHECK (sensor <> 'landing') NOT VALID")
	if _, err := a.Pass(context.Background(), noon.AddDate(0, 0, 1)); err == nil || strings.Count(err.Error(), "refused") != 1 {
		t.Errorf("got %v", err)
	}
	same(t, "events", lines(t, dsn, "SELECT count(*) FROM events"), []string{"6"})
	exec(t, dsn, "ALTER TABLE sensor_history DROP CONSTRAINT refused")
	pass(t, a, noon.AddDate(0, 0, 1))
	w.archived(dsn)
}

// faulty is a store whose nth call fails, as if the process had crashed there.
type faulty struct {
	store.Store
	mu   sync.Mutex
	left int
}

var errDied = errors.New("died")

func (f *faulty) step() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left--; f.left == 0 {
		return errDied
	}
	return nil
}

func (f *faulty) SetCursor(ctx context.Context, name string, at store.Position) error {
	return errors.Join(f.step(), f.Store.SetCursor(ctx, name, at))
}

func (f *faulty) Done(ctx context.Context, group string, changes []store.Change) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.Store.Done(ctx, group, changes)
}

func (f *faulty) RunsAt(ctx context.Context, keys []run.Key) (map[run.Key]run.Run, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	return f.Store.RunsAt(ctx, keys)
}

func (f *faulty) Reruns(ctx context.Context, keys []run.Key) (map[run.Key][]store.Rerun, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	return f.Store.Reruns(ctx, keys)
}

func (f *faulty) JobLogs(ctx context.Context, keys []run.Key) (map[run.Key][]store.JobEntry, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	return f.Store.JobLogs(ctx, keys)
}

func (f *faulty) Writes(ctx context.Context, ids []store.WriteID) (map[store.WriteID]*sensor.Reading, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	return f.Store.Writes(ctx, ids)
}

func (f *faulty) History(ctx context.Context, q store.HistoryQuery) (store.Page[*sensor.Reading], error) {
	if err := f.step(); err != nil {
		return store.Page[*sensor.Reading]{}, err
	}
	return f.Store.History(ctx, q)
}

func (f *faulty) EventsAfter(ctx context.Context, after store.Position, limit int) ([]store.StoredEvent, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	return f.Store.EventsAfter(ctx, after, min(limit, 2))
}

func (f *faulty) Receive(ctx context.Context, group, consumer string, limit int) ([]store.Change, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	return f.Store.Receive(ctx, group, consumer, min(limit, 3))
}

func TestPassResumesAfterAFailureAtAnyStep(t *testing.T) {
	for name, fill := range map[string]bool{"while it follows": false, "while it fills": true} {
		t.Run(name, func(t *testing.T) {
			dsn, w := pgtest.Database(t), newWorld(t)
			w.days(0, 1)
			pass(t, w.archiver(dsn), noon)
			n := 1
			for ; w.stopped(dsn, n, fill); n++ {
			}
			w.archived(dsn)
			if n < 10 {
				t.Errorf("a pass had only %d steps", n)
			}
		})
	}
}

// stopped gives a pass something to copy (one more day, or everything again) and makes it fail at
// its nth step; the next pass must catch up. It returns false once a pass has no nth step.
func (w *world) stopped(dsn string, n int, fill bool) bool {
	w.t.Helper()
	if fill {
		check(w.t, archive.RequestBackfill(context.Background(), dsn))
	} else {
		w.days(n, 1)
	}
	f := &faulty{Store: w.store, left: n}
	a, err := archive.New(f, dsn, "one")
	check(w.t, err)
	report, err := a.Pass(context.Background(), noon)
	if report.Busy {
		w.t.Fatalf("at step %d the lock was still held", n)
	}
	if err == nil {
		return false
	}
	if !errors.Is(err, errDied) {
		w.t.Fatalf("stopped at step %d: %v", n, err)
	}
	pass(w.t, a, noon)
	return true
}

func TestLostCursorMakesNoDuplicates(t *testing.T) {
	dsn, w := pgtest.Database(t), newWorld(t)
	w.days(0, 2)
	pass(t, w.archiver(dsn), noon)
	exec(t, dsn, "DELETE FROM cursors")
	w.days(2, 1)
	pass(t, w.archiver(dsn), noon)
	w.archived(dsn)
	check(t, w.store.DropCursor(context.Background(), archive.Name))
	pass(t, w.archiver(dsn), noon)
	w.archived(dsn)
}

func TestRestoredArchiveIsFilledUp(t *testing.T) {
	dsn, w := pgtest.Database(t), newWorld(t)
	w.days(0, 1)
	a := w.archiver(dsn)
	pass(t, a, noon)
	backup := lines(t, dsn, "SELECT position FROM cursors WHERE name = 'events'")[0]
	w.days(1, 2)
	pass(t, a, noon.AddDate(0, 0, 2))
	since := "> '" + noon.Add(12*time.Hour).Format(time.RFC3339) + "'"
	exec(t, dsn, "DELETE FROM events WHERE at "+since+"; DELETE FROM runs WHERE updated_at "+since+"; DELETE FROM run_logs WHERE at "+since+
		"; DELETE FROM sensor_history WHERE at "+since+"; UPDATE cursors SET position = "+backup+" WHERE name = 'events'")
	pass(t, a, noon.AddDate(0, 0, 2))
	w.archived(dsn)
}

func TestLostRowsComeBackOnRequest(t *testing.T) {
	dsn, w := pgtest.Database(t), newWorld(t)
	w.days(0, 2)
	a := w.archiver(dsn)
	pass(t, a, noon)
	exec(t, dsn, "DELETE FROM events; DELETE FROM runs; DELETE FROM run_logs; DELETE FROM reruns; DELETE FROM sensor_history")
	check(t, archive.RequestBackfill(context.Background(), dsn))
	pass(t, a, noon)
	w.archived(dsn)
}

// meanwhile is a store that runs a function when a pass first reads events, after the pass has read
// its cursors.
type meanwhile struct {
	store.Store
	happens func()
}

func (m *meanwhile) EventsAfter(ctx context.Context, after store.Position, limit int) ([]store.StoredEvent, error) {
	if happens := m.happens; happens != nil {
		m.happens = nil
		happens()
	}
	return m.Store.EventsAfter(ctx, after, limit)
}

func TestBackfillRequestedDuringAPassIsNotLost(t *testing.T) {
	dsn, w := pgtest.Database(t), newWorld(t)
	w.days(0, 1)
	pass(t, w.archiver(dsn), noon)
	w.days(1, 1)
	under := &meanwhile{Store: w.store, happens: func() {
		exec(t, dsn, "DELETE FROM events; DELETE FROM runs; DELETE FROM sensor_history")
		check(t, archive.RequestBackfill(context.Background(), dsn))
	}}
	a, err := archive.New(under, dsn, "one")
	check(t, err)
	pass(t, a, noon)
	pass(t, a, noon)
	w.archived(dsn)
}

func TestNewStoreAddsToTheArchive(t *testing.T) {
	dsn, before, after := pgtest.Database(t), newWorld(t), newWorld(t)
	before.days(0, 2)
	pass(t, before.archiver(dsn), noon)
	after.accept("orders", noon)
	later := noon.AddDate(1, 0, 0)
	after.put("orders", "landing", later, 1)
	after.live(keyOf("orders", "2026-03-03"), later, time.Hour)
	pass(t, after.archiver(dsn), later)
	same(t, "the run is the newer one", lines(t, dsn, "SELECT extract(year FROM ended_at)::int FROM runs WHERE pipeline = 'orders' AND period = '2026-03-03'"), []string{"2027"})
	same(t, "job logs of both", lines(t, dsn, "SELECT count(*) FROM run_logs WHERE pipeline = 'orders' AND period = '2026-03-03'"), []string{"4"})
	same(t, "events of both", lines(t, dsn, "SELECT count(*) FROM events WHERE pipeline = 'orders' AND period = '2026-03-03'"), []string{"5"})
	same(t, "writes of both", lines(t, dsn, "SELECT count(*) FROM sensor_history WHERE pipeline = 'orders' AND sensor = 'landing'"), []string{"5"})
}

func TestUnannouncedJobLogLineIsFoundTheNextDay(t *testing.T) {
	dsn, w := pgtest.Database(t), newWorld(t)
	w.days(0, 1)
	a := w.archiver(dsn)
	pass(t, a, noon)
	w.commit(noon, func(b *store.Batch) {
		b.Append(store.JobEntry{Key: keyOf("orders", "2026-03-03"), Attempt: 1, At: noon.Add(time.Hour), Event: store.JobLate, Message: "too late"})
	})
	pass(t, a, noon.Add(23*time.Hour))
	late := "SELECT count(*) FROM run_logs WHERE event = 'late'"
	same(t, "before", lines(t, dsn, late), []string{"0"})
	keep := retain(t, a, noon.Add(23*time.Hour))
	if keep.JobLog < 23*time.Hour {
		t.Errorf("job logs are kept for %s, but the last sweep was 23 h ago", keep.JobLog)
	}
	pass(t, a, noon.Add(24*time.Hour))
	same(t, "after", lines(t, dsn, late), []string{"1"})
}

func TestRejectedRerunRequestWithoutARunIsArchived(t *testing.T) {
	dsn, w := pgtest.Database(t), newWorld(t)
	key := keyOf("orders", "2026-03-09")
	w.commit(noon, func(b *store.Batch) {
		b.Reruns = append(b.Reruns, store.Rerun{ID: "r1", Key: key, By: "ann", At: noon, Why: "no such run"})
		b.Emit(newEvent(event.RerunRejected, key, noon))
	})
	pass(t, w.archiver(dsn), noon)
	same(t, "reruns", lines(t, dsn, "SELECT why FROM reruns"), []string{"no such run"})
}

func TestTextThatPostgresCannotStoreIsReplaced(t *testing.T) {
	dsn, w := pgtest.Database(t), newWorld(t)
	w.live(keyOf("orders", "2026-03-03"), noon, time.Minute)
	w.commit(noon, func(b *store.Batch) {
		b.Append(store.JobEntry{Key: keyOf("orders", "2026-03-03"), Attempt: 2, At: noon, Event: store.JobFail, Output: "a\x00b\xffc"})
	})
	_, err := w.store.PutReadings(context.Background(), []store.Write{{Pipeline: "orders", Reading: sensor.Reading{
		Key: "landing", Fields: sensor.Fields{"name": "x\x00y", "path": `c:\u0000`, "big": int64(1<<62 + 1)},
	}}}, noon)
	check(t, err)
	pass(t, w.archiver(dsn), noon)
	same(t, "output", lines(t, dsn, "SELECT output FROM run_logs WHERE event = 'fail'"), []string{"a\uFFFDb\uFFFDc"})
	same(t, "fields", lines(t, dsn, "SELECT fields->>'name' || ' ' || (fields->>'path') || ' ' || (fields->>'big') FROM sensor_history"),
		[]string{`x` + "\uFFFD" + `y c:\u0000 4611686018427387905`})
}

func TestOneProcessCopiesAtATime(t *testing.T) {
	dsn, w := pgtest.Database(t), newWorld(t)
	w.days(0, 1)
	ctx := context.Background()
	other, err := pgx.Connect(ctx, dsn)
	check(t, err)
	_, err = other.Exec(ctx, "SELECT pg_advisory_lock(x'696c636b'::bigint)")
	check(t, err)
	if r := pass(t, w.archiver(dsn), noon); !r.Busy || r.Rows != 0 {
		t.Errorf("copied while another process held the lock: %+v", r)
	}
	check(t, other.Close(ctx))
	exec(t, dsn, "SELECT pg_advisory_lock(x'696c636b'::bigint), pg_advisory_unlock(x'696c636b'::bigint)") // waits until Postgres has noticed that the connection closed
	if r := pass(t, w.archiver(dsn), noon); r.Busy || r.Rows == 0 {
		t.Errorf("the other process is gone, but nothing was copied: %+v", r)
	}
}

func TestNewerArchiveIsRejected(t *testing.T) {
	dsn, w := pgtest.Database(t), newWorld(t)
	pass(t, w.archiver(dsn), noon)
	exec(t, dsn, "INSERT INTO archive_version VALUES (99)")
	_, err := w.archiver(dsn).Pass(context.Background(), noon)
	if err == nil || !strings.Contains(err.Error(), "newer Interlock") {
		t.Errorf("got %v", err)
	}
}

func TestStatusReportsRowsAndCursors(t *testing.T) {
	dsn, w := pgtest.Database(t), newWorld(t)
	ctx := context.Background()
	empty, err := archive.Read(ctx, dsn)
	check(t, err)
	same(t, "before the first pass", empty, archive.Status{})
	check(t, archive.RequestBackfill(ctx, dsn))
	w.days(0, 1)
	a := w.archiver(dsn)
	pass(t, a, noon)
	got, err := archive.Read(ctx, dsn)
	check(t, err)
	same(t, "rows", got.Rows, []archive.Count{{"runs", 2}, {"run_logs", 4}, {"events", 6}, {"reruns", 2}, {"sensor_history", 6}})
	same(t, "last look", got.Cursors[len(got.Cursors)-1], archive.Place{Name: "sweep", At: noon})
	b, err := a.Backlog(ctx)
	check(t, err)
	same(t, "backlog", b, archive.Backlog{})
}

// Values are sent to Postgres as text, with COPY and in arrays; characters that are special there
// must arrive unchanged.
func TestSpecialCharactersArriveUnchanged(t *testing.T) {
	const odd = "tab\there, \"quoted\", back\\slash, \\N NULL {a,b} \r\nnext\\.\n\\.\n"
	dsn, w := pgtest.Database(t), newWorld(t)
	w.days(0, 1)
	w.accept("odd", noon)
	pass(t, w.archiver(dsn), noon) // only later passes use COPY
	exec(t, dsn, "TRUNCATE sensor_history, run_logs, runs")
	r := sensor.Reading{Key: "landing", Fields: sensor.Fields{"file": odd}, Source: odd}
	_, err := w.store.PutReadings(context.Background(), []store.Write{{Pipeline: "odd", Reading: r}}, noon.Add(1234567))
	check(t, err)
	key := keyOf("orders", "2026-03-09")
	w.commit(noon, func(b *store.Batch) {
		b.Create(run.Run{Key: key, Version: 1, Status: run.Running, Attempt: 1, OpenedAt: noon, UpdatedAt: noon})
		b.Append(store.JobEntry{Key: key, Attempt: 1, At: noon, Event: store.JobSuccess, Output: odd})
	})
	arrived := func(how string) {
		same(t, how+": source", lines(t, dsn, "SELECT source FROM sensor_history WHERE pipeline = 'odd'"), []string{odd})
		same(t, how+": field", lines(t, dsn, "SELECT fields->>'file' FROM sensor_history WHERE pipeline = 'odd'"), []string{odd})
		same(t, how+": instant", lines(t, dsn, "SELECT (extract(epoch FROM at) * 1000000)::bigint % 1000000 FROM sensor_history WHERE pipeline = 'odd'"), []string{"1234"})
		same(t, how+": no instant", lines(t, dsn, "SELECT expires_at IS NULL FROM sensor_history WHERE pipeline = 'odd'"), []string{"true"})
		same(t, how+": output", lines(t, dsn, "SELECT output FROM run_logs WHERE period = '2026-03-09'"), []string{odd})
		same(t, how+": no end", lines(t, dsn, "SELECT ended_at IS NULL FROM runs WHERE period = '2026-03-09'"), []string{"true"})
	}
	pass(t, w.archiver(dsn), noon)
	arrived("copied")
	exec(t, dsn, "TRUNCATE sensor_history, run_logs, runs")
	check(t, archive.RequestBackfill(context.Background(), dsn))
	pass(t, w.archiver(dsn), noon)
	arrived("in arrays")
}
