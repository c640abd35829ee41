package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/store"
)

// put is one call of PutReadings on its way to the writer.
type put struct {
	writes []reading
	puts   []store.Put
}

// PutReadings writes the JSON on the caller's goroutine; the writer only compares and appends.
func (s *Store) PutReadings(ctx context.Context, writes []store.Write, now time.Time) ([]store.Put, error) {
	if err := store.CheckWrites(writes, store.MaxWrites); err != nil {
		return nil, err
	}
	if len(writes) == 0 {
		return nil, s.open()
	}
	p := &put{writes: make([]reading, len(writes)), puts: make([]store.Put, len(writes))}
	for i, w := range writes {
		body, err := encodeFields(w.Reading.Fields)
		if err != nil {
			return nil, fmt.Errorf("put reading %s of %s: %w", w.Reading.Key, w.Pipeline, err)
		}
		extra, err := encodeExtra(w.Reading)
		if err != nil {
			return nil, fmt.Errorf("put reading %s of %s: %w", w.Reading.Key, w.Pipeline, err)
		}
		p.writes[i] = reading{
			sensorID: sensorID{w.Pipeline, w.Reading.Key}, period: w.Reading.Period,
			at: nanos(now), order: w.Order, extra: extra, body: body,
		}
	}
	if err := s.write(ctx, p); err != nil {
		return nil, fmt.Errorf("put readings: %w", err)
	}
	return p.puts, nil
}

const insertReading = `INSERT INTO log (pos, kind, at, pipeline, sensor, period, prev, prev_same, ord, extra, body)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

func (p *put) do(tx *tx) error {
	if err := tx.w.overfull(); err != nil {
		return err
	}
	for i := range p.writes {
		r := p.writes[i] // a copy: the call may be made again, alone, if others spoil the transaction
		answer, err := tx.put(&r)
		if err != nil {
			return err
		}
		p.puts[i] = answer
	}
	return nil
}

func (tx *tx) put(r *reading) (store.Put, error) {
	prev, err := tx.tip(r.sensorID)
	if err != nil {
		return store.Put{}, err
	}
	old, err := tx.current(r.sensorID, r.period, prev)
	if err != nil {
		return store.Put{}, err
	}
	r.prev, r.changed = prev, true
	if old != nil {
		if r.order != 0 && r.order <= old.order {
			return store.Put{Version: old.version, UpdatedAt: fromNanos(old.at), Ignored: true}, nil
		}
		if r.order == 0 {
			r.order = old.order
		}
		r.prevSame, r.changed = old.version, old.body != r.body
	}
	tx.pos++
	r.version = tx.pos
	tx.told = append(tx.told, store.Change{
		Position: store.Position(r.version), Kind: store.ReadingWritten, At: fromNanos(r.at), Pipeline: r.pipeline, Version: r.version,
		Sensor: r.sensor, Period: r.period, Changed: r.changed,
	})
	tx.puts, tx.tips[r.sensorID], tx.rows[rowID{r.sensorID, r.period}] = append(tx.puts, r), r.tip(), r
	err = tx.exec(insertReading, r.version, r.kind(), r.at, string(r.pipeline), string(r.sensor), r.period.String(),
		r.prev.version, r.prevSame, r.order, nullable(r.extra), r.body)
	return store.Put{Version: r.version, UpdatedAt: fromNanos(r.at), Changed: r.changed}, err
}

func (r *reading) kind() int64 {
	if r.changed {
		return kindChanged
	}
	return kindSame
}

// tip is the most recent write of a key, this transaction's included.
func (tx *tx) tip(id sensorID) (tip, error) {
	if at, here := tx.tips[id]; here {
		return at, nil
	}
	for _, g := range tx.w.overlay.generations() {
		if g != nil && g.keys[id] != nil {
			return g.keys[id].tip, nil
		}
	}
	return storedTip(tx.conn, id)
}

// current is the reading that a write to that period would replace; nil if there is none. The key's last write was at.
func (tx *tx) current(id sensorID, p period.Period, at tip) (*reading, error) {
	if at.version == 0 {
		return nil, nil
	}
	if r := tx.rows[rowID{id, p}]; r != nil {
		return r, nil
	}
	for _, g := range tx.w.overlay.generations() {
		if g == nil || g.keys[id] == nil {
			continue
		}
		if r := g.keys[id].rows[p]; r != nil {
			return r, nil
		}
		if g.keys[id].base.version == 0 {
			return nil, nil // everything that was ever written under the key is here
		}
	}
	return storedReading(tx.conn, id, p)
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}
