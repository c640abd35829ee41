package sqlite

import (
	"errors"
	"fmt"
	"slices"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// do looks at everything first and changes nothing before all of it is known to fit. A batch that comes again is done already,
// whether or not it would still fit.
func (b *batch) do(tx *tx) error {
	before, err := b.check(tx)
	if errors.Is(err, store.ErrConflict) {
		return b.unlessDone(tx, err)
	}
	if err != nil {
		return err
	}
	added, err := tx.changes("INSERT INTO commits (identity, at) VALUES (?, ?) ON CONFLICT DO NOTHING", b.identity, nanos(b.now))
	if err != nil {
		return err
	}
	if added == 0 {
		b.again(tx)
		return nil
	}
	for _, step := range []func() error{
		func() error { return b.swapRuns(tx, before) },
		func() error { return b.swapOthers(tx) },
		func() error { return b.append(tx) },
		func() error { return b.announce(tx) },
		func() error { return b.settle(tx) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) unlessDone(tx *tx, conflict error) error {
	done, err := tx.number("SELECT 1 FROM commits WHERE identity = ?", b.identity)
	if err != nil {
		return err
	}
	if done != 1 {
		return conflict
	}
	b.again(tx)
	return nil
}

// earlier is what a run is compared with before it is swapped.
type earlier struct {
	version  int64
	status   run.Status
	attempt  int
	snapshot string
}

// check finds out whether everything still is as it was when the batch was decided. It gives the runs as they are.
func (b *batch) check(tx *tx) (runs []earlier, err error) {
	if b.lease != nil {
		if l := tx.lease(b.lease.Task); !l.holds(b.now) || l.token != b.lease.Token {
			return nil, fmt.Errorf("the lease on task %s is lost: %w", b.lease.Task, store.ErrConflict)
		}
	}
	if b.hold != nil && tx.lease(b.hold.Task).holds(b.now) {
		return nil, fmt.Errorf("task %s is held: %w", b.hold.Task, store.ErrConflict)
	}
	for _, r := range b.runs {
		was, err := tx.earlier(r.run.Key, r.name)
		if err != nil {
			return nil, err
		}
		if was.version != r.read {
			return nil, stale("run", r.swapRow, was.version)
		}
		runs = append(runs, was)
	}
	for _, d := range b.deadlines {
		version, err := tx.number("SELECT version FROM deadlines WHERE run = ? AND kind = ?", d.name, string(d.deadline.Kind))
		if err != nil {
			return nil, err
		}
		if version != d.read {
			return nil, stale("deadline", d.swapRow, version)
		}
	}
	for _, n := range b.notes {
		version, err := tx.number("SELECT version FROM notes WHERE kind = ? AND key = ?", n.kind, n.name)
		if err != nil {
			return nil, err
		}
		if version != n.read {
			return nil, stale("note", n.swapRow, version)
		}
	}
	for _, m := range b.marks {
		set, err := tx.number("SELECT 1 FROM marks WHERE mark = ?", m.ID)
		if err != nil {
			return nil, err
		}
		if set == 1 {
			return nil, fmt.Errorf("mark %s is set: %w", m.ID, store.ErrConflict)
		}
	}
	return runs, b.checkOthers(tx)
}

func (b *batch) checkOthers(tx *tx) error {
	for _, of := range []struct {
		what, query string
		rows        []swapRow
	}{
		{"dry run", "SELECT version FROM dry_runs WHERE run = ?", names(b.dryRuns)},
		{"pipeline", "SELECT version FROM pipelines WHERE pipeline = ?", slices.Concat(b.pipelines, b.expected)},
		{"post-run", "SELECT version FROM post_runs WHERE run = ?", b.postRuns},
	} {
		for _, r := range of.rows {
			version, err := tx.number(of.query, r.name)
			if err != nil {
				return err
			}
			if version != r.read {
				return stale(of.what, r, version)
			}
		}
	}
	return nil
}

func names(runs []runRow) []swapRow {
	var rows []swapRow
	for _, r := range runs {
		rows = append(rows, r.swapRow)
	}
	return rows
}

func stale(what string, r swapRow, version int64) error {
	return fmt.Errorf("%s %s is at version %d, was read at %d: %w", what, r.name, version, r.read, store.ErrConflict)
}

// earlier is a run as this transaction leaves it so far. It looks into the file only for what nobody has looked at lately.
func (tx *tx) earlier(key run.Key, name string) (was earlier, err error) {
	if was, swapped := tx.runs[key]; swapped {
		return was, nil
	}
	if held, _ := tx.w.runs.get(key); held != nil {
		r, err := held.give()
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		return earlierOf(r), err
	}
	_, err = tx.one("SELECT version, status, attempt, snapshot FROM runs WHERE run = ?", func(r row) error {
		was = earlier{r.int(0), run.Status(r.text(1)), int(r.int(2)), r.text(3)}
		return nil
	}, name)
	return was, err
}

func earlierOf(r run.Run) earlier {
	return earlier{r.Version, r.Status, r.Attempt, string(r.Progress.Snapshot)}
}

const upsertRun = `INSERT INTO runs (run, pipeline, schedule, slot, version, status, attempt, open, snapshot, body)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (run) DO UPDATE SET version = excluded.version, status = excluded.status, attempt = excluded.attempt,
		open = excluded.open, snapshot = excluded.snapshot, body = excluded.body`

// swapRuns replaces runs and tells the feed of those that moved.
func (b *batch) swapRuns(tx *tx, before []earlier) error {
	for i, r := range b.runs {
		next, was := r.run, before[i]
		snapshot := string(next.Progress.Snapshot)
		err := tx.exec(upsertRun, r.name, string(next.Pipeline), string(next.Schedule), r.slot, next.Version,
			string(next.Status), int64(next.Attempt), next.Status.Open(), snapshot, r.body)
		if err != nil {
			return err
		}
		tx.runs[r.run.Key] = earlierOf(next)
		tx.after = append(tx.after, func() { tx.w.runs.wrote(r.run.Key, plain(r.run)) })
		if snapshot != was.snapshot && (was.snapshot != "" || !b.brings(snapshot)) {
			if err := tx.exec("UPDATE snapshots SET loose = (snapshot <> ?) WHERE run = ? AND snapshot IN (?, ?)",
				snapshot, r.name, snapshot, was.snapshot); err != nil {
				return err
			}
		}
		if next.Status == was.status && next.Attempt == was.attempt {
			continue
		}
		if err := tx.tell(b, kindRun, string(next.Pipeline), move{
			Kind: store.RunMoved, Version: next.Version, Run: next.Key, Status: next.Status, Attempt: next.Attempt,
		}); err != nil {
			return err
		}
	}
	return nil
}

// brings says that a snapshot comes with the batch, which then stores it as one that a run rests on.
func (b *batch) brings(snapshot string) bool {
	return slices.ContainsFunc(b.snapshots, func(s snapshotRow) bool { return s.id == snapshot })
}

const upsertDeadline = `INSERT INTO deadlines (run, kind, pipeline, schedule, slot, version, state, breach, body)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (run, kind) DO UPDATE SET version = excluded.version, state = excluded.state, breach = excluded.breach, body = excluded.body`

const upsertNote = `INSERT INTO notes (kind, key, version, expires, body) VALUES (?, ?, ?, ?, ?)
	ON CONFLICT DO UPDATE SET version = excluded.version, expires = excluded.expires, body = excluded.body`

// swapOthers replaces the other versioned records; of these the feed hears of pipelines.
func (b *batch) swapOthers(tx *tx) error {
	for _, r := range b.dryRuns {
		if err := tx.exec(`INSERT INTO dry_runs (run, version, open, updated, body) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET version = excluded.version, open = excluded.open, updated = excluded.updated, body = excluded.body`,
			r.name, r.next, r.run.Status.Open(), nanos(r.run.UpdatedAt), r.body); err != nil {
			return err
		}
	}
	for _, r := range b.pipelines {
		if err := tx.exec("INSERT INTO pipelines (pipeline, version, body) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version, body = excluded.body",
			r.name, r.next, r.body); err != nil {
			return err
		}
		tx.after = append(tx.after, func() { tx.w.pipelines.wrote(pipeline.ID(r.name), stored[store.Pipeline](r.body)) })
		if err := tx.tell(b, kindPipeline, r.name, move{Kind: store.PipelineMoved, Version: r.next}); err != nil {
			return err
		}
	}
	for _, r := range b.deadlines {
		d := r.deadline
		if err := tx.exec(upsertDeadline, r.name, string(d.Kind), string(d.Key.Pipeline), string(d.Key.Schedule), r.slot,
			d.Version, string(d.State), nanos(d.BreachAt), r.body); err != nil {
			return err
		}
	}
	for _, r := range b.notes {
		if err := tx.exec(upsertNote, r.kind, r.name, r.next, r.expires, r.body); err != nil {
			return err
		}
	}
	for _, r := range b.postRuns {
		if err := tx.exec("INSERT INTO post_runs (run, version, body) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version, body = excluded.body",
			r.name, r.next, r.body); err != nil {
			return err
		}
	}
	return nil
}

// tell appends a change to the feed.
func (tx *tx) tell(b *batch, kind int64, of string, m move) error {
	body, err := encode(m)
	if err != nil {
		return err
	}
	tx.pos++
	tx.told = append(tx.told, m.change(tx.pos, nanos(b.now), pipeline.ID(of)))
	return tx.exec("INSERT INTO log (pos, kind, at, pipeline, body) VALUES (?, ?, ?, ?, ?)", tx.pos, kind, nanos(b.now), of, body)
}

// append stores the records that never change once they are there.
func (b *batch) append(tx *tx) error {
	for _, v := range b.snapshots {
		if err := tx.exec(`INSERT INTO snapshots (snapshot, run, at, loose, body)
			VALUES (?, ?, ?, NOT EXISTS (SELECT 1 FROM runs WHERE run = ? AND snapshot = ?), ?) ON CONFLICT DO UPDATE SET loose = excluded.loose`,
			v.id, v.run, v.at, v.run, v.id, v.body); err != nil {
			return err
		}
	}
	for _, m := range b.marks {
		if err := tx.exec("INSERT INTO marks (mark, expires) VALUES (?, ?)", m.ID, expiry(m.Until)); err != nil {
			return err
		}
	}
	for _, st := range b.statements {
		if err := tx.exec(st.query, st.args...); err != nil {
			return err
		}
	}
	return nil
}

const insertEvent = `INSERT INTO events (pos, event, type, pipeline, run, at, high, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (event) DO NOTHING`

// announce appends the events that were not announced before.
func (b *batch) announce(tx *tx) error {
	for _, e := range b.events {
		at := nanos(e.event.Time)
		added, err := tx.changes(insertEvent, tx.event+1, e.event.ID, string(e.event.Type), string(e.event.Detail.Pipeline),
			e.run, at, max(tx.high, at), e.body)
		if err != nil {
			return err
		}
		if added > 0 {
			tx.event, tx.high, tx.events = tx.event+1, max(tx.high, at), true
		}
	}
	return nil
}
