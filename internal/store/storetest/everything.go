package storetest

import (
	"errors"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// everything is all that a store returns for the records with the names below.
type everything struct {
	Runs      []run.Run
	DryRuns   []run.Run
	Pipelines []store.Pipeline
	Configs   []store.Config
	Deadlines []store.Deadline
	Log       []store.JobEntry
	Snapshots []store.Snapshot
	PostRuns  []store.PostRun
	Reruns    []store.Rerun
	Events    []store.StoredEvent
	Marked    map[string]bool
	Dead      []store.DeadLetter
	Notes     []store.Note
	Tasks     []store.Task
	NextDue   time.Time
	History   []*sensor.Reading
	Current   [][]*sensor.Reading
	Latest    []*sensor.Reading
	Backlog   int
	Oldest    time.Time
	Cursor    store.Position
}

// The names that everything looks for.
var (
	knownRuns      = []run.Key{orders, keyOf("orders", "2026-03-04"), keyOf("silver", "2026-03-03"), keyOf("silver", "2026-03-03T10")}
	knownPipelines = []pipeline.ID{"orders", "silver"}
	knownVersions  = []string{"v1", "v2"}
	knownTasks     = []string{"a", "b", "c", "d"}
	knownMarks     = []string{"m", "n", "o"}
	knownSnapshots = []run.SnapshotID{"s1", "s2"}
	knownSensors   = []sensor.Key{"rows", "status"}
)

// everything reads all of it.
func (f *fixture) everything() everything {
	f.t.Helper()
	var e everything
	f.readRuns(&e)
	f.readPipelines(&e)
	f.readReadings(&e)
	f.readTasks(&e)
	var err error
	e.Events, err = f.s.EventsAfter(f.ctx, 0, store.MaxPage)
	f.check(err)
	e.Marked, err = f.s.Marked(f.ctx, knownMarks)
	f.check(err)
	e.Dead, err = f.s.Dead(f.ctx, "")
	f.check(err)
	for _, kind := range []store.NoteKind{store.SilenceNote, store.ThreadNote, store.BurstNote} {
		notes, err := f.s.Notes(f.ctx, kind)
		addAll(f, &e.Notes, notes, err)
	}
	e.Backlog, e.Oldest, err = f.s.Backlog(f.ctx, "everything")
	f.check(err)
	e.Cursor, err = f.s.Cursor(f.ctx, "everything")
	f.check(err)
	return e
}

// add appends v, unless it was not found.
func add[T any](f *fixture, to *[]T, v T, err error) {
	f.t.Helper()
	switch {
	case err == nil:
		*to = append(*to, v)
	case !errors.Is(err, store.ErrNotFound):
		f.t.Fatal(err)
	}
}

func addAll[T any](f *fixture, to *[]T, all []T, err error) {
	f.t.Helper()
	f.check(err)
	*to = append(*to, all...)
}

func (f *fixture) readRuns(e *everything) {
	f.t.Helper()
	for _, key := range knownRuns {
		r, err := f.s.Run(f.ctx, key)
		add(f, &e.Runs, r, err)
		r, err = f.s.DryRun(f.ctx, key)
		add(f, &e.DryRuns, r, err)
		p, err := f.s.PostRun(f.ctx, key)
		add(f, &e.PostRuns, p, err)
	}
	logs, err := f.s.JobLogs(f.ctx, knownRuns)
	f.check(err)
	requests, err := f.s.Reruns(f.ctx, knownRuns)
	f.check(err)
	for _, key := range knownRuns {
		e.Log = append(e.Log, logs[key]...)
		e.Reruns = append(e.Reruns, requests[key]...)
	}
	for _, id := range knownSnapshots {
		s, err := f.s.Snapshot(f.ctx, id)
		add(f, &e.Snapshots, s, err)
	}
	page, err := f.s.Deadlines(f.ctx, store.DeadlineQuery{})
	addAll(f, &e.Deadlines, page.Items, err)
}

func (f *fixture) readPipelines(e *everything) {
	f.t.Helper()
	all, err := f.s.Pipelines(f.ctx)
	addAll(f, &e.Pipelines, all, err)
	for _, id := range knownPipelines {
		for _, version := range knownVersions {
			c, err := f.s.Config(f.ctx, id, version)
			add(f, &e.Configs, c, err)
		}
	}
}

func (f *fixture) readReadings(e *everything) {
	f.t.Helper()
	var queries []store.ReadingQuery
	for _, id := range knownPipelines {
		for _, key := range knownSensors {
			page, err := f.s.History(f.ctx, store.HistoryQuery{Pipeline: id, Key: key})
			addAll(f, &e.History, page.Items, err)
			for _, k := range knownRuns {
				queries = append(queries, store.ReadingQuery{Pipeline: id, Key: key, Period: k.Period})
			}
		}
		addAll(f, &e.Latest, f.latest(id), nil)
	}
	answers, err := f.s.Readings(f.ctx, queries)
	f.check(err)
	for _, a := range answers {
		e.Current = append(e.Current, byPeriod(a))
	}
}

func (f *fixture) readTasks(e *everything) {
	f.t.Helper()
	for _, id := range knownTasks {
		t, err := f.s.Task(f.ctx, id)
		add(f, &e.Tasks, t, err)
	}
	var err error
	e.NextDue, err = f.s.NextDue(f.ctx, store.ClaimQuery{})
	f.check(err)
}

// texts returns the messages of events, by which tests distinguish them.
func texts(events []event.Event) []string {
	var out []string
	for _, e := range events {
		out = append(out, e.Detail.Message)
	}
	return out
}
