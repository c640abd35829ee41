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
	atOnce    = 32 // commits, which then share what makes them durable
)

// writeLanes writes so many pipelines with a run and a deadline for each of the last 48 hours.
func writeLanes(ctx context.Context, s store.Store, lanes int, now time.Time) error {
	var ids []pipeline.ID
	for lane := 1; lane <= lanes; lane++ {
		ids = append(ids, pipeline.ID(fmt.Sprintf("lane%d", lane)))
	}
	return each(ids, func(id pipeline.ID) error { return writeLane(ctx, s, id, now) })
}

// each calls write for every item, several at once, roughly in order. It returns the first error, and calls no more after it.
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

// writeLane writes one of them, five hours at a time.
func writeLane(ctx context.Context, s store.Store, id pipeline.ID, now time.Time) error {
	p := period.At(now, period.Hour, time.UTC).Add(-laneHours, time.UTC)
	for at := 0; at < laneHours; {
		b := store.Batch{ID: fmt.Sprintf("seed/%s/%d", id, at)}
		for ; at < laneHours && len(b.Runs)+len(b.Deadlines) < store.MaxRows-2; at++ {
			end := p.End(time.UTC)
			r := completed(run.Key{Pipeline: id, Schedule: pipeline.ByCron, Period: p}, 1, end, end.Add(time.Minute), end.Add(5*time.Minute))
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
