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
	atOnce    = 16 // commits, which then share what makes them durable
)

// writeLanes writes so many pipelines with a run and a deadline for each of the last 48 hours.
func writeLanes(ctx context.Context, s store.Store, lanes int, now time.Time) error {
	todo, failed := make(chan int), make(chan error, atOnce)
	var writers sync.WaitGroup
	for range atOnce {
		writers.Go(func() {
			for lane := range todo {
				if err := writeLane(ctx, s, pipeline.ID(fmt.Sprintf("lane%d", lane)), now); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	var err error
	for lane := 1; lane <= lanes && err == nil; lane++ {
		select {
		case todo <- lane:
		case err = <-failed:
		}
	}
	close(todo)
	writers.Wait()
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
