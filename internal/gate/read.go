package gate

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/schedule"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// read returns what each of refs shows, in order, and the versions of all readings that were read.
func (q Question) read(ctx context.Context, r reader, refs []rule.Ref) (rule.Snapshot, []store.ReadVersion, error) {
	upstreams := make(map[int]*upstream)
	var over map[int][]period.Period
	var queries []store.ReadingQuery
	for i, ref := range refs {
		if id, ok := q.upstreamOf(ref); ok {
			upstreams[i] = q.upstream(id)
			continue
		}
		query := store.ReadingQuery{Pipeline: owner(q.Definition.ID, ref), Key: ref.Key, Period: q.Period}
		if ref.Over != (rule.Range{}) {
			if over == nil {
				over = map[int][]period.Period{}
			}
			over[i] = Slices(q.Definition.Schedule, ref.Over, q.Period)
			if n := len(over[i]); n > 0 {
				query.Period, query.Through = over[i][0], over[i][n-1]
			}
		}
		queries = append(queries, query)
	}
	var answers [][]*sensor.Reading
	if len(queries) > 0 {
		var err error
		if answers, err = r.Readings(ctx, queries); err != nil {
			return nil, nil, fmt.Errorf("read sensors: %w", err)
		}
		if len(answers) != len(queries) {
			return nil, nil, fmt.Errorf("read sensors: asked for %d, got %d", len(queries), len(answers))
		}
	}
	if err := readRuns(ctx, r, upstreams); err != nil {
		return nil, nil, err
	}
	versions := versionsOf(queries, answers)
	snapshot := make(rule.Snapshot, len(refs))
	for i, ref := range refs {
		if up, ok := upstreams[i]; ok {
			snapshot[i] = up.seen(q.Period)
			continue
		}
		if ref.Over != (rule.Range{}) {
			snapshot[i] = sensor.Seen{For: q.Period, Over: sensor.ForSlices(over[i], answers[0])}
			if len(over[i]) == 0 {
				snapshot[i].Note = "the calendar excludes all of them"
			}
		} else {
			snapshot[i] = q.shows(ref, answers[0])
		}
		answers = answers[1:]
	}
	return snapshot, versions, nil
}

// Slices lists the periods that a rule over a range is evaluated for, for a run of p.
func Slices(on *schedule.Schedule, r rule.Range, p period.Period) []period.Period {
	if r.Last > 0 {
		return on.LastSlices(p, r.Size, r.Last)
	}
	return on.SlicesIn(p, r.Size)
}

// versionsOf lists the versions of the readings in answers.
func versionsOf(queries []store.ReadingQuery, answers [][]*sensor.Reading) []store.ReadVersion {
	var all []store.ReadVersion
	for i, q := range queries {
		for _, r := range answers[i] {
			if r != nil {
				all = append(all, store.ReadVersion{Pipeline: q.Pipeline, Key: q.Key, Period: r.Period, Version: r.Version})
			}
		}
	}
	return all
}

// shows picks the reading that counts.
func (q Question) shows(ref rule.Ref, latest []*sensor.Reading) sensor.Seen {
	switch {
	case !ref.Start:
		return sensor.ForPeriod(q.Period, latest)
	case q.Definition.Opens == pipeline.ByCron:
		return sensor.ForStart(q.Period, q.since(), latest)
	default:
		return q.opened(latest)
	}
}

// since returns the start of the period that contains the fire: an undated start condition must not
// be older.
func (q Question) since() time.Time {
	on := q.Definition.Schedule
	fire := on.FireFor(q.Period)
	if fire.IsZero() { // a manually opened period
		return q.Period.Start(on.Zone())
	}
	return on.SliceStart(fire)
}

// opened evaluates a start condition without cron: an undated reading belongs to the period in
// which it was written.
func (q Question) opened(latest []*sensor.Reading) sensor.Seen {
	counting := make([]*sensor.Reading, 0, len(latest))
	note := ""
	for _, r := range latest {
		if r != nil && !r.Deleted && r.Period.IsZero() {
			if p := q.Definition.Schedule.PeriodAt(r.UpdatedAt); p != q.Period {
				note = fmt.Sprintf("written %s without a date, so it belongs to %s", period.Stamp(r.UpdatedAt), p)
				continue
			}
		}
		counting = append(counting, r)
	}
	seen := sensor.ForPeriod(q.Period, counting)
	if seen.Reading == nil {
		seen.Note = note
	}
	return seen
}
