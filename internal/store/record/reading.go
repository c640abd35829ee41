package record

import (
	"context"
	"fmt"
	"slices"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// Readings reads the latest periods of each key, and older relevant ones by key. It reads one more
// than can be for periods that contain the period of the query, so that one of another is among
// them, if there is one.
func (s *Store) Readings(ctx context.Context, queries []store.ReadingQuery) ([][]*sensor.Reading, error) {
	ranges := make([]row.Range, len(queries))
	for i, q := range queries {
		ranges[i] = row.Range{
			Kind: Readings, Part: string(q.Pipeline), From: join(string(q.Key), ""), To: bound(string(q.Key)),
			Backwards: true, Limit: len(outer(q.Period)) + 1,
		}
		if !q.Through.IsZero() {
			ranges[i] = through(q)
		}
	}
	pages, err := s.engine.Scan(ctx, ranges)
	if err != nil {
		return nil, fmt.Errorf("read readings: %w", err)
	}
	answers := make([][]*sensor.Reading, len(queries))
	var older []row.Ref
	var of []int // index of the query of each older
	for i, page := range pages {
		choose := answer
		if !queries[i].Through.IsZero() {
			choose = answerAll
			if page.Rows, err = s.rest(ctx, ranges[i], page); err != nil {
				return nil, fmt.Errorf("read readings: %w", err)
			}
		}
		refs, err := choose(queries[i], page, &answers[i])
		if err != nil {
			return nil, fmt.Errorf("read readings: %w", err)
		}
		for _, ref := range refs {
			older, of = append(older, ref), append(of, i)
		}
	}
	if len(older) == 0 {
		return answers, nil
	}
	rows, err := s.engine.Get(ctx, older)
	if err != nil {
		return nil, fmt.Errorf("read readings: %w", err)
	}
	for i, r := range rows {
		if r.Version == 0 {
			continue
		}
		found, err := sensorOf(r)
		if err != nil {
			return nil, err
		}
		answers[of[i]] = append(answers[of[i]], found)
	}
	return answers, nil
}

// answer adds the latest readings that are relevant to a query, and returns the refs of older ones
// that may be.
func answer(q store.ReadingQuery, page row.Page, to *[]*sensor.Reading) (older []row.Ref, err error) {
	seen, other := map[period.Period]bool{}, false
	for _, r := range page.Rows {
		found, err := sensorOf(r)
		if err != nil {
			return nil, err
		}
		matters := found.Period.IsZero() || found.Period.Holds(q.Period)
		if matters || !other {
			*to = append(*to, found)
		}
		seen[found.Period] = true
		other = other || !matters
	}
	if !page.More {
		return nil, nil
	}
	for _, p := range append([]period.Period{{}}, outer(q.Period)...) {
		if !seen[p] {
			seen[p] = true
			older = append(older, refReading(q.Pipeline, q.Key, p))
		}
	}
	return older, nil
}

// through returns the range of readings for the periods from q.Period to q.Through.
func through(q store.ReadingQuery) row.Range {
	return row.Range{
		Kind: Readings, Part: string(q.Pipeline), Limit: store.MaxPage,
		From: join(string(q.Key), store.Place(q.Period)), To: next(join(string(q.Key), store.Place(q.Through))),
	}
}

// rest returns all rows of a range whose first page has been read.
func (s *Store) rest(ctx context.Context, r row.Range, page row.Page) ([]row.Row, error) {
	rows := page.Rows
	if !page.More || len(rows) == 0 {
		return rows, nil
	}
	more, err := s.all(ctx, after(r, rows[len(rows)-1]))
	return append(rows, more...), err
}

// answerAll adds all readings of a range of periods, and returns the refs of longer periods that
// contain its ends. A longer period that lies inside the range is found in the range itself.
func answerAll(q store.ReadingQuery, page row.Page, to *[]*sensor.Reading) (older []row.Ref, err error) {
	seen := map[period.Period]bool{}
	for _, r := range page.Rows {
		found, err := sensorOf(r)
		if err != nil {
			return nil, err
		}
		*to = append(*to, found)
		seen[found.Period] = true
	}
	for _, p := range append(outer(q.Period), outer(q.Through)...) {
		if !seen[p] {
			seen[p] = true
			older = append(older, refReading(q.Pipeline, q.Key, p))
		}
	}
	return older, nil
}

// outer returns the period and the longer periods that contain it.
func outer(p period.Period) (all []period.Period) {
	for _, size := range period.Sizes() {
		if o := p.Outer(size); !o.IsZero() {
			all = append(all, o)
		}
	}
	return all
}

// ofKey is the history of a key, newest first.
func ofKey(id pipeline.ID, key sensor.Key) row.Range {
	return row.Range{
		Kind: History, Part: string(id), From: join(string(key), ""), To: bound(string(key)), Backwards: true,
	}
}

// LatestReadings reads the newest write of each key.
func (s *Store) LatestReadings(ctx context.Context, q store.LatestQuery) (page store.Page[*sensor.Reading], err error) {
	size := store.PageSize(q.Limit)
	keys := row.Range{Kind: Sensors, Part: string(q.Pipeline), Limit: size + 1}
	if q.Cursor != "" {
		if sensor.Key(q.Cursor).Check() != nil {
			return page, store.ErrCursor
		}
		keys.From = next(q.Cursor)
	}
	var found []*sensor.Reading
	for {
		listed, err := s.scan(ctx, keys)
		if err != nil {
			return page, fmt.Errorf("read readings of %s: %w", q.Pipeline, err)
		}
		rows, err := s.newest(ctx, refsOf(listed.Rows))
		if err != nil {
			return page, fmt.Errorf("read readings of %s: %w", q.Pipeline, err)
		}
		some, err := readRows(rows, sensorOf)
		if err != nil {
			return page, fmt.Errorf("read readings of %s: %w", q.Pipeline, err)
		}
		if found = append(found, some...); len(found) > size {
			return store.Page[*sensor.Reading]{Items: found[:size:size], Next: store.SensorCursor(found[size-1])}, nil
		}
		if !listed.More || len(listed.Rows) == 0 {
			return store.Page[*sensor.Reading]{Items: found}, nil
		}
		keys = after(keys, listed.Rows[len(listed.Rows)-1])
	}
}

// newest reads the newest write of each key, as refSensor names it. Keys without writes are left
// out.
func (s *Store) newest(ctx context.Context, keys []row.Ref) (found []row.Row, err error) {
	ranges := make([]row.Range, len(keys))
	for i, k := range keys {
		ranges[i] = ofKey(pipeline.ID(k.Part), sensor.Key(k.Key))
		ranges[i].Limit = 1
	}
	pages, err := s.engine.Scan(ctx, ranges)
	for _, page := range pages {
		found = append(found, page.Rows...)
	}
	return found, err
}

func refsOf(rows []row.Row) []row.Ref {
	refs := make([]row.Ref, len(rows))
	for i, r := range rows {
		refs[i] = r.Ref
	}
	return refs
}

// SensorSizes reads the newest write of each key.
func (s *Store) SensorSizes(ctx context.Context, id pipeline.ID) (map[sensor.Key]int, error) {
	keys, err := s.all(ctx, row.Range{Kind: Sensors, Part: string(id)})
	if err != nil {
		return nil, fmt.Errorf("read the sizes of the sensors of %s: %w", id, err)
	}
	sizes := map[sensor.Key]int{}
	for some := range slices.Chunk(refsOf(keys), store.DefaultPage) {
		rows, err := s.newest(ctx, some)
		if err != nil {
			return nil, fmt.Errorf("read the sizes of the sensors of %s: %w", id, err)
		}
		found, err := readRows(rows, readingOf)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			sizes[r.Key] = len(r.Data)
		}
	}
	return sizes, nil
}

// History reads the writes of a key.
func (s *Store) History(ctx context.Context, q store.HistoryQuery) (store.Page[*sensor.Reading], error) {
	before, err := store.AfterNumber(q.Cursor)
	if err != nil {
		return store.Page[*sensor.Reading]{}, err
	}
	r := ofKey(q.Pipeline, q.Key)
	if before > 0 {
		r.To = join(string(q.Key), row.Digits(before))
	}
	wanted := func(r *sensor.Reading) bool { return q.Period.IsZero() || r.Period == q.Period }
	page, err := list(ctx, s, r, q.Limit, sensorOf, wanted, func(r *sensor.Reading) string {
		return store.NumberCursor(r.Version)
	})
	return page, wrap(err, "read history of %s of %s", q.Key, q.Pipeline)
}

// Writes reads all of them in one call.
func (s *Store) Writes(ctx context.Context, ids []store.WriteID) (map[store.WriteID]*sensor.Reading, error) {
	found, err := getAll(ctx, s, ids, func(id store.WriteID) row.Ref { return refWrite(id.Pipeline, id.Key, id.Version) }, sensorOf)
	return found, wrap(err, "read writes")
}
