package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

const (
	laneHours = 48
	hourly    = 25 // of lanes of days, each so-manieth has a run per hour
	atOnce    = 32 // commits, which then share what makes them durable
)

// lane is the past of one pipeline: so many periods of one size.
type lane struct {
	id    pipeline.ID
	size  period.Size
	count int
}

// writeLanes writes so many pipelines with a run and a deadline for each of the last 48 hours or,
// if days is not 0, of the last days; then some of them have one for each hour.
func writeLanes(ctx context.Context, s store.Store, count, days int, now time.Time) error {
	var lanes []lane
	for i := 1; i <= count; i++ {
		l := lane{pipeline.ID(fmt.Sprintf("lane%d", i)), period.Hour, laneHours}
		switch {
		case days > 0 && i%hourly == 0:
			l.count = 24 * days
		case days > 0:
			l.size, l.count = period.Day, days
		}
		lanes = append(lanes, l)
	}
	return each(lanes, func(l lane) error { return l.write(ctx, s, now) })
}

// each calls write for every item, several at once, roughly in order. It returns the first error,
// and calls no more after it.
func each[T any](items []T, write func(T) error) error {
	todo, failed := make(chan T), make(chan error, atOnce)
	var writers sync.WaitGroup
	for range atOnce {
		writers.Go(func() {
			for item := range todo {
				if err := write(item); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	var err error
	for i := 0; i < len(items) && err == nil; i++ {
		select {
		case todo <- items[i]:
		case err = <-failed:
		}
	}
	close(todo)
	writers.Wait()
	if err != nil {
		return err
	}
	select {
	case err = <-failed:
	default:
	}
	return err
}

// write writes it, a few periods at a time.
func (l lane) write(ctx context.Context, s store.Store, now time.Time) error {
	p := period.At(now, l.size, time.UTC).Add(-l.count, time.UTC)
	for at := 0; at < l.count; {
		b := store.Batch{ID: fmt.Sprintf("seed/%s/%d", l.id, at)}
		for ; at < l.count && len(b.Runs)+len(b.Deadlines) < store.MaxRows-2; at++ {
			end := p.End(time.UTC)
			r := completed(run.Key{Pipeline: l.id, Schedule: pipeline.ByCron, Period: p}, 1, end, end.Add(time.Minute), end.Add(5*time.Minute))
			b.Create(r)
			b.SwapDeadline(store.Deadline{}, store.Deadline{
				Key: r.Key, Kind: store.Absolute, Config: "seed", ArmedAt: end, ClosedAt: r.EndedAt, DoneAt: r.EndedAt,
				Deadline: sla.Deadline{State: sla.Met, BreachAt: end.Add(30 * time.Minute)},
			})
			p = p.Add(1, time.UTC)
		}
		if err := s.Commit(ctx, b, now); err != nil {
			return err
		}
	}
	return nil
}
