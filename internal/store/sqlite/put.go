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
		body, err := encodeData(w.Reading)
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
	prev, old, err := tx.before(r.sensorID, r.period)
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

// before is what a write to that period comes after: the most recent write of the key, and the reading that it replaces, nil if
// there is none. This transaction's writes are included.
func (tx *tx) before(id sensorID, p period.Period) (last tip, old *reading, err error) {
	last, known := tx.tips[id]
	if known {
		if r := tx.rows[rowID{id, p}]; r != nil {
			return last, r, nil
		}
	}
	for _, g := range tx.w.overlay.generations() {
		if g == nil || g.keys[id] == nil {
			continue
		}
		k := g.keys[id]
		if !known {
			last, known = k.tip, true
		}
		if r := k.rows[p]; r != nil || k.base.version == 0 { // or everything that was ever written under the key is here
			return last, r, nil
		}
	}
	if !known {
		if last, err = storedTip(tx.conn, id); err != nil || last.version == 0 {
			return last, nil, err
		}
	}
	old, err = storedReading(tx.conn, id, p)
	return last, old, err
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}
