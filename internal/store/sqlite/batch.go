package sqlite

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// batch is a store.Batch with everything that can be made before the writer's turn: names, sort keys, JSON.
type batch struct {
	id, identity string
	lease        *store.Lease
	hold         *store.Hold // what is asked for
	given        store.Lease // and what was given
	now          time.Time

	runs      []runRow
	dryRuns   []runRow
	pipelines []swapRow
	expected  []swapRow // pipelines that stay as they are
	postRuns  []swapRow
	deadlines []deadlineRow
	notes     []noteRow
	marks     []store.Mark

	statements []statement // for records that are stored as they are
	snapshots  []snapshotRow
	events     []eventRow
	tasks      []taskRow
	finished   []string
}

// swapRow is a record of a table whose first column is its name.
type swapRow struct {
	name       string
	read, next int64
	body       string
}

type runRow struct {
	swapRow
	slot string
	run  run.Run
}

type deadlineRow struct {
	swapRow
	slot     string
	deadline store.Deadline
}

type noteRow struct {
	swapRow
	kind    string
	expires any
}

type snapshotRow struct {
	id, run string
	at      int64
	body    string
}

type eventRow struct {
	event event.Event
	run   string
	body  string
}

type taskRow struct {
	id   string
	due  int64
	body string
}

// statement is a change that needs no look at anything first.
type statement struct {
	query string
	args  []any
}

// Commit makes the JSON on the caller's goroutine and leaves the rest to the writer.
func (s *Store) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	if err := b.Check(); err != nil {
		return err
	}
	p, err := prepare(b, now)
	if err == nil {
		err = s.write(ctx, p)
	}
	if err != nil {
		return fmt.Errorf("commit %s: %w", b.ID, err)
	}
	if b.Hold != nil {
		b.Hold.Given = p.given
	}
	return nil
}

func prepare(b store.Batch, now time.Time) (*batch, error) {
	p := &batch{id: b.ID, identity: b.Identity(), now: now, marks: slices.Clone(b.Marks), finished: slices.Clone(b.Finished)}
	if b.Lease != nil {
		own := *b.Lease
		p.lease = &own
	}
	if b.Hold != nil {
		wish := *b.Hold
		p.hold = &wish
	}
	for _, step := range []func(store.Batch) error{p.swaps, p.records, p.letters, p.intents} {
		if err := step(b); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *batch) swaps(b store.Batch) (err error) {
	if p.runs, err = runRows(b.Runs); err != nil {
		return err
	}
	if p.dryRuns, err = runRows(b.DryRuns); err != nil {
		return err
	}
	for _, w := range b.Pipelines {
		body, err := encode(w.Next)
		if err != nil {
			return err
		}
		p.pipelines = append(p.pipelines, swapRow{string(w.Next.ID), w.Read, w.Next.Version, body})
	}
	for _, e := range b.Expected {
		p.expected = append(p.expected, swapRow{name: string(e.ID), read: e.Version})
	}
	for _, w := range b.PostRuns {
		body, err := encode(w.Next)
		if err != nil {
			return err
		}
		p.postRuns = append(p.postRuns, swapRow{w.Next.Key.String(), w.Read, w.Next.Version, body})
	}
	for _, w := range b.Deadlines {
		body, err := encode(w.Next)
		if err != nil {
			return err
		}
		row := swapRow{w.Next.Key.String(), w.Read, w.Next.Version, body}
		p.deadlines = append(p.deadlines, deadlineRow{row, store.PeriodKey(w.Next.Key.Period), w.Next})
	}
	for _, w := range b.Notes {
		body, err := encode(w.Next)
		if err != nil {
			return err
		}
		row := swapRow{w.Next.Key, w.Read, w.Next.Version, body}
		p.notes = append(p.notes, noteRow{row, string(w.Next.Kind), expiry(w.Next.Until)})
	}
	return nil
}

// expiry is when a row may be forgotten; NULL if never.
func expiry(until time.Time) any {
	if until.IsZero() {
		return nil
	}
	return nanos(until)
}

func runRows(swaps []store.Swap[run.Run]) ([]runRow, error) {
	var rows []runRow
	for _, w := range swaps {
		body, err := encode(w.Next)
		if err != nil {
			return nil, err
		}
		row := swapRow{w.Next.Key.String(), w.Read, w.Next.Version, body}
		rows = append(rows, runRow{row, store.PeriodKey(w.Next.Period), w.Next})
	}
	return rows, nil
}

const (
	insertConfig = "INSERT INTO configs (pipeline, version, at, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
	insertLog    = "INSERT INTO job_log (run, attempt, event, try, at, body) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
	insertRerun  = "INSERT INTO reruns (run, request, at, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
	insertDead   = `INSERT INTO dead_letters (sink, event, at, body) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET at = excluded.at, body = excluded.body`
	deleteDead = "DELETE FROM dead_letters WHERE sink = ? AND event = ?"
)

func (p *batch) records(b store.Batch) error {
	for _, c := range b.Configs {
		if err := p.add(insertConfig, c, string(c.Pipeline), c.Version, nanos(c.At)); err != nil {
			return err
		}
	}
	for _, e := range b.Log {
		if err := p.add(insertLog, e, e.Key.String(), int64(e.Attempt), string(e.Event), int64(e.Try), nanos(e.At)); err != nil {
			return err
		}
	}
	for _, r := range b.Reruns {
		if err := p.add(insertRerun, r, r.Key.String(), r.ID, nanos(r.At)); err != nil {
			return err
		}
	}
	for _, v := range b.Snapshots {
		body, err := encode(v)
		if err != nil {
			return err
		}
		p.snapshots = append(p.snapshots, snapshotRow{string(v.ID), v.Key.String(), nanos(v.At), body})
	}
	return nil
}

// add plans a statement whose last argument is the record itself.
func (p *batch) add(query string, record any, args ...any) error {
	body, err := encode(record)
	if err != nil {
		return err
	}
	p.statements = append(p.statements, statement{query, append(args, body)})
	return nil
}

func (p *batch) letters(b store.Batch) error {
	for _, d := range b.Dead {
		if err := p.add(insertDead, d, d.Sink, d.Event.ID, nanos(d.At)); err != nil {
			return err
		}
	}
	for _, d := range b.Buried {
		p.statements = append(p.statements, statement{deleteDead, []any{d.Sink, d.Event.ID}})
	}
	return nil
}

func (p *batch) intents(b store.Batch) error {
	for _, e := range b.Events {
		body, err := encode(e)
		if err != nil {
			return err
		}
		about := run.Key{Pipeline: e.Detail.Pipeline, Schedule: e.Detail.Schedule, Period: e.Detail.Date}
		p.events = append(p.events, eventRow{e, about.String(), body})
	}
	for _, t := range b.Tasks {
		t.Due = t.Due.UTC()
		body, err := encode(t)
		if err != nil {
			return err
		}
		p.tasks = append(p.tasks, taskRow{t.ID, nanos(t.Ready()), body})
	}
	return nil
}
