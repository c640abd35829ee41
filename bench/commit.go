package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/sqlite"
)

// commits measures n durable commits, one every interval, on a new store in dir: each opens a run
// with its event and its task. With every = 0, each follows right after the one before.
func commits(dir string, n int, every time.Duration) ([]time.Duration, error) {
	db, err := sqlite.Open(context.Background(), dir, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var took []time.Duration
	for i := range n {
		b := opening(fmt.Sprintf("pipeline-%d", i))
		began := time.Now()
		if err := db.Commit(context.Background(), b, began); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
		time.Sleep(time.Until(began.Add(every)))
	}
	return took, nil
}

func opening(id string) store.Batch {
	now := time.Now().UTC()
	key := run.Key{Pipeline: pipeline.ID(id), Schedule: pipeline.ByCron, Period: period.At(now, period.Day, time.UTC)}
	b := store.Batch{ID: "open/" + key.String()}
	b.Create(run.Run{Key: key, Version: 1, Status: run.Pending, Attempt: 1, OpenedAt: now, UpdatedAt: now})
	about := event.About{Pipeline: key.Pipeline, Schedule: key.Schedule, Date: key.Period, Attempt: 1, At: now}
	b.Emit(event.New(event.TriggerStarted, about, "opened", nil))
	b.Schedule(store.Task{ID: "advance/" + key.String(), Kind: store.Advance, Pipeline: key.Pipeline, Key: key, Due: now})
	return b
}

// quantile returns the q-quantile of all.
func quantile(all []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
