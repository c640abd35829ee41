package sqlite

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// History follows the chain through the log from the most recent write on. Where the chain ends because older writes were
// forgotten, readings that still count are in their table.
func (s *Store) History(ctx context.Context, q store.HistoryQuery) (store.Page[*sensor.Reading], error) {
	var none store.Page[*sensor.Reading]
	before := int64(math.MaxInt64)
	if q.Cursor != "" {
		var err error
		if before, err = store.AfterNumber(q.Cursor); err != nil {
			return none, err
		}
	}
	var found []*reading
	err := s.read(ctx, func(c *conn) error {
		h := history{c: c, q: q, want: store.PageSize(q.Limit) + 1}
		start, whole, err := s.historyStart(c, q, before)
		if err == nil && whole {
			whole, err = h.follow(start)
		}
		if err == nil && !whole {
			err = h.rest(before)
		}
		found = h.found
		return err
	})
	if err != nil {
		return none, fmt.Errorf("read history of %s: %w", q.Key, err)
	}
	items, err := give(found)
	if err != nil {
		return none, fmt.Errorf("read history of %s: %w", q.Key, err)
	}
	return paged(items, q.Limit, func(r *sensor.Reading) string {
		return store.NumberCursor(r.Version)
	}), nil
}

// historyStart is the position that a page begins at; 0 if there is nothing more. It is not whole if the write that the page before
// ended with has been forgotten meanwhile.
func (s *Store) historyStart(c *conn, q store.HistoryQuery, before int64) (pos int64, whole bool, err error) {
	if before == math.MaxInt64 {
		pos, err = s.newest(c, q)
		return pos, true, err
	}
	whole, err = c.one("SELECT iif(?, prev, prev_same) FROM log WHERE pos = ?", func(r row) error {
		pos = r.int(0)
		return nil
	}, q.Period.IsZero(), before)
	return pos, whole, err
}

// newest is the version of the most recent write.
func (s *Store) newest(c *conn, q store.HistoryQuery) (int64, error) {
	var newest int64
	rows, _ := s.overlay.rowsOf(sensorID{q.Pipeline, q.Key})
	for p, r := range rows {
		if q.Period.IsZero() || p == q.Period {
			newest = max(newest, r.version)
		}
	}
	if newest > 0 {
		return newest, nil
	}
	if q.Period.IsZero() {
		at, err := storedTip(c, sensorID{q.Pipeline, q.Key})
		return at.version, err
	}
	r, err := storedReading(c, sensorID{q.Pipeline, q.Key}, q.Period)
	if err != nil || r == nil {
		return 0, err
	}
	return r.version, nil
}

// Writes reads the log in stretches, since what is asked for together was mostly written together. A write that is no longer in
// it may be a reading that still counts.
func (s *Store) Writes(ctx context.Context, ids []store.WriteID) (map[store.WriteID]*sensor.Reading, error) {
	w := writes{asked: make(map[store.WriteID]bool, len(ids)), found: make(map[store.WriteID]*sensor.Reading, len(ids))}
	var positions []int64
	for _, id := range ids {
		w.asked[id] = true
		positions = append(positions, id.Version)
	}
	err := s.read(ctx, func(c *conn) error {
		slices.Sort(positions)
		for len(positions) > 0 {
			n := stretch(positions)
			if err := c.query(writesBetween, w.take, positions[0], positions[n-1], kindChanged); err != nil {
				return err
			}
			positions = positions[n:]
		}
		for id := range w.asked {
			if err := c.query(readingColumns+"WHERE pipeline = ? AND sensor = ? AND version = ?", w.take, string(id.Pipeline), string(id.Key), id.Version); err != nil {
				return err
			}
		}
		return nil
	})
	return named(w.found, err)("writes")
}

const writesBetween = `SELECT pipeline, sensor, period, pos, at, ord, extra, body FROM log
	WHERE pos BETWEEN ? AND ? AND kind <= ? AND body IS NOT NULL`

// maxGap is how far apart two writes may be and still be read in one go.
const maxGap = 32

// stretch is how many of these positions are read in one go.
func stretch(positions []int64) int {
	n := 1
	for n < len(positions) && positions[n]-positions[n-1] <= maxGap {
		n++
	}
	return n
}

// writes are those that were asked for and not found yet, and those that were.
type writes struct {
	asked map[store.WriteID]bool
	found map[store.WriteID]*sensor.Reading
}

// take takes a row of readingColumns, if it was asked for.
func (w writes) take(row row) error {
	id := store.WriteID{Pipeline: pipeline.ID(row.text(0)), Key: sensor.Key(row.text(1)), Version: row.int(3)}
	if !w.asked[id] {
		return nil
	}
	delete(w.asked, id)
	r, err := readingOf(row)
	if err == nil {
		w.found[id], err = r.give()
	}
	return err
}

// history is a page in the making.
type history struct {
	c     *conn
	q     store.HistoryQuery
	want  int
	found []*reading
}

// follow reads from one write to the one before it. It is not whole if the chain breaks off.
func (h *history) follow(pos int64) (whole bool, err error) {
	for pos > 0 && len(h.found) < h.want {
		there, err := h.c.one(`SELECT pipeline, sensor, period, pos, at, ord, extra, body, iif(?, prev, prev_same) FROM log
			WHERE pos = ? AND body IS NOT NULL`, func(row row) error {
			r, err := readingOf(row)
			h.found, pos = append(h.found, r), row.int(8)
			return err
		}, h.q.Period.IsZero(), pos)
		if err != nil || !there {
			return false, err
		}
	}
	return true, nil
}

// rest adds the readings whose writes are no longer in the log.
func (h *history) rest(before int64) error {
	if len(h.found) > 0 {
		before = h.found[len(h.found)-1].version
	}
	var w where
	w.and("pipeline = ? AND sensor = ? AND version < ?", string(h.q.Pipeline), string(h.q.Key), before)
	if !h.q.Period.IsZero() {
		w.and("slot = ?", store.PeriodKey(h.q.Period))
	}
	return h.c.query(readingColumns+w.text+" ORDER BY version DESC"+upTo, func(row row) error {
		r, err := readingOf(row)
		h.found = append(h.found, r)
		return err
	}, append(w.args, h.want-len(h.found))...)
}
