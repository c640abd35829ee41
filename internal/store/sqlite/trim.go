package sqlite

import (
	"context"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// stepRows is how many rows Drop and Trim delete per request to the writer, so that others do not
// wait long.
const stepRows = 100

// drop is one step of Drop.
type drop struct {
	rows    []row.Row
	dropped int
}

// Drop deletes rows in several transactions.
func (e *Engine) Drop(ctx context.Context, rows []row.Row) (dropped int, err error) {
	for len(rows) > 0 && err == nil {
		step := &drop{rows: rows[:min(stepRows, len(rows))]}
		err = e.write(ctx, step, len(step.rows))
		dropped, rows = dropped+step.dropped, rows[len(step.rows):]
	}
	if err == nil {
		err = e.isOpen()
	}
	return dropped, err
}

func (d *drop) do(tx *tx) error {
	d.dropped = 0
	for _, r := range d.rows {
		n, err := tx.change(deleteRow, refPrefix(r.Kind, r.Part)+r.Key, r.Version)
		if err != nil {
			return err
		}
		d.dropped += int(n)
		if r.Kind == row.Events && n > 0 {
			if err := tx.setMeta("last_event", tx.lastEvent); err != nil {
				return err
			}
		}
	}
	return nil
}

func (tx *tx) setMeta(name string, value int64) error {
	_, err := tx.change("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", name, value)
	return err
}

// trim is one step of Trim.
type trim struct {
	passed  int64 // changes up to this position may be deleted
	before  int64 // and so may ids applied before this time
	limit   int
	trimmed int
}

// Trim counts the changes of one transaction as one record, and deletes them together.
func (e *Engine) Trim(ctx context.Context, now time.Time, limit int) (trimmed int, err error) {
	if err := e.isOpen(); err != nil {
		return 0, err
	}
	passed, _ := e.Passed() // 0 without a group
	before := now.Add(-store.CommitLife).UnixNano()
	for trimmed < limit {
		step := &trim{passed: passed, before: before, limit: min(stepRows, limit-trimmed)}
		if err := e.write(ctx, step, step.limit); err != nil {
			return trimmed, err
		}
		if trimmed += step.trimmed; step.trimmed < step.limit {
			break
		}
	}
	return trimmed, nil
}

func (t *trim) do(tx *tx) error {
	n, err := tx.change("DELETE FROM changes WHERE last IN "+
		"(SELECT last FROM changes WHERE last <= ? ORDER BY last"+upTo+")", t.passed, t.limit)
	if err != nil {
		return err
	}
	ids, err := tx.change("DELETE FROM applied WHERE n IN "+
		"(SELECT n FROM (SELECT n, at FROM applied ORDER BY n"+upTo+") WHERE at < ?)", t.limit-int(n), t.before)
	t.trimmed = int(n + ids)
	return err
}

// numberBlock is how many numbers one commit reserves. A crash skips the rest of a block.
const numberBlock = 10_000

// numbers is the sequence that Next draws from.
type numbers struct {
	mu       sync.Mutex
	last     int64 // last number used
	reserved int64 // last number reserved in the database
}

// Next returns reserved numbers, and reserves more when they run out.
func (e *Engine) Next(ctx context.Context, n int) (int64, error) {
	if err := e.isOpen(); err != nil {
		return 0, err
	}
	s := &e.numbers
	s.mu.Lock()
	defer s.mu.Unlock()
	if upTo := s.last + int64(n); upTo > s.reserved {
		if err := e.write(ctx, reservation(upTo+numberBlock), 1); err != nil {
			return 0, err
		}
		s.reserved = upTo + numberBlock
	}
	s.last += int64(n)
	return s.last - int64(n) + 1, nil
}

// reservation reserves all numbers up to its value.
type reservation int64

func (r reservation) do(tx *tx) error { return tx.setMeta("number", int64(r)) }
