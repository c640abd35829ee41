package sqlite

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/internal/store"
)

// When a generation is full: by its rows, by the writes that a start after a crash would have to read again, or by the
// memory it takes.
const (
	foldRows   = 1 << 14
	foldWrites = 4 * foldRows
	foldBytes  = 16 << 20
)

// foldStep is how many rows are folded at a time: it delays the next commit by a fraction of a millisecond.
const foldStep = 64

func (w *writer) full(g *generation) bool {
	return g.rows >= w.foldAfter || g.writes >= 4*w.foldAfter || g.bytes >= foldBytes
}

// overfull refuses writes once folding has failed for so long that there is no more room to remember them.
func (w *writer) overfull() error {
	if w.foldErr != nil && w.overlay.folding != nil && w.full(w.overlay.fresh) {
		return fmt.Errorf("earlier readings cannot be filed: %w", w.foldErr)
	}
	return nil
}

// tend folds while nobody waits, and a step even if somebody does. A step takes more rows than the group before it
// brought, so that a generation is folded before the next is full.
func (w *writer) tend(brought int64) {
	if w.overlay.folding == nil && w.full(w.overlay.fresh) {
		w.overlay.freeze()
	}
	for w.overlay.folding != nil {
		if w.foldErr = w.fold(max(w.foldStep, 2*int(brought))); w.foldErr != nil || len(w.queue) > 0 {
			return // what failed is tried again after the next group
		}
	}
}

// foldAll leaves nothing to fold.
func (w *writer) foldAll() error {
	for w.overlay.first() > 0 {
		if w.overlay.folding == nil {
			w.overlay.freeze()
		}
		if err := w.fold(foldRows); err != nil {
			return err
		}
	}
	return nil
}

// fold brings about so many rows from the frozen generation into the table, in a transaction of its own. It needs no fsync:
// until the last step is on disk, the log is read again from where the generation began.
func (w *writer) fold(rows int) error {
	if err := w.conn.run(context.Background(), "PRAGMA synchronous = NORMAL"); err != nil {
		return err
	}
	err := w.condition.withReserve(func() error { return w.foldAlone(rows) })
	if back := w.conn.run(context.Background(), "PRAGMA synchronous = FULL"); err == nil {
		err = back
	}
	if err != nil {
		return fmt.Errorf("fold readings: %w", err)
	}
	return nil
}

func (w *writer) foldAlone(rows int) error {
	if err := w.conn.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	done, err := w.foldKeys(rows)
	if err == nil {
		err = w.conn.exec("COMMIT")
	}
	if err != nil {
		_ = w.conn.exec("ROLLBACK") // the first error says more
		return err
	}
	w.letGo(done)
	return nil
}

// foldKeys gives how many keys it took; they are let go of once that is committed.
func (w *writer) foldKeys(rows int) (done int, err error) {
	g := w.overlay.folding
	for folded := 0; folded < rows && done < len(g.todo); done++ {
		folded += len(g.todo[done].rows)
		if err := w.foldKey(g.todo[done]); err != nil {
			return 0, err
		}
	}
	if done == len(g.todo) {
		return done, w.conn.exec("UPDATE meta SET value = ? WHERE name = 'folded'", g.last)
	}
	return done, nil
}

func (w *writer) letGo(done int) {
	g := w.overlay.folding
	if g.todo = g.todo[done:]; len(g.todo) == 0 {
		w.overlay.folded()
	}
}

const upsertReading = `INSERT INTO readings (pipeline, sensor, slot, period, version, at, ages, ord, extra, body, latest)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (pipeline, sensor, slot) DO UPDATE SET version = excluded.version, at = excluded.at, ages = excluded.ages, ord = excluded.ord,
		extra = excluded.extra, body = excluded.body, latest = excluded.latest`

func (w *writer) foldKey(k *keyRows) error {
	for p, r := range k.rows {
		err := w.conn.exec(upsertReading, string(k.pipeline), string(k.sensor), store.PeriodKey(p), p.String(),
			r.version, r.at, nanos(store.AgesFrom(fromNanos(r.at), p)), r.order, nullable(r.extra), r.body, p == k.tip.period)
		if err != nil {
			return err
		}
	}
	if k.base.version == 0 || k.base.period == k.tip.period {
		return nil
	}
	return w.conn.exec("UPDATE readings SET latest = 0 WHERE pipeline = ? AND sensor = ? AND latest = 1 AND slot <> ?",
		string(k.pipeline), string(k.sensor), store.PeriodKey(k.tip.period))
}

// foldUpTo folds the writes up to a position into their table, a step each time it is done. A transaction holds one step:
// what it folded is let go of once it is committed, and a second one would fold the same rows again.
type foldUpTo struct {
	pos  int64
	done bool
}

func (f *foldUpTo) do(tx *tx) error {
	w := tx.w
	first := w.overlay.first()
	if f.done = first == 0 || first > f.pos; f.done {
		return nil
	}
	if tx.folded {
		return nil
	}
	tx.folded = true
	if w.overlay.folding == nil {
		w.overlay.freeze()
	}
	done, err := w.foldKeys(w.foldStep)
	tx.after = append(tx.after, func() { w.letGo(done) })
	return err
}
