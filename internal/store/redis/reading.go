package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// Readings asks one script for all of them, so that the answers belong together.
func (s *Store) Readings(ctx context.Context, queries []store.ReadingQuery) ([][]*sensor.Reading, error) {
	var a arguments
	a.number(len(queries))
	for _, q := range queries {
		a.add(sensorName(q.Pipeline, q.Key))
		holding := []string{""} // the undated one
		for _, size := range store.Sizes {
			if outer := q.Period.Outer(size); !outer.IsZero() && !slices.Contains(holding, outer.String()) {
				holding = append(holding, outer.String())
			}
		}
		a.number(len(holding))
		a.add(holding...)
	}
	answer, err := s.run(ctx, readingsScript, a)
	if err != nil {
		return nil, fmt.Errorf("read readings: %w", err)
	}
	list, err := asList(answer)
	if err != nil {
		return nil, fmt.Errorf("read readings: %w", err)
	}
	answers := make([][]*sensor.Reading, len(queries))
	for i, item := range list {
		if answers[i], err = asReadings(queries[i].Key, item); err != nil {
			return nil, fmt.Errorf("read readings: %w", err)
		}
	}
	return answers, nil
}

// asReadings reads pairs of period and value.
func asReadings(key sensor.Key, answer any) ([]*sensor.Reading, error) {
	said, err := asTexts(answer)
	if err != nil {
		return nil, err
	}
	var out []*sensor.Reading
	for pair := range slices.Chunk(said, 2) {
		r, err := currentReading(key, pair[0], pair[1])
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// currentReading reads a value as put.lua writes it.
func currentReading(key sensor.Key, of, value string) (*sensor.Reading, error) {
	parts := strings.SplitN(value, "\n", 5)
	if len(parts) != 5 {
		return nil, fmt.Errorf("the stored reading %s of period %q has %d parts, want 5", key, of, len(parts))
	}
	return reading(key, of, parts[0], parts[2], parts[3], parts[4])
}

func reading(key sensor.Key, of, version, at, more, data string) (*sensor.Reading, error) {
	r := &sensor.Reading{Key: key}
	var wrong [5]error
	wrong[0] = r.Period.UnmarshalText([]byte(of))
	r.Version, wrong[1] = strconv.ParseInt(version, 10, 64)
	r.UpdatedAt, wrong[2] = store.FromNanos(at)
	wrong[3] = store.DecodeData(r, []byte(data))
	var e extra
	e, wrong[4] = decode[extra](more)
	r.Source, r.ExpiresAt = e.Source, e.ExpiresAt
	if err := errors.Join(wrong[:]...); err != nil {
		return nil, fmt.Errorf("read stored reading %s: %w", key, err)
	}
	return r, nil
}

// LatestReadings reads the names of all keys of the pipeline, and the readings of those on the page.
func (s *Store) LatestReadings(ctx context.Context, q store.LatestQuery) (store.Page[*sensor.Reading], error) {
	var none store.Page[*sensor.Reading]
	names, err := s.client.HKeys(ctx, s.key("sensors", string(q.Pipeline))).Result()
	if err != nil {
		return none, fmt.Errorf("read readings of %s: %w", q.Pipeline, s.fault(err))
	}
	keys := make([]sensor.Key, len(names))
	for i, name := range names {
		keys[i] = sensor.Key(name)
	}
	if keys, err = q.Keys(keys); err != nil {
		return none, err
	}
	var a arguments
	a.add(string(q.Pipeline), escape(string(q.Pipeline)))
	for _, key := range keys {
		a.add(string(key))
	}
	said, err := s.texts(ctx, latestScript, a)
	if err != nil {
		return none, fmt.Errorf("read readings of %s: %w", q.Pipeline, err)
	}
	var found []*sensor.Reading
	for triple := range slices.Chunk(said, 3) {
		r, err := currentReading(sensor.Key(triple[0]), triple[1], triple[2])
		if err != nil {
			return none, err
		}
		found = append(found, r)
	}
	return q.Page(found), nil
}

// SensorSizes asks for the lengths of the stored values, which hold a little more than the data.
func (s *Store) SensorSizes(ctx context.Context, id pipeline.ID) (map[sensor.Key]int, error) {
	var a arguments
	a.add(string(id), escape(string(id)))
	said, err := s.texts(ctx, sizesScript, a)
	if err != nil {
		return nil, fmt.Errorf("read the sizes of readings of %s: %w", id, err)
	}
	sizes := map[sensor.Key]int{}
	for pair := range slices.Chunk(said, 2) {
		if sizes[sensor.Key(pair[0])], err = strconv.Atoi(pair[1]); err != nil {
			return nil, fmt.Errorf("read the size of %s of %s: %w", pair[0], id, err)
		}
	}
	return sizes, nil
}

// History pages by version, which is the id of an entry.
func (s *Store) History(ctx context.Context, q store.HistoryQuery) (store.Page[*sensor.Reading], error) {
	before, err := streamCursor(q.Cursor)
	if err != nil {
		return store.Page[*sensor.Reading]{}, err
	}
	page, err := store.PageOf(q.Limit, before, func(from string, limit int) ([]*sensor.Reading, string, error) {
		return s.historyPiece(ctx, q, from, limit)
	}, func(r *sensor.Reading) bool { return q.Period.IsZero() || r.Period == q.Period }, func(r *sensor.Reading) string {
		return store.NumberCursor(r.Version)
	})
	if err != nil {
		return page, fmt.Errorf("read history of %s of %s: %w", q.Key, q.Pipeline, err)
	}
	return page, nil
}

func (s *Store) historyPiece(ctx context.Context, q store.HistoryQuery, from string, limit int) (found []*sensor.Reading, last string, err error) {
	if err := s.open(); err != nil {
		return nil, "", err
	}
	if from == "" {
		from = "+"
	} else {
		from = "(" + from
	}
	entries, err := s.client.XRevRangeN(ctx, s.key("history", sensorName(q.Pipeline, q.Key)), from, "-", int64(limit)).Result()
	if err != nil {
		return nil, "", s.fault(err)
	}
	for _, e := range entries {
		r, err := writtenReading(q.Key, e)
		if err != nil {
			return nil, "", err
		}
		found, last = append(found, r), e.ID
	}
	return found, last, nil
}

// writtenReading reads an entry of a history.
func writtenReading(key sensor.Key, e redis.XMessage) (*sensor.Reading, error) {
	return reading(key, text(e, "period"), idNumber(e.ID), text(e, "at"), text(e, "extra"), text(e, "data"))
}

// Writes looks all of them up in one go.
func (s *Store) Writes(ctx context.Context, ids []store.WriteID) (map[store.WriteID]*sensor.Reading, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	answers := make([]*redis.XMessageSliceCmd, len(ids))
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, id := range ids {
			at := strconv.FormatInt(id.Version, 10)
			answers[i] = p.XRange(ctx, s.key("history", sensorName(id.Pipeline, id.Key)), at, at)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read writes: %w", s.fault(err))
	}
	found := map[store.WriteID]*sensor.Reading{}
	for i, answer := range answers {
		for _, e := range answer.Val() {
			if found[ids[i]], err = writtenReading(ids[i].Key, e); err != nil {
				return nil, fmt.Errorf("read writes: %w", err)
			}
		}
	}
	return found, nil
}
