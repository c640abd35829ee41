package dynamo

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// newest is how many readings of a key are read at first. Few keys have more, and of the latest four at most three are of
// slices that hold the period.
const newest = 6

// Readings asks for the latest periods of each key, and then for those that matter and are older.
func (s *Store) Readings(ctx context.Context, queries []store.ReadingQuery) ([][]*sensor.Reading, error) {
	answers := make([][]*sensor.Reading, len(queries))
	known := map[store.ReadingQuery][]*sensor.Reading{}
	for i, q := range queries {
		of, ok := known[q]
		if !ok {
			var err error
			if of, err = s.readings(ctx, q); err != nil {
				return nil, fmt.Errorf("read readings %s of %s: %w", q.Key, q.Pipeline, err)
			}
			known[q] = of
		}
		for _, r := range of {
			own := *r
			answers[i] = append(answers[i], &own)
		}
	}
	return answers, s.open()
}

func (s *Store) readings(ctx context.Context, q store.ReadingQuery) ([]*sensor.Reading, error) {
	prefix := readingPrefix + string(q.Key) + "#"
	of := span{table: Control, index: ordered, hash: partition(q.Pipeline), low: prefix, high: prefix + last, backwards: true}
	rows, more, err := s.query(ctx, of, newest)
	if err != nil {
		return nil, err
	}
	matter := map[period.Period]*sensor.Reading{}
	var other *sensor.Reading
	for _, row := range rows {
		r, err := readingOf(row)
		if err != nil {
			return nil, err
		}
		if r.Period.IsZero() || r.Period.Holds(q.Period) {
			matter[r.Period] = &r.Reading
		} else if other == nil {
			other = &r.Reading
		}
	}
	if more {
		if err := s.older(ctx, q, matter); err != nil {
			return nil, err
		}
	}
	out := slices.Collect(maps.Values(matter))
	if other != nil {
		out = append(out, other)
	}
	return out, nil
}

// older adds those that matter by their name.
func (s *Store) older(ctx context.Context, q store.ReadingQuery, matter map[period.Period]*sensor.Reading) error {
	at := []address{readingAt(q.Pipeline, q.Key, period.Period{})}
	for _, size := range store.Sizes {
		if outer := q.Period.Outer(size); !outer.IsZero() {
			at = append(at, readingAt(q.Pipeline, q.Key, outer))
		}
	}
	rows, err := s.rows(ctx, at)
	if err != nil {
		return err
	}
	for _, row := range rows {
		r, err := readingOf(row)
		if err != nil {
			return err
		}
		matter[r.Period] = &r.Reading
	}
	return nil
}

// LatestReadings reads the current readings, which lie in the order of their keys, until it has enough keys.
func (s *Store) LatestReadings(ctx context.Context, q store.LatestQuery) (store.Page[*sensor.Reading], error) {
	var none store.Page[*sensor.Reading]
	after, err := store.AfterSensor(q.Cursor)
	if err != nil {
		return none, err
	}
	of := under(Control, partition(q.Pipeline), readingPrefix)
	if after != "" {
		of.low = readingPrefix + string(after) + "#" + last
	}
	var found []*sensor.Reading
	for more := true; more && len(found) < store.PageSize(q.Limit)+2; { // the last key may go on
		var rows []Row
		if rows, more, err = s.query(ctx, of, store.DefaultPage); err != nil {
			return none, fmt.Errorf("read readings of %s: %w", q.Pipeline, err)
		}
		for _, row := range rows {
			r, err := readingOf(row)
			if err != nil {
				return none, fmt.Errorf("read readings of %s: %w", q.Pipeline, err)
			}
			if n := len(found); n == 0 || found[n-1].Key != r.Key {
				found = append(found, &r.Reading)
			} else if found[n-1].Version < r.Version {
				found[n-1] = &r.Reading
			}
			of.low = readingAt(q.Pipeline, r.Key, r.Period).sk + " "
		}
	}
	return q.Page(found), nil
}

// SensorSizes reads the latest readings: a table does not tell sizes.
func (s *Store) SensorSizes(ctx context.Context, id pipeline.ID) (map[sensor.Key]int, error) {
	sizes := map[sensor.Key]int{}
	for q := (store.LatestQuery{Pipeline: id}); ; {
		page, err := s.LatestReadings(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Items {
			data, err := json.Marshal(r.Fields)
			if err != nil {
				return nil, fmt.Errorf("read the size of %s of %s: %w", r.Key, id, err)
			}
			sizes[r.Key] = len(data)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return sizes, nil
		}
	}
}

// History pages by version.
func (s *Store) History(ctx context.Context, q store.HistoryQuery) (store.Page[*sensor.Reading], error) {
	before, err := numberCursor(q.Cursor)
	if err != nil {
		return store.Page[*sensor.Reading]{}, err
	}
	page, err := store.PageOf(q.Limit, before, func(before string, limit int) ([]*sensor.Reading, string, error) {
		return s.historyPiece(ctx, q, before, limit)
	}, func(r *sensor.Reading) bool { return q.Period.IsZero() || r.Period == q.Period }, func(r *sensor.Reading) string {
		return store.NumberCursor(r.Version)
	})
	if err != nil {
		return page, fmt.Errorf("read history of %s of %s: %w", q.Key, q.Pipeline, err)
	}
	return page, nil
}

func (s *Store) historyPiece(ctx context.Context, q store.HistoryQuery, before string, limit int) (found []*sensor.Reading, end string, err error) {
	of := under(Control, partition(q.Pipeline), historyPrefix+string(q.Key)+"#")
	of.backwards = true
	if before != "" {
		n, err := strconv.ParseInt(before, 10, 64)
		if err != nil {
			return nil, "", err
		}
		of.high = of.low + digits(n-1)
	}
	rows, _, err := s.query(ctx, of, limit)
	if err != nil {
		return nil, "", err
	}
	for _, row := range rows {
		r, err := readingOf(row)
		if err != nil {
			return nil, "", err
		}
		found, end = append(found, &r.Reading), strconv.FormatInt(r.Version, 10)
	}
	return found, end, nil
}

// Writes looks all of them up.
func (s *Store) Writes(ctx context.Context, ids []store.WriteID) (map[store.WriteID]*sensor.Reading, error) {
	var at []address
	for _, id := range ids {
		at = append(at, historyAt(id.Pipeline, id.Key, id.Version))
	}
	rows, err := s.rows(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("read writes: %w", err)
	}
	found := map[store.WriteID]*sensor.Reading{}
	for i, id := range ids {
		row := rows[at[i]]
		if row == nil {
			continue
		}
		r, err := readingOf(row)
		if err != nil {
			return nil, fmt.Errorf("read writes: %w", err)
		}
		found[id] = &r.Reading
	}
	return found, nil
}

// numberCursor reads a cursor of one number; "" if there is none.
func numberCursor(cursor string) (string, error) {
	n, err := store.AfterNumber(cursor)
	if err != nil || n == 0 {
		return "", err
	}
	return strconv.FormatInt(n, 10), nil
}
