package watchdog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// lookBackReadings is how many of the latest writes of a start condition are looked at.
const lookBackReadings = 50

// unopenedRuns finds writes that met a start condition and have no run: the change was lost. The write is reacted to as
// if it came now; a run that opens is told as TRIGGER_RECOVERED.
func (w *Watchdog) unopenedRuns(ctx context.Context, p pass) (int, error) {
	found := 0
	for _, e := range p.entries {
		if e.Start == nil || e.Opens != pipeline.ByStream || e.DryRun || p.paused(e.ID) {
			continue
		}
		n, err := w.recover(ctx, e, p)
		found += n
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

func (w *Watchdog) recover(ctx context.Context, e *catalog.Entry, p pass) (int, error) {
	owner, key := e.ID, sensor.Key(e.Start.Rule.Key)
	if e.Start.Rule.From != "" {
		owner = pipeline.ID(e.Start.Rule.From)
	}
	page, err := w.Store.History(ctx, store.HistoryQuery{Pipeline: owner, Key: key, Limit: lookBackReadings})
	if err != nil {
		return 0, fmt.Errorf("read history of sensor %s of %s: %w", key, owner, err)
	}
	found := 0
	for _, reading := range page.Items {
		if reading.UpdatedAt.After(p.settled) || reading.UpdatedAt.Before(p.now.Add(-lookBackTime)) {
			continue
		}
		recovered, err := w.recoverOne(ctx, e, owner, reading, p.now)
		if err != nil {
			return found, err
		}
		if recovered {
			found++
		}
	}
	return found, nil
}

// lookBackTime is how old a write may be that is still reacted to.
const lookBackTime = 24 * time.Hour

// recoverOne reacts to a write whose run is not there.
func (w *Watchdog) recoverOne(ctx context.Context, e *catalog.Entry, owner pipeline.ID, reading *sensor.Reading, now time.Time) (bool, error) {
	slice := reading.Period
	if slice.IsZero() {
		slice = e.Schedule.PeriodAt(reading.UpdatedAt)
	}
	key := run.Key{Pipeline: e.ID, Schedule: e.Opens, Period: slice}
	if there, err := w.exists(ctx, key); there || err != nil {
		return false, err
	}
	change := store.Change{
		Kind: store.ReadingWritten, At: reading.UpdatedAt, Pipeline: owner,
		Sensor: reading.Key, Period: reading.Period, Version: reading.Version, Changed: true,
	}
	if err := w.Router.Handle(ctx, change, now); err != nil {
		return false, err
	}
	if there, err := w.exists(ctx, key); !there || err != nil {
		return false, err // the condition does not hold, or the calendar is against it
	}
	mark := "recovered/" + key.String()
	return w.once(ctx, mark, now.Add(lookBackTime*2), now, func(b *store.Batch) {
		about := event.About{Pipeline: e.ID, Schedule: e.Opens, Date: slice, Attempt: 1, At: now, Critical: e.SLA.Critical}
		b.Emit(event.New(event.TriggerRecovered, about,
			fmt.Sprintf("sensor %s met the start condition at %s and no run was opened; it is open now", reading.Key, reading.UpdatedAt.UTC().Format(time.RFC3339)), nil))
	})
}

func (w *Watchdog) exists(ctx context.Context, key run.Key) (bool, error) {
	_, err := w.Store.Run(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
