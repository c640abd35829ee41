package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// habit is how a pipeline's days usually go.
type habit struct {
	id       pipeline.ID
	size     period.Size
	arrives  time.Duration // of its sensor, after the period's end
	takes    time.Duration // its job
	due      time.Duration // its deadline, after the period's end
	fails    float64       // how often an attempt fails
	slow     float64       // how often it takes four times as long
	drifting bool          // what it published moves afterwards, now and then
}

var habits = []habit{
	{id: "orders", size: period.Hour, arrives: 4 * time.Minute, takes: 6 * time.Minute, due: 30 * time.Minute, fails: 0.05, slow: 0.02},
	{id: "billing", size: period.Day, arrives: 50 * time.Minute, takes: 25 * time.Minute, due: 2 * time.Hour, fails: 0.15, slow: 0.12, drifting: true},
	{id: "ledger", size: period.Day, arrives: 20 * time.Minute, takes: 12 * time.Minute, due: 90 * time.Minute, fails: 0.02},
}

// writePast writes the past of all habits. The same numbers are drawn each time; only the days are others.
func writePast(ctx context.Context, s store.Store, days int, now time.Time) error {
	draw := rand.New(rand.NewPCG(1, 2))
	for _, h := range habits {
		p := period.At(now.Add(-time.Duration(days)*24*time.Hour), h.size, time.UTC)
		for ; p.End(time.UTC).Add(h.due).Before(now); p = p.Add(1, time.UTC) {
			if err := h.write(ctx, s, p, draw); err != nil {
				return fmt.Errorf("%s for %s: %w", h.id, p, err)
			}
		}
	}
	return nil
}

// write writes one period: its sensor, its run, its deadline, and what was told of them.
func (h habit) write(ctx context.Context, s store.Store, p period.Period, draw *rand.Rand) error {
	end := p.End(time.UTC)
	arrived := end.Add(jitter(draw, h.arrives))
	rows := int64(1000 + draw.IntN(400))
	reading := sensor.Reading{Key: "landed", Period: p, Fields: sensor.Fields{"complete": true, "count": rows}, Source: "loader"}
	if _, err := s.PutReadings(ctx, []store.Write{{Pipeline: h.id, Reading: reading}}, arrived); err != nil {
		return err
	}
	attempts := 1
	for attempts < 3 && draw.Float64() < h.fails {
		attempts++
	}
	took := jitter(draw, h.takes)
	if draw.Float64() < h.slow {
		took *= 4
	}
	started := arrived.Add(time.Duration(attempts-1) * h.takes)
	r := completed(run.Key{Pipeline: h.id, Schedule: pipeline.ByCron, Period: p}, attempts, end, started, started.Add(took))
	b := store.Batch{ID: "seed/" + r.Key.String()}
	b.Create(r)
	h.close(&b, r, end.Add(h.due))
	if h.drifting && draw.Float64() < 0.15 {
		moved := event.Drift{Sensor: "landed", Field: "count", Baseline: fmt.Sprint(rows), Current: fmt.Sprint(rows + 40), Threshold: "10"}
		about := event.About{Pipeline: h.id, Schedule: r.Schedule, Date: p, Attempt: r.Attempt, Which: "landed", At: r.EndedAt.Add(time.Hour)}
		b.Emit(event.New(event.PostRunDrift, about, "landed.count moved after completion", moved))
	}
	return s.Commit(ctx, b, r.EndedAt)
}

// close ends the deadline of a run that has completed.
func (h habit) close(b *store.Batch, r run.Run, breach time.Time) {
	warn := breach.Add(-h.takes)
	d := store.Deadline{
		Key: r.Key, Kind: store.Absolute, Config: "seed", ArmedAt: r.OpenedAt, ClosedAt: r.EndedAt, DoneAt: r.EndedAt,
		Deadline: sla.Deadline{State: sla.Armed, WarnAt: warn, BreachAt: breach, Warned: r.EndedAt.After(warn)},
	}
	d.Deadline = d.Complete(r.EndedAt)
	if d.State == sla.Breached {
		d.ClosedAt = breach
		late := event.Deadline{Deadline: breach, Warned: true, LateSeconds: int64(r.EndedAt.Sub(breach) / time.Second)}
		about := event.About{Pipeline: h.id, Schedule: r.Schedule, Date: r.Period, Attempt: r.Attempt, Which: breach.Format(time.RFC3339), At: breach}
		b.Emit(event.New(event.SLABreach, about, fmt.Sprintf("it has not completed by %s", breach.UTC().Format("15:04")), late))
	}
	b.SwapDeadline(store.Deadline{}, d)
}

// completed is a run that has ended well.
func completed(key run.Key, attempts int, opened, started, ended time.Time) run.Run {
	cause := run.Cause("cron")
	if attempts > 1 {
		cause = "transient"
	}
	return run.Run{
		Key: key, Version: 1, Status: run.Completed, Attempt: attempts, OpenedAt: opened.UTC(), UpdatedAt: ended.UTC(), EndedAt: ended.UTC(),
		Counters: run.Counters{Retries: attempts - 1},
		Progress: run.Progress{
			Opening: run.Opening{Cause: cause, ConfigVersion: "seed", At: opened.UTC()}, StartedAt: started.UTC(),
			Report: run.Report{Result: run.ResultSuccess, Message: "done"},
		},
	}
}

// jitter is about d, between three quarters and five quarters of it.
func jitter(draw *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.75 + draw.Float64()/2))
}
