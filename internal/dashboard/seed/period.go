package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// step is what is written of one period: a reading, if it has a sensor, and a batch.
type step struct {
	reading *store.Write
	arrived time.Time
	batch   store.Batch
	at      time.Time
}

func (st step) write(ctx context.Context, s store.Store) error {
	if st.reading != nil {
		if _, err := s.PutReadings(ctx, []store.Write{*st.reading}, st.arrived); err != nil {
			return fmt.Errorf("%s: %w", st.batch.ID, err)
		}
	}
	if err := s.Commit(ctx, st.batch, st.at); err != nil {
		return fmt.Errorf("%s: %w", st.batch.ID, err)
	}
	return nil
}

// plan draws how one period goes: its sensor, its run, its deadline, and their events. Nothing of
// it lies after now.
func (t turn) plan(draw *rand.Rand, now time.Time) (written, step) {
	p, zone := t.slot.Period, t.Schedule.Zone()
	out := written{Pipeline: t.ID, Date: p.String(), Start: p.Start(zone).UTC(), End: p.End(zone).UTC(), Phase: "completed"}
	arrived := earlier(t.fire.Add(jitter(draw, t.arrives)), now)
	attempts := 1
	for attempts < 3 && draw.Float64() < t.fails {
		attempts++
	}
	started := earlier(arrived.Add(time.Duration(attempts-1)*t.takes), now)
	took := jitter(draw, t.takes)
	if draw.Float64() < t.slow {
		took *= 4
	}
	rows := int64(1000 + draw.IntN(400))
	if t.never > 0 && t.fromLast == t.never {
		out.Phase = "missing"
		return out, t.missed(now)
	}
	r := completed(t.Key(p), attempts, t.fire, started, earlier(started.Add(took), now))
	r.Progress.Opening.ConfigVersion = t.Version
	st := step{arrived: arrived, batch: store.Batch{ID: "seed/" + r.Key.String()}, at: r.EndedAt}
	if !t.silent {
		reading := sensor.Reading{Key: "landed", Period: p, Fields: sensor.Fields{"complete": true, "count": rows}, Source: "loader"}
		st.reading = &store.Write{Pipeline: t.ID, Reading: reading}
	}
	b := &st.batch
	switch {
	case t.DryRun:
		out.Phase = "would-start"
		dry(b, r)
		return out, st
	case t.broken && t.fromLast == 0:
		out.Phase = "failed"
		r = fail(b, r)
	}
	b.Create(r)
	b.Emit(event.New(event.TriggerStarted, event.Of(r, t.fire), "attempt 1 opened: cron", event.Opening{Cause: "cron"}))
	if t.due > 0 {
		t.close(b, r, t.fire.Add(t.due))
	}
	if t.drifting && draw.Float64() < 0.15 {
		moved := event.Drift{Sensor: "landed", Field: "count", Baseline: fmt.Sprint(rows), Current: fmt.Sprint(rows + 40), Threshold: "10"}
		about := event.About{Pipeline: t.ID, Schedule: r.Schedule, Date: p, Attempt: r.Attempt, Which: "landed", At: r.EndedAt.Add(time.Minute)}
		b.Emit(event.New(event.PostRunDrift, about, "landed.count moved after completion", moved))
	}
	return out, st
}

// missed writes the report of a fire that opened no run.
func (t turn) missed(now time.Time) step {
	date, at := t.slot.Period, earlier(t.fire.Add(3*time.Hour), now)
	about := event.About{Pipeline: t.ID, Schedule: t.Opens, Date: date, At: at, Which: date.String() + ".." + date.String()}
	st := step{batch: store.Batch{ID: "seed/missed/" + t.Key(date).String()}, at: at}
	st.batch.Emit(event.New(event.ScheduleMissed, about, date.String()+" passed without a run; the window is over", event.Missed{Dates: []string{date.String()}}))
	return st
}

// writeDead writes alerts that a sink rejected, one a minute up to now.
func writeDead(ctx context.Context, s store.Store, count int, now time.Time) error {
	for i := range count {
		at := now.Add(time.Duration(i-count) * time.Minute)
		breach := event.New(event.SLABreach, event.About{Pipeline: "billing", Which: fmt.Sprint(i), At: at}, "it has not completed by 02:00", nil)
		b := store.Batch{ID: fmt.Sprintf("seed/dead/%d", i)}
		b.Dead = append(b.Dead, store.DeadLetter{Sink: "ops", Event: breach, Reason: "503 Service Unavailable", Tries: 5, At: at})
		if err := s.Commit(ctx, b, at); err != nil {
			return err
		}
	}
	return nil
}

// dry writes a dry run whose gate was open: its marker, which a store keeps for some days, and its
// events.
func dry(b *store.Batch, r run.Run) {
	r.DryRun = true
	about := event.Of(r, r.EndedAt)
	b.Swap(run.Run{}, r)
	b.Emit(
		event.New(event.DryRunWouldTrigger, about, "the gate is open: command job would start now", event.Gate{}),
		event.New(event.DryRunCompleted, about, "the dry run is over", nil),
	)
}

// fail turns a run into one that failed for good in its first attempt.
func fail(b *store.Batch, r run.Run) run.Run {
	const message = "exit code 3, no such table"
	r.Status, r.Attempt, r.Counters = run.FailedFinal, 1, run.Counters{}
	r.Reason = "failed after 1 attempt: " + message
	r.Progress.Report = run.Report{Result: run.ResultFail, Category: run.Permanent, Message: message, Exited: true, ExitCode: 3, At: r.EndedAt}
	b.Append(store.JobEntry{Key: r.Key, Attempt: 1, Event: store.JobStarted, At: r.Progress.StartedAt})
	b.Append(store.JobEntry{Key: r.Key, Attempt: 1, Event: store.JobFail, At: r.EndedAt, Category: run.Permanent, Message: message, Output: "connecting\nno such table\n"})
	return r
}

// close ends the deadline of a run that has completed.
func (t turn) close(b *store.Batch, r run.Run, breach time.Time) {
	warn := breach.Add(-t.takes)
	d := store.Deadline{
		Key: r.Key, Kind: store.Absolute, Config: t.Version, ArmedAt: r.OpenedAt, ClosedAt: r.EndedAt, DoneAt: r.EndedAt,
		Deadline: sla.Deadline{State: sla.Armed, WarnAt: warn, BreachAt: breach, Warned: r.EndedAt.After(warn)},
	}
	d.Deadline = d.Complete(r.EndedAt)
	if d.State == sla.Breached {
		d.ClosedAt = breach
		late := event.Deadline{Deadline: breach, Warned: true, LateSeconds: int64(r.EndedAt.Sub(breach) / time.Second)}
		about := event.About{Pipeline: t.ID, Schedule: r.Schedule, Date: r.Period, Attempt: r.Attempt, Which: breach.Format(time.RFC3339), At: breach}
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

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
