package sqlite

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

const readingColumns = "SELECT pipeline, sensor, period, version, at, ord, extra, body FROM readings "

// readingOf reads a row of readingColumns.
func readingOf(r row) (*reading, error) {
	out := &reading{
		sensorID: sensorID{pipeline.ID(r.text(0)), sensor.Key(r.text(1))},
		version:  r.int(3), at: r.int(4), order: r.int(5), extra: r.text(6), body: r.text(7),
	}
	return out, out.period.UnmarshalText([]byte(r.text(2)))
}

// storedTip is the most recent write of a key that is in the table.
func storedTip(c *conn, id sensorID) (at tip, err error) {
	_, err = c.one("SELECT version, period FROM readings WHERE pipeline = ? AND sensor = ? AND latest = 1", func(r row) error {
		at.version = r.int(0)
		return at.period.UnmarshalText([]byte(r.text(1)))
	}, string(id.pipeline), string(id.sensor))
	return at, err
}

// storedReading is the reading of one period that is in the table; nil if there is none.
func storedReading(c *conn, id sensorID, p period.Period) (found *reading, err error) {
	_, err = c.one(readingColumns+"WHERE pipeline = ? AND sensor = ? AND slot = ?", func(r row) (err error) {
		found, err = readingOf(r)
		return err
	}, string(id.pipeline), string(id.sensor), store.PeriodKey(p))
	return found, err
}

// Readings answers query by query.
func (s *Store) Readings(ctx context.Context, queries []store.ReadingQuery) ([][]*sensor.Reading, error) {
	answers := make([][]*sensor.Reading, len(queries))
	err := s.read(ctx, func(c *conn) error {
		for i, q := range queries {
			found, err := s.candidates(c, q)
			if err != nil {
				return err
			}
			if answers[i], err = give(found); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read readings: %w", err)
	}
	return answers, nil
}

func give(found []*reading) ([]*sensor.Reading, error) {
	out := make([]*sensor.Reading, 0, len(found))
	for _, r := range found {
		g, err := r.give()
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

const candidateReadings = readingColumns + `WHERE pipeline = ? AND sensor = ? AND slot IN ('', ?, ?, ?)`

const otherReading = readingColumns + `WHERE pipeline = ? AND sensor = ? AND slot NOT IN ('', ?, ?, ?) ORDER BY slot DESC LIMIT 1`

// candidates are the current readings that matter for a period: its own and those of the slices that hold it, the
// undated one, and of all others the one of the latest period.
func (s *Store) candidates(c *conn, q store.ReadingQuery) ([]*reading, error) {
	rows, whole := s.overlay.rowsOf(sensorID{q.Pipeline, q.Key})
	if !whole {
		var slots [3]string
		for i, size := range store.Sizes {
			slots[i] = store.PeriodKey(q.Period.Outer(size))
		}
		for _, query := range []string{candidateReadings, otherReading} {
			if err := c.query(query, func(row row) error {
				r, err := readingOf(row)
				if err == nil && (rows[r.period] == nil || rows[r.period].version < r.version) {
					rows[r.period] = r
				}
				return err
			}, string(q.Pipeline), string(q.Key), slots[0], slots[1], slots[2]); err != nil {
				return nil, err
			}
		}
	}
	return choose(rows, q.Period), nil
}

func choose(rows map[period.Period]*reading, p period.Period) []*reading {
	var found []*reading
	var other *reading
	for of, r := range rows {
		switch {
		case of.IsZero() || of.Holds(p):
			found = append(found, r)
		case other == nil || of.Compare(other.period) > 0:
			other = r
		}
	}
	if other != nil {
		found = append(found, other)
	}
	return found
}

// LatestReadings joins what is in the table and what is not yet.
func (s *Store) LatestReadings(ctx context.Context, q store.LatestQuery) (store.Page[*sensor.Reading], error) {
	var none store.Page[*sensor.Reading]
	after, err := store.AfterSensor(q.Cursor)
	if err != nil {
		return none, err
	}
	var found []*reading
	err = s.read(ctx, func(c *conn) error {
		latest := s.overlay.latestOf(q.Pipeline)
		if err := c.query(readingColumns+"WHERE pipeline = ? AND latest = 1 AND sensor > ? ORDER BY sensor"+upTo, func(row row) error {
			r, err := readingOf(row)
			if err == nil && (latest[r.sensor] == nil || latest[r.sensor].version < r.version) {
				latest[r.sensor] = r
			}
			return err
		}, string(q.Pipeline), string(after), store.PageSize(q.Limit)+1); err != nil {
			return err
		}
		keys, err := q.Keys(slices.Collect(maps.Keys(latest)))
		for _, key := range keys {
			found = append(found, latest[key])
		}
		return err
	})
	if err != nil {
		return none, fmt.Errorf("read readings of %s: %w", q.Pipeline, err)
	}
	readings, err := give(found)
	if err != nil {
		return none, fmt.Errorf("read readings of %s: %w", q.Pipeline, err)
	}
	return q.Page(readings), nil
}

// SensorSizes asks for the length of the stored data, which reads none of it.
func (s *Store) SensorSizes(ctx context.Context, id pipeline.ID) (map[sensor.Key]int, error) {
	sizes := map[sensor.Key]int{}
	err := s.read(ctx, func(c *conn) error {
		held := s.overlay.latestOf(id)
		if err := c.query("SELECT sensor, octet_length(body) FROM readings WHERE pipeline = ? AND latest = 1", func(r row) error {
			sizes[sensor.Key(r.text(0))] = int(r.int(1))
			return nil
		}, string(id)); err != nil {
			return err
		}
		for key, r := range held {
			sizes[key] = len(r.body)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the sizes of readings of %s: %w", id, err)
	}
	return sizes, nil
}
