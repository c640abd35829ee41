package archive_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/archive"
	"github.com/interlock-go/interlock/internal/archive/pgtest"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// refused counts the rows that a server has rejected because they exist, one per statement.
func refused(t *testing.T, s *pgtest.Server) int {
	t.Helper()
	log, err := s.Log()
	check(t, err)
	return strings.Count(log, "duplicate key value")
}

// refusedOnce fails unless one batch was rejected, or one per connection.
func refusedOnce(t *testing.T, server *pgtest.Server) {
	t.Helper()
	if n := refused(t, server); n < 1 || n > 2 {
		t.Errorf("%d batches were rejected", n)
	}
}

// ownServer starts a Postgres that the test may stop.
func ownServer(t *testing.T, options ...string) *pgtest.Server {
	t.Helper()
	pgtest.Need(t)
	server, err := pgtest.Start(strings.Join(append(options, "-c fsync=off"), " "))
	check(t, err)
	t.Cleanup(func() { check(t, server.Close()) })
	return server
}

// busy creates so much data that it takes several batches, of both kinds.
func (w *world) busy(day int) {
	w.t.Helper()
	for i := range archive.MaxRows * 2 / 3 {
		now := noon.AddDate(0, 0, day).Add(time.Duration(i) * time.Millisecond)
		w.put("orders", "landing", now, int64(i))
		w.put("users", "landing", now, int64(i))
		w.put("users", "upstream", now, int64(i))
	}
	w.days(day, 2)
}

func TestKnownRepeatsAreNotRejected(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, w *world, dsn string){
		"nothing is lost": func(*testing.T, *world, string) {},
		"a backfill":      func(t *testing.T, _ *world, dsn string) { check(t, archive.RequestBackfill(context.Background(), dsn)) },
		"the store's cursor": func(t *testing.T, w *world, _ string) {
			check(t, w.store.DropCursor(context.Background(), archive.Name))
		},
		"the store's is behind": func(t *testing.T, w *world, _ string) {
			check(t, w.store.SetCursor(context.Background(), archive.Name, 3))
		},
	} {
		t.Run(name, func(t *testing.T) {
			server, w := ownServer(t), newWorld(t)
			dsn := server.DSN("postgres")
			w.days(0, 1)
			pass(t, w.archiver(dsn), noon)
			w.busy(1)
			pass(t, w.archiver(dsn), noon)
			lose(t, w, dsn)
			w.days(3, 1)
			pass(t, w.archiver(dsn), noon)
			w.archived(dsn)
			same(t, "refused", refused(t, server), 0)
		})
	}
}

func TestUnexpectedRepeatsAreRejectedOnce(t *testing.T) {
	server, w := ownServer(t), newWorld(t)
	dsn := server.DSN("postgres")
	w.days(0, 1)
	pass(t, w.archiver(dsn), noon)
	place := lines(t, dsn, "SELECT position FROM cursors WHERE name = 'events'")[0]
	at, err := w.store.Cursor(context.Background(), archive.Name)
	check(t, err)
	w.busy(1)
	pass(t, w.archiver(dsn), noon)
	// Both cursors went back to the same position, but most of the rows did not.
	exec(t, dsn, "UPDATE cursors SET position = "+place+" WHERE name = 'events'; DELETE FROM events WHERE type = 'SLA_MET' AND position > "+place)
	check(t, w.store.SetCursor(context.Background(), archive.Name, at))
	w.busy(3)
	pass(t, w.archiver(dsn), noon)
	w.archived(dsn)
	refusedOnce(t, server)
}

func TestCrashBetweenBatchesIsRejectedOnce(t *testing.T) {
	server, died := ownServer(t), memory.New()
	dsn, w := server.DSN("postgres"), &world{t: t, store: died}
	w.days(0, 1)
	pass(t, w.archiver(dsn), noon)
	w.busy(1)
	// Its first two batches are written; the one with the cursors is not.
	exec(t, dsn, `CREATE FUNCTION die() RETURNS trigger AS $$ BEGIN RAISE 'died'; END $$ LANGUAGE plpgsql;
		CREATE TRIGGER die BEFORE INSERT ON cursors FOR EACH STATEMENT EXECUTE FUNCTION die()`)
	if _, err := w.archiver(dsn).Pass(context.Background(), noon); err == nil || !strings.Contains(err.Error(), "died") {
		t.Fatalf("got %v", err)
	}
	if n := lines(t, dsn, "SELECT count(*) FROM sensor_history")[0]; n == "6" {
		t.Fatal("no batch was written")
	}
	exec(t, dsn, "DROP TRIGGER die ON cursors")
	next := died.Open()
	check(t, died.Close())
	w.store = next
	defer func() { check(t, next.Close()) }()
	pass(t, w.archiver(dsn), noon)
	w.archived(dsn)
	refusedOnce(t, server)
}
