package archive_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/interlock-go/interlock/internal/archive"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

var noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

// world is a store with test data.
type world struct {
	t     testing.TB
	store store.Store
	n     int
}

func newWorld(t testing.TB) *world {
	s := memory.New()
	t.Cleanup(func() { check(t, s.Close()) })
	return &world{t: t, store: s}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) commit(now time.Time, fill func(b *store.Batch)) {
	w.t.Helper()
	w.n++
	b := store.Batch{ID: fmt.Sprint("batch ", w.n)}
	fill(&b)
	check(w.t, w.store.Commit(context.Background(), b, now))
}

func keyOf(id pipeline.ID, date string) run.Key {
	p, err := period.Parse(date)
	if err != nil {
		panic(err)
	}
	return run.Key{Pipeline: id, Schedule: pipeline.ByCron, Period: p}
}

// accept stores a pipeline.
func (w *world) accept(id pipeline.ID, now time.Time) {
	w.t.Helper()
	w.commit(now, func(b *store.Batch) { b.SwapPipeline(store.Pipeline{}, store.Pipeline{ID: id, Horizon: now}) })
}

// put writes a sensor.
func (w *world) put(id pipeline.ID, key sensor.Key, now time.Time, count int64) {
	w.t.Helper()
	r := sensor.Reading{Key: key, Period: period.At(now, period.Day, time.UTC), Fields: sensor.Fields{"count": count}, Source: "test"}
	_, err := w.store.PutReadings(context.Background(), []store.Write{{Pipeline: id, Reading: r}}, now)
	check(w.t, err)
}

// live opens, starts and completes a run that takes that long, with its events and job log.
func (w *world) live(key run.Key, now time.Time, took time.Duration) {
	w.t.Helper()
	opened := run.Run{Key: key, Version: 1, Status: run.Pending, Attempt: 1, OpenedAt: now, UpdatedAt: now}
	w.commit(now, func(b *store.Batch) {
		b.Create(opened)
		b.Emit(newEvent(event.TriggerStarted, key, now))
	})
	running := opened
	running.Version, running.Status, running.UpdatedAt = 2, run.Running, now.Add(time.Second)
	w.commit(now, func(b *store.Batch) {
		b.Swap(opened, running)
		b.Append(store.JobEntry{Key: key, Attempt: 1, At: running.UpdatedAt, Event: store.JobStarted, Try: 1, Handle: "job"})
	})
	done, end := running, running.UpdatedAt.Add(took)
	done.Version, done.Status, done.UpdatedAt, done.EndedAt = 3, run.Completed, end, end
	w.commit(end, func(b *store.Batch) {
		b.Swap(running, done)
		b.Append(store.JobEntry{Key: key, Attempt: 1, At: end, Event: store.JobSuccess, Message: "done", Output: "42 rows"})
		b.Emit(newEvent(event.SLAMet, key, end))
	})
}

func newEvent(t event.Type, key run.Key, at time.Time) event.Event {
	about := event.About{Pipeline: key.Pipeline, Schedule: key.Schedule, Date: key.Period, Attempt: 1, At: at}
	var extra event.Extra
	switch t {
	case event.SLAMet, event.SLABreach:
		extra = event.Deadline{Deadline: at}
	case event.RerunRejected:
		extra = event.Refusal{Why: "already open"}
	}
	return event.New(t, about, "it happened", extra)
}

// days runs two pipelines for some days.
func (w *world) days(from, n int) {
	w.t.Helper()
	for _, id := range []pipeline.ID{"orders", "users"} {
		if from == 0 {
			w.accept(id, noon)
		}
		for day := from; day < from+n; day++ {
			now := noon.AddDate(0, 0, day)
			w.put(id, "landing", now, int64(day))
			w.put(id, "landing", now.Add(time.Second), int64(day))
			w.put(id, "upstream", now, 7)
			w.live(keyOf(id, now.Format(time.DateOnly)), now, time.Minute)
			w.commit(now, func(b *store.Batch) {
				b.Reruns = append(b.Reruns, store.Rerun{ID: fmt.Sprint("request ", day), Key: keyOf(id, now.Format(time.DateOnly)), By: "ann", At: now, Why: "already open"})
				b.Emit(newEvent(event.RerunRejected, keyOf(id, now.Format(time.DateOnly)), now))
			})
		}
	}
}

func (w *world) archiver(dsn string) *archive.Archiver {
	w.t.Helper()
	a, err := archive.New(w.store, dsn, "one")
	check(w.t, err)
	return a
}

func pass(t testing.TB, a *archive.Archiver, now time.Time) archive.Report {
	t.Helper()
	report, err := a.Pass(context.Background(), now)
	check(t, err)
	return report
}

// lines returns a query's rows as text.
func lines(t testing.TB, dsn, query string) []string {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	check(t, err)
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, query)
	check(t, err)
	found, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (string, error) {
		values, err := r.Values()
		return fmt.Sprint(values...), err
	})
	check(t, err)
	return found
}

func exec(t testing.TB, dsn, statement string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	check(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	check(t, err)
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// archived compares the archive with everything in the store.
func (w *world) archived(dsn string) {
	w.t.Helper()
	ctx := context.Background()
	want := map[string][]string{}
	add := func(table string, parts ...any) { want[table] = append(want[table], fmt.Sprint(parts...)) }
	stamp := func(at time.Time) int64 { return at.UnixMicro() }
	page, err := w.store.Runs(ctx, store.RunQuery{Limit: store.MaxPage})
	check(w.t, err)
	for _, r := range page.Items {
		add("runs", r.Key.String(), " ", r.Status, " ", r.Version, " ", r.Attempt, " ", stamp(r.EndedAt))
		logs, err := w.store.JobLogs(ctx, []run.Key{r.Key})
		check(w.t, err)
		for _, e := range logs[r.Key] {
			add("run_logs", r.Key.String(), " ", e.Event, " ", stamp(e.At), " ", e.Output)
		}
		requests, err := w.store.Reruns(ctx, []run.Key{r.Key})
		check(w.t, err)
		for _, q := range requests[r.Key] {
			add("reruns", r.Key.String(), " ", q.ID, " ", q.By, " ", stamp(q.At))
		}
	}
	all, err := w.store.EventsAfter(ctx, 0, store.MaxPage)
	check(w.t, err)
	for _, e := range all {
		add("events", e.Event.ID, " ", e.Event.Type, " ", stamp(e.Event.Time), " ", e.Event.Detail.Message)
	}
	pipelines, err := w.store.Pipelines(ctx)
	check(w.t, err)
	for _, p := range pipelines {
		latest, err := w.store.LatestReadings(ctx, store.LatestQuery{Pipeline: p.ID})
		check(w.t, err)
		for _, l := range latest.Items {
			history, err := w.store.History(ctx, store.HistoryQuery{Pipeline: p.ID, Key: l.Key, Limit: store.MaxPage})
			check(w.t, err)
			for _, r := range history.Items {
				add("sensor_history", p.ID, "/", r.Key, " ", r.Period, " ", r.Version, " ", stamp(r.UpdatedAt), " ", r.Fields["count"])
			}
		}
	}
	for table, query := range shown {
		same(w.t, table, sorted(lines(w.t, dsn, query)), sorted(want[table]))
	}
}

const micros = "(extract(epoch FROM %s) * 1000000)::bigint"

// shown formats each table for archived.
var shown = map[string]string{
	"runs":           "SELECT pipeline || '/' || schedule || '/' || period || ' ' || status || ' ' || version || ' ' || attempt || ' ' || " + fmt.Sprintf(micros, "ended_at") + " FROM runs",
	"run_logs":       "SELECT pipeline || '/' || schedule || '/' || period || ' ' || event || ' ' || " + fmt.Sprintf(micros, "at") + " || ' ' || output FROM run_logs",
	"reruns":         "SELECT pipeline || '/' || schedule || '/' || period || ' ' || id || ' ' || requested_by || ' ' || " + fmt.Sprintf(micros, "at") + " FROM reruns",
	"events":         "SELECT id || ' ' || type || ' ' || " + fmt.Sprintf(micros, "at") + " || ' ' || (detail->>'message') FROM events",
	"sensor_history": "SELECT pipeline || '/' || sensor || ' ' || period || ' ' || version || ' ' || " + fmt.Sprintf(micros, "at") + " || ' ' || (fields->>'count') FROM sensor_history",
}
