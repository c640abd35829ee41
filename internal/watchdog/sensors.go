package watchdog

import (
	"context"
	"fmt"
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
	return w.each(p, func(e watched) (int, error) {
		if e.PostRun == nil || e.DryRun {
			return 0, nil
		}
		return w.missingOf(ctx, e.Entry, p)
	})
}

// missingOf looks at the completed runs of one pipeline.
func (w *Watchdog) missingOf(ctx context.Context, e *catalog.Entry, p pass) (int, error) {
	page, err := w.Store.Runs(ctx, store.RunQuery{Pipeline: e.ID, Status: run.Completed, Limit: 100})
	if err != nil {
		return 0, fmt.Errorf("list completed runs of %s: %w", e.ID, err)
	}
	found := 0
	for _, r := range page.Items {
		due := r.EndedAt.Add(e.PostRun.SensorTimeout)
		if due.After(p.settled) || due.Before(p.now.Add(-missingLookBack)) {
			continue
		}
		n, err := w.missingAfter(ctx, e, r, p.now)
		found += n
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// missingAfter tells of the keys that show nothing written after the run completed.
func (w *Watchdog) missingAfter(ctx context.Context, e *catalog.Entry, r run.Run, now time.Time) (int, error) {
	refs := e.PostRun.Gate.Refs()
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
