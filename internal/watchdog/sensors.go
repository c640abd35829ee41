package watchdog

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// missingLookBack is how long after its time-out a missing reading is still told.
const missingLookBack = 7 * 24 * time.Hour

// missingSensors finds completed runs that a post-run sensor should have followed and did not
// (POST_RUN_SENSOR_MISSING, once per run, attempt and key).
func (w *Watchdog) missingSensors(ctx context.Context, p pass) (int, error) {
	var concerned []watched
	longest := time.Duration(0)
	for _, e := range p.entries {
		if e.PostRun != nil && !e.DryRun {
			concerned = append(concerned, e)
			longest = max(longest, e.PostRun.SensorTimeout)
		}
	}
	first := w.followed.begin()
	if len(concerned) == 0 {
		return 0, nil
	}
	var names happened
	var err error
	if names.runs, err = w.overlookRuns(ctx, p.now.Add(-missingLookBack-longest)); err != nil {
		return 0, err
	}
	back := missingLookBack
	if !first {
		back = lookBackTime // the rest was looked at before
	}
	if names.writes, err = w.overlookWrites(ctx, p.now.Add(-back-longest)); err != nil {
		return 0, err
	}
	return each(w.Workers, concerned, func(e watched) (int, error) { return w.missingOf(ctx, e.Entry, p, names) })
}

// missingOf looks at the completed runs of one pipeline.
func (w *Watchdog) missingOf(ctx context.Context, e *catalog.Entry, p pass, names happened) (int, error) {
	latest, err := w.latestRuns(ctx, e.ID, 100, names.runs, func(c completion) bool { return !w.followed.has(judgedBy(e, c.key, c.attempt)) })
	if err != nil {
		return 0, err
	}
	found := 0
	for _, r := range latest {
		due, id := r.EndedAt.Add(e.PostRun.SensorTimeout), judgedBy(e, r.Key, r.Attempt)
		if due.After(p.settled) || w.followed.has(id) {
			continue
		}
		if !due.Before(p.now.Add(-missingLookBack)) {
			n, err := w.missingAfter(ctx, e, r, p.now, names.writes)
			found += n
			if err != nil {
				return found, err
			}
		}
		w.followed.keep(id)
	}
	return found, nil
}

// missingAfter tells of the keys that show nothing written after the run completed.
func (w *Watchdog) missingAfter(ctx context.Context, e *catalog.Entry, r run.Run, now time.Time, named written) (int, error) {
	refs, err := w.unnamed(ctx, e.ID, r, named, e.PostRun.Gate.Refs())
	if err != nil || len(refs) == 0 {
		return 0, err
	}
	queries := make([]store.ReadingQuery, len(refs))
	for i, ref := range refs {
		queries[i] = query(e.ID, ref, r)
	}
	answers, err := w.Store.Readings(ctx, queries)
	if err != nil {
		return 0, fmt.Errorf("read the post-run sensors of %s: %w", r.Key, err)
	}
	found := 0
	for i, ref := range refs {
		if writtenAfter(sensor.ForPeriod(r.Period, answers[i]), r.EndedAt) {
			continue
		}
		told, err := w.tellMissing(ctx, e, r, ref.Key, now)
		if err != nil {
			return found, err
		}
		if told {
			found++
		}
	}
	return found, nil
}

// firstAfter is how many writes that followed a run are looked at for one of its own period.
const firstAfter = 3

// unnamed leaves out the sensors of which an overview names a write that came after the run and is for its very period: rules
// see no other before it.
func (w *Watchdog) unnamed(ctx context.Context, id pipeline.ID, r run.Run, named written, refs []rule.Ref) ([]rule.Ref, error) {
	var ids []store.WriteID
	for _, ref := range refs {
		q := query(id, ref, r)
		all := named[source{q.Pipeline, q.Key}]
		end := slices.IndexFunc(all, func(one writing) bool { return !one.at.After(r.EndedAt) })
		if end < 0 {
			end = len(all)
		}
		for _, one := range all[max(0, end-firstAfter):end] {
			ids = append(ids, store.WriteID{Pipeline: q.Pipeline, Key: q.Key, Version: one.version})
		}
	}
	found, err := w.Store.Writes(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read the post-run sensors of %s: %w", r.Key, err)
	}
	there := map[source]bool{}
	for name, reading := range found {
		if reading.Period == r.Period {
			there[source{name.Pipeline, name.Key}] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(refs), func(ref rule.Ref) bool {
		q := query(id, ref, r)
		return there[source{q.Pipeline, q.Key}]
	}), nil
}

func query(id pipeline.ID, ref rule.Ref, r run.Run) store.ReadingQuery {
	if ref.From != "" {
		id = pipeline.ID(ref.From)
	}
	return store.ReadingQuery{Pipeline: id, Key: ref.Key, Period: r.Period}
}

func writtenAfter(seen sensor.Seen, at time.Time) bool {
	return seen.Reading != nil && seen.Reading.UpdatedAt.After(at)
}

func (w *Watchdog) tellMissing(ctx context.Context, e *catalog.Entry, r run.Run, key sensor.Key, now time.Time) (bool, error) {
	mark := fmt.Sprintf("post-run-missing/%s/%d/%s", r.Key, r.Attempt, key)
	return w.once(ctx, mark, now.Add(2*missingLookBack), now, func(b *store.Batch) {
		about := event.Of(r, now)
		about.Which, about.Critical = string(key), e.SLA.Critical
		b.Emit(event.New(event.PostRunSensorMissing, about,
			fmt.Sprintf("sensor %s has not been written since the run completed at %s", key, r.EndedAt.UTC().Format(time.RFC3339)),
			event.Sensors{Sensors: []string{string(key)}}))
	})
}
