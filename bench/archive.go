package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlock-go/interlock/internal/archive"
	"github.com/interlock-go/interlock/internal/archive/pgtest"
	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/sqlite"
)

const (
	archivedPipelines = 100
	archivedDays      = 30
	archiveRounds     = 5
	archiveLimit      = 0.5
)

// archiveRow measures how fast a backlog is archived from the embedded store into PostgreSQL with
// default settings, against a plain COPY of the same rows into tables with the same keys and
// indexes: no batches, no reads, no comparisons. Each round measures both, one after the other; the
// round with the median ratio counts.
func archiveRow() (_ row, err error) {
	server, err := pgtest.Start("")
	if err != nil {
		return row{}, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	var rounds []archiveRound
	for i := range archiveRounds {
		r, err := measureArchive(server, fmt.Sprintf("archive%d", i))
		if err != nil {
			return row{}, err
		}
		rounds = append(rounds, r)
	}
	slices.SortFunc(rounds, func(a, b archiveRound) int { return cmp.Compare(a.ratio(), b.ratio()) })
	r := rounds[len(rounds)/2]
	return row{
		name: "archive a backlog / plain COPY of the same rows", ratio: r.ratio(), limit: archiveLimit, atLeast: true, failed: r.ratio() < archiveLimit,
		detail: fmt.Sprintf("%d rows: archived at %.0f/s, copied at %.0f/s (the middle of %d rounds, %.2f to %.2f)",
			r.archived.rows, r.archived.rate(), r.copied.rate(), len(rounds), rounds[0].ratio(), rounds[len(rounds)-1].ratio()),
	}, nil
}

// archiveRound is how fast the same rows were archived and copied.
type archiveRound struct{ archived, copied written }

func (r archiveRound) ratio() float64 { return r.archived.rate() / r.copied.rate() }

// written is a number of rows and how long it took to write them.
type written struct {
	rows int
	took time.Duration
}

func (w written) rate() float64 { return float64(w.rows) / w.took.Seconds() }

func measureArchive(server *pgtest.Server, name string) (r archiveRound, err error) {
	dsn, err := newDatabase(server, name)
	if err != nil {
		return r, err
	}
	if r.archived, err = archiveBacklog(dsn); err != nil {
		return r, err
	}
	r.copied, err = copyRows(dsn)
	return r, err
}

func newDatabase(s *pgtest.Server, name string) (dsn string, err error) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, s.DSN("postgres"))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	_, err = conn.Exec(ctx, "CREATE DATABASE "+name)
	return s.DSN(name), err
}

// archiveBacklog starts an archive, stops it while pipelines run, and measures the pass that
// catches up.
func archiveBacklog(dsn string) (w written, err error) {
	dir, err := os.MkdirTemp("", "interlock-bench-")
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx := context.Background()
	db, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	engine.SpareMemory(archivedPipelines) // as the server does
	a, err := archive.New(db, dsn, "bench")
	if err != nil {
		return w, err
	}
	start := time.Now().UTC().Truncate(time.Hour)
	if err := liveThrough(db, start, -1); err != nil {
		return w, err
	}
	if _, err := a.Pass(ctx, start); err != nil {
		return w, err
	}
	for day := range archivedDays {
		if err := liveThrough(db, start, day); err != nil {
			return w, err
		}
	}
	before, err := archivedRows(ctx, dsn)
	if err != nil {
		return w, err
	}
	began := time.Now()
	if _, err := a.Pass(ctx, start); err != nil {
		return w, err
	}
	w.took = time.Since(began)
	after, err := archivedRows(ctx, dsn)
	w.rows = after - before
	return w, err
}

// archivedRows counts the archived rows; a row that was sent twice counts once.
func archivedRows(ctx context.Context, dsn string) (n int, err error) {
	s, err := archive.Read(ctx, dsn)
	for _, c := range s.Rows {
		n += int(c.Rows)
	}
	return n, err
}

// liveThrough stores one day of all pipelines: sensors, a run, its job and its events.
func liveThrough(db *sqlite.Store, start time.Time, day int) error {
	now := start.AddDate(0, 0, day)
	date := period.At(now, period.Day, time.UTC)
	var writes []store.Write
	for i := range archivedPipelines {
		id := pipeline.ID(fmt.Sprintf("pipeline-%d", i))
		for _, key := range []sensor.Key{"landed", "audited"} {
			r := sensor.Reading{Key: key, Period: date, Fields: sensor.Fields{"complete": true, "count": int64(day), "file": "part-0001.parquet"}}
			writes = append(writes, store.Write{Pipeline: id, Reading: r})
		}
		key := run.Key{Pipeline: id, Schedule: pipeline.ByCron, Period: date}
		b := store.Batch{ID: "day/" + key.String()}
		end := now.Add(time.Minute)
		b.Create(run.Run{Key: key, Version: 3, Status: run.Completed, Attempt: 1, OpenedAt: now, UpdatedAt: end, EndedAt: end})
		b.Append(store.JobEntry{Key: key, Attempt: 1, At: now, Event: store.JobStarted, Try: 1, Handle: "job"})
		b.Append(store.JobEntry{Key: key, Attempt: 1, At: end, Event: store.JobSuccess, Message: "done", Output: "1000 rows written\n"})
		about := event.About{Pipeline: id, Schedule: key.Schedule, Date: date, Attempt: 1, At: now}
		b.Emit(event.New(event.JobTriggered, about, "the job was started", event.Started{JobType: "command", Handle: "job"}),
			event.New(event.JobCompleted, about, "the job succeeded", event.Finished{DurationSeconds: 60}),
			event.New(event.SLAMet, about, "completed in time", event.Deadline{Deadline: end}))
		if err := db.Commit(context.Background(), b, now); err != nil {
			return err
		}
	}
	_, err := db.PutReadings(context.Background(), writes, now)
	return err
}

var archiveTables = []string{"runs", "run_logs", "events", "sensor_history"}

// copyRows copies the archived rows into new tables of the same definition.
func copyRows(dsn string) (all written, err error) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return all, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	for _, name := range archiveTables {
		w, err := copyTable(ctx, conn, name)
		if err != nil {
			return all, err
		}
		all.rows, all.took = all.rows+w.rows, all.took+w.took
	}
	return all, nil
}

func copyTable(ctx context.Context, conn *pgx.Conn, name string) (w written, err error) {
	if _, err := conn.Exec(ctx, fmt.Sprintf("DROP TABLE IF EXISTS copied; CREATE TABLE copied (LIKE %s INCLUDING ALL)", name)); err != nil {
		return w, err
	}
	found, err := conn.Query(ctx, "SELECT * FROM "+name)
	if err != nil {
		return w, err
	}
	var columns []string
	for _, f := range found.FieldDescriptions() {
		columns = append(columns, f.Name)
	}
	all, err := pgx.CollectRows(found, func(r pgx.CollectableRow) ([]any, error) { return r.Values() })
	if err != nil {
		return w, err
	}
	began := time.Now()
	n, err := conn.CopyFrom(ctx, pgx.Identifier{"copied"}, columns, pgx.CopyFromRows(all))
	return written{int(n), time.Since(began)}, err
}
