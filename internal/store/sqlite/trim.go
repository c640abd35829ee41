package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/store"
)

// trimStep is how many rows are forgotten in one turn of the writer, so that others do not wait long.
const trimStep = 50

// trim is one step on its way to the writer.
type trim struct {
	keep  store.Retention
	now   time.Time
	limit int
	how   func(*trim, *tx) error
	old   *int64 // everything in the log up to here is old, or was written while a clock was ahead

	forgot int
}

func (t *trim) do(tx *tx) error {
	t.forgot = 0
	return t.how(t, tx)
}

// trims is what is forgotten, one kind after the other.
var trims = []func(*trim, *tx) error{
	(*trim).changes, (*trim).writes, (*trim).readings, (*trim).events,
	(*trim).jobLog, (*trim).reruns, (*trim).snapshots, (*trim).dryRuns, (*trim).marks, (*trim).notes, (*trim).commits,
}

// Trim begins each round, which ends with a call that finds nothing, with all readings in their table: only there is it
// known which of them may go.
func (s *Store) Trim(ctx context.Context, keep store.Retention, now time.Time) (int, error) {
	n, err := s.trim(ctx, keep, now)
	s.trimming.Store(n > 0)
	if err != nil {
		return n, fmt.Errorf("forget what is old: %w", err)
	}
	return n, nil
}

func (s *Store) trim(ctx context.Context, keep store.Retention, now time.Time) (forgot int, err error) {
	if !s.trimming.Load() {
		for f := (&foldUpTo{pos: s.committed.Load()}); !f.done; {
			if err := s.write(ctx, f); err != nil {
				return 0, err
			}
		}
	}
	var old int64
	for _, how := range trims {
		for {
			limit := min(trimStep, store.MaxTrim-forgot)
			step := &trim{keep: keep, now: now, limit: limit, how: how, old: &old}
			if err := s.write(ctx, step); err != nil {
				return forgot, err
			}
			if forgot += step.forgot; forgot == store.MaxTrim {
				return forgot, nil
			}
			if step.forgot < limit {
				break
			}
		}
	}
	return forgot, nil
}

// before is the instant before which something is old; false if it is kept for ever.
func (t *trim) before(keep time.Duration) (int64, bool) {
	return nanos(t.now.Add(-keep)), keep > 0
}

// delete runs a statement whose last argument is how many rows it may take.
func (t *trim) delete(tx *tx, query string, args ...any) error {
	n, err := tx.changes(query, append(args, t.limit-t.forgot)...)
	t.forgot += int(n)
	return err
}

// changes moves the place where new groups begin. Rows that are history too stay until they are not.
func (t *trim) changes(tx *tx) error {
	passed, any := tx.w.feed.passed()
	start := tx.w.feed.begins()
	to := min(passed, start+int64(t.limit))
	if !any || to <= start {
		return nil
	}
	if err := tx.exec("DELETE FROM log WHERE pos > ? AND pos <= ? AND (kind > ? OR body IS NULL)", start, to, kindChanged); err != nil {
		return err
	}
	t.forgot = int(to - start)
	tx.after = append(tx.after, func() { tx.w.feed.begin(to) })
	return tx.exec("UPDATE meta SET value = ? WHERE name = 'forgotten_changes'", to)
}

// writes takes the data out of the log, and rows that are no change any more either as a whole. It goes by position. A write
// from after now was made while the clock was ahead: it goes with the first one after it that is old.
func (t *trim) writes(tx *tx) error {
	cutoff, any := t.before(t.keep.History)
	if !any {
		return nil
	}
	from, err := tx.number("SELECT value FROM meta WHERE name = 'forgotten_writes'")
	if err != nil {
		return err
	}
	to, err := t.oldWrites(tx, from, cutoff)
	if err != nil || to == from {
		return err
	}
	start := tx.w.feed.begins()
	if err := tx.exec("DELETE FROM log WHERE pos > ? AND pos <= ? AND kind <= ?", from, min(to, start), kindChanged); err != nil {
		return err
	}
	if err := tx.exec("UPDATE log SET body = NULL, extra = NULL WHERE pos > ? AND pos <= ? AND kind <= ?", max(from, start), to, kindChanged); err != nil {
		return err
	}
	return tx.exec("UPDATE meta SET value = ? WHERE name = 'forgotten_writes'", to)
}

// oldWrites returns the position up to which writes may go, and counts them.
func (t *trim) oldWrites(tx *tx, from, cutoff int64) (to int64, err error) {
	now, last := nanos(t.now), tx.w.pos
	if first := tx.w.overlay.first(); first > 0 {
		last = first - 1
	}
	if *t.old <= from {
		// Only where a clock was ahead is this not the next row.
		if *t.old, err = tx.number("SELECT pos FROM log WHERE pos > ? AND pos <= ? AND kind <= ? AND at <= ? ORDER BY pos LIMIT 1",
			from, last, kindChanged, now); err != nil {
			return from, err
		}
	}
	to = from
	err = tx.query("SELECT pos, kind, at FROM log WHERE pos > ? AND pos <= ? ORDER BY pos", func(r row) error {
		pos, at := r.int(0), r.int(2)
		if r.int(1) <= kindChanged {
			if at >= cutoff && (at <= now || pos > *t.old) || t.forgot == t.limit {
				return errStop
			}
			t.forgot++
		}
		to = pos
		return nil
	}, from, last)
	return to, err
}

// readings forgets periods that no gate looks at any more.
func (t *trim) readings(tx *tx) error {
	cutoff, any := t.before(t.keep.History)
	if !any {
		return nil
	}
	open, err := openPeriods(tx.conn)
	if err != nil {
		return err
	}
	var ids []int64
	if err := tx.query("SELECT id, period FROM readings WHERE latest = 0 AND slot <> '' AND ages < ? ORDER BY ages", func(r row) error {
		p, err := period.Parse(r.text(1))
		if err != nil || len(ids) == t.limit {
			return cmp.Or(err, errStop)
		}
		if !open.Touch(p) {
			ids = append(ids, r.int(0))
		}
		return nil
	}, cutoff); err != nil {
		return err
	}
	for _, id := range ids {
		if err := tx.exec("DELETE FROM readings WHERE id = ?", id); err != nil {
			return err
		}
	}
	if len(ids) > 0 {
		t.forgot = len(ids)
		tx.after = append(tx.after, func() { tx.w.overlay.clean = nil })
	}
	return nil
}

// openPeriods are the periods of all open runs, of whatever pipeline: a gate may read another pipeline's sensors.
func openPeriods(c *conn) (open store.Periods, err error) {
	err = c.query(`SELECT run FROM runs INDEXED BY runs_open WHERE open = 1
		UNION ALL SELECT run FROM dry_runs INDEXED BY dry_runs_open WHERE open = 1`, func(r row) error {
		name := r.text(0)
		p, err := period.Parse(name[strings.LastIndexByte(name, '/')+1:])
		if err != nil {
			return err
		}
		open.Add(p)
		return nil
	})
	return open, err
}

// events forgets those that every cursor has passed: all before the first position with a later "high", and of the others
// those that are older than one they follow.
func (t *trim) events(tx *tx) error {
	cutoff, any := t.before(t.keep.Events)
	if !any {
		return nil
	}
	first, err := firstSince(tx.conn, cutoff)
	if err != nil {
		return err
	}
	if err := tx.saveCursors(); err != nil {
		return err
	}
	const passed = " AND pos <= coalesce((SELECT min(pos) FROM cursors), 1 << 62) ORDER BY "
	for _, old := range []struct {
		rows string
		than int64
	}{
		{"SELECT pos FROM events WHERE pos < ?" + passed + "pos", first},
		{"SELECT pos FROM events INDEXED BY events_late WHERE at < high AND at < ?" + passed + "at", cutoff},
	} {
		if err := t.delete(tx, "DELETE FROM events WHERE pos IN ("+old.rows+upTo+")", old.than); err != nil {
			return err
		}
	}
	if t.forgot == 0 {
		return nil
	}
	return tx.exec("UPDATE meta SET value = ? WHERE name = 'last_event'", tx.event)
}

func (t *trim) jobLog(tx *tx) error {
	cutoff, any := t.before(t.keep.JobLog)
	if !any {
		return nil
	}
	return t.delete(tx, `DELETE FROM job_log WHERE id IN (
		SELECT l.id FROM job_log l LEFT JOIN runs r ON r.run = l.run
		WHERE l.at < ? AND r.open IS NOT 1 ORDER BY l.at`+upTo+`)`, cutoff)
}

func (t *trim) reruns(tx *tx) error {
	cutoff, any := t.before(t.keep.JobLog)
	if !any {
		return nil
	}
	return t.delete(tx, `DELETE FROM reruns WHERE id IN (
		SELECT l.id FROM reruns l LEFT JOIN runs r ON r.run = l.run
		WHERE l.at < ? AND r.open IS NOT 1 ORDER BY l.at`+upTo+`)`, cutoff)
}

func (t *trim) snapshots(tx *tx) error {
	cutoff, any := t.before(t.keep.JobLog)
	if !any {
		return nil
	}
	return t.delete(tx, `DELETE FROM snapshots WHERE snapshot IN (
		SELECT l.snapshot FROM snapshots l LEFT JOIN runs r ON r.run = l.run
		WHERE l.loose = 1 AND l.at < ? AND r.open IS NOT 1 ORDER BY l.at`+upTo+`)`, cutoff)
}

func (t *trim) dryRuns(tx *tx) error {
	cutoff, _ := t.before(store.DryRunLife)
	return t.delete(tx, "DELETE FROM dry_runs WHERE run IN (SELECT run FROM dry_runs WHERE open = 0 AND updated < ?"+upTo+")", cutoff)
}

func (t *trim) marks(tx *tx) error {
	return t.delete(tx, "DELETE FROM marks WHERE mark IN (SELECT mark FROM marks WHERE expires < ?"+upTo+")", nanos(t.now))
}

func (t *trim) notes(tx *tx) error {
	return t.delete(tx, "DELETE FROM notes WHERE (kind, key) IN (SELECT kind, key FROM notes WHERE expires < ?"+upTo+")", nanos(t.now))
}

// commits looks at the oldest only: they were taken in order, but for a clock that was set. Those from long after now were
// taken while it was ahead.
func (t *trim) commits(tx *tx) error {
	cutoff, _ := t.before(store.CommitLife)
	return t.delete(tx, `DELETE FROM commits WHERE id IN (
		SELECT id FROM (SELECT id, at FROM commits ORDER BY id LIMIT 500) WHERE at < ? OR at > ?`+upTo+`)`, cutoff, nanos(t.now.Add(store.CommitLife)))
}
