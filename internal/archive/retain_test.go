package archive_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlock-go/interlock/internal/archive"
	"github.com/interlock-go/interlock/internal/archive/pgtest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// short is a retention that everything in these tests exceeds.
var short = store.Retention{Events: time.Hour, History: time.Hour, JobLog: time.Hour}

func retain(t testing.TB, a *archive.Archiver, now time.Time) store.Retention {
	t.Helper()
	keep, err := a.Retain(context.Background(), short, now)
	check(t, err)
	return keep
}

// forget trims the store as the controller does.
func (w *world) forget(a *archive.Archiver, now time.Time) (n int) {
	w.t.Helper()
	for {
		forgot, err := w.store.Trim(context.Background(), retain(w.t, a, now), now)
		check(w.t, err)
		if forgot == 0 {
			return n
		}
		n += forgot
	}
}

func TestNothingIsTrimmedBeforeItIsArchived(t *testing.T) {
	server, w := ownServer(t), newWorld(t)
	dsn := server.DSN("postgres")
	w.days(0, 2)
	a := w.archiver(dsn)
	check(t, a.Begin(context.Background(), noon))
	check(t, server.Pause("immediate"))

	long := noon.AddDate(1, 0, 0)
	if _, err := a.Pass(context.Background(), long); err == nil {
		t.Error("copied although Postgres is down")
	}
	before := w.count()
	short := short
	short.Runs = time.Hour
	keep, err := a.Retain(context.Background(), short, long)
	check(t, err)
	same(t, "how long runs are kept while Postgres was never there", keep.Runs, time.Duration(0))
	w.forget(a, long)
	same(t, "while Postgres was never there", w.count(), before)
	if b, err := a.Backlog(context.Background()); err != nil || b.Changes == 0 || b.Events == 0 || !b.Oldest.Equal(noon) {
		t.Errorf("backlog %+v, %v", b, err)
	}

	check(t, server.Resume("-c fsync=off"))
	pass(t, a, noon.AddDate(0, 0, 2))
	w.archived(dsn)

	check(t, server.Pause("immediate"))
	w.days(2, 1)
	day3 := noon.AddDate(0, 0, 2)
	keep, err = a.Retain(context.Background(), short, long)
	check(t, err)
	if keep.Runs < long.Sub(day3) {
		t.Errorf("runs that are not archived are kept for %s", keep.Runs)
	}
	w.forget(a, long)
	left := w.count()
	if left.Events != 6 || left.Log < 4 || left.Readings < 6 {
		t.Errorf("%+v are left of the day that is not archived", left)
	}
	if left.Events >= before.Events+6 {
		t.Error("archived data was not trimmed")
	}
	check(t, server.Resume("-c fsync=off"))
	pass(t, a, long)
	same(t, "events of all days", lines(t, dsn, "SELECT count(*) FROM events"), []string{"18"})
	same(t, "readings of the last day", lines(t, dsn, "SELECT count(*) FROM sensor_history WHERE at >= '"+day3.Format(time.RFC3339)+"'"), []string{"6"})
	same(t, "log", lines(t, dsn, "SELECT count(*) FROM run_logs"), []string{"12"})
}

// counted is the number of records in the store.
type counted struct{ Events, Log, Readings int }

func (w *world) count() (c counted) {
	w.t.Helper()
	ctx := context.Background()
	all, err := w.store.EventsAfter(ctx, 0, store.MaxPage)
	check(w.t, err)
	c.Events = len(all)
	page, err := w.store.Runs(ctx, store.RunQuery{Limit: store.MaxPage})
	check(w.t, err)
	for _, r := range page.Items {
		log, err := w.store.JobLogs(ctx, []run.Key{r.Key})
		check(w.t, err)
		c.Log += len(log[r.Key])
	}
	for _, id := range []pipeline.ID{"orders", "users"} {
		for _, key := range []sensor.Key{"landing", "upstream"} {
			written, err := w.store.History(ctx, store.HistoryQuery{Pipeline: id, Key: key, Limit: store.MaxPage})
			check(w.t, err)
			c.Readings += len(written.Items)
		}
	}
	return c
}

func TestStoreIsTrimmedAgainWithoutItsArchive(t *testing.T) {
	dsn, w := pgtest.Database(t), newWorld(t)
	ctx, long := context.Background(), noon.AddDate(1, 0, 0)
	trim := func() {
		for n := 1; n > 0; {
			var err error
			n, err = w.store.Trim(ctx, short, long)
			check(t, err)
		}
	}
	w.days(0, 1)
	check(t, w.archiver(dsn).Begin(ctx, noon))
	trim()
	if got := w.count().Events; got != 6 {
		t.Fatalf("%d of 6 events are left, although none is archived", got)
	}
	check(t, archive.Leave(ctx, w.store, "one"))
	trim()
	same(t, "events that are left", w.count().Events, 0)
	n, _, err := w.store.Backlog(ctx, archive.Name)
	check(t, err)
	same(t, "changes that are kept", n, 0)

	w.days(1, 1)
	check(t, archive.Leave(ctx, w.store, "one"))
	pass(t, w.archiver(dsn), noon.AddDate(0, 0, 1))
	w.archived(dsn)
}

func TestLeaveDoesNothingWithoutAnArchive(t *testing.T) {
	w := newWorld(t)
	w.days(0, 1)
	before, _, err := w.store.Backlog(context.Background(), archive.Name)
	check(t, err)
	check(t, archive.Leave(context.Background(), w.store, "one"))
	after, _, err := w.store.Backlog(context.Background(), archive.Name)
	check(t, err)
	same(t, "nobody follows", after, before)
}

func TestRowsInFlightWhenPostgresDiesAreNotTrimmed(t *testing.T) {
	server, w := ownServer(t), newWorld(t)
	dsn := server.DSN("postgres")
	w.days(0, 1)
	a := w.archiver(dsn)
	pass(t, a, noon)
	w.days(1, 1)
	before := w.count()

	ctx := context.Background()
	other, err := pgx.Connect(ctx, dsn)
	check(t, err)
	defer other.Close(ctx)
	_, err = other.Exec(ctx, "BEGIN; LOCK TABLE events IN ACCESS EXCLUSIVE MODE")
	check(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := a.Pass(ctx, noon.AddDate(0, 0, 1))
		ended <- err
	}()
	for waiting := 0; waiting == 0; { // until the rows are in flight and blocked
		check(t, other.QueryRow(ctx, "SELECT count(*) FROM pg_locks WHERE NOT granted").Scan(&waiting))
	}
	check(t, server.Pause("immediate"))
	if err := <-ended; err == nil {
		t.Error("copied although Postgres died")
	}

	w.forget(a, noon.AddDate(1, 0, 0))
	if left := w.count(); left.Events < before.Events-6 || left.Events == 0 {
		t.Errorf("%d of %d events are left, 6 of which were archived", left.Events, before.Events)
	}
	check(t, server.Resume("-c fsync=off"))
	pass(t, a, noon.AddDate(0, 0, 1))
	same(t, "events of both days", lines(t, dsn, "SELECT count(*) FROM events"), []string{"12"})
	same(t, "lines of both days", lines(t, dsn, "SELECT count(*) FROM run_logs"), []string{"8"})
	same(t, "readings of both days", lines(t, dsn, "SELECT count(*) FROM sensor_history"), []string{"12"})
}
