package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

var errCrash = errors.New("the process is gone")

// mortal is a store used by a process that crashes after some calls: with or without the effect of
// the last one.
type mortal struct {
	*memory.Store
	left   int
	effect bool
}

func (m *mortal) call(f func() error) error {
	if m.left < 0 {
		return errCrash
	}
	if m.left--; m.left >= 0 {
		return f()
	}
	if m.effect {
		_ = f() // the reply never arrives
	}
	return errCrash
}

func (m *mortal) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	return m.call(func() error { return m.Store.Commit(ctx, b, now) })
}

func ask[T any](m *mortal, f func() (T, error)) (got T, err error) {
	err = m.call(func() error { got, err = f(); return err })
	return got, err
}

func (m *mortal) Run(ctx context.Context, key run.Key) (run.Run, error) {
	return ask(m, func() (run.Run, error) { return m.Store.Run(ctx, key) })
}

func (m *mortal) Pipeline(ctx context.Context, id pipeline.ID) (store.Pipeline, error) {
	return ask(m, func() (store.Pipeline, error) { return m.Store.Pipeline(ctx, id) })
}

func (m *mortal) Readings(ctx context.Context, q []store.ReadingQuery) ([][]*sensor.Reading, error) {
	return ask(m, func() ([][]*sensor.Reading, error) { return m.Store.Readings(ctx, q) })
}

func (m *mortal) OpenRuns(ctx context.Context, id pipeline.ID) ([]run.Run, error) {
	return ask(m, func() ([]run.Run, error) { return m.Store.OpenRuns(ctx, id) })
}

func (m *mortal) Deadlines(ctx context.Context, q store.DeadlineQuery) (store.Page[store.Deadline], error) {
	return ask(m, func() (store.Page[store.Deadline], error) { return m.Store.Deadlines(ctx, q) })
}

func (m *mortal) PostRun(ctx context.Context, key run.Key) (store.PostRun, error) {
	return ask(m, func() (store.PostRun, error) { return m.Store.PostRun(ctx, key) })
}

// crashInStart performs the step that starts the job and crashes once the target has accepted it.
func (b *bench) crashInStart() {
	b.t.Helper()
	m := &mortal{Store: b.store, left: 1 << 30}
	b.target.duringStart = func(job.Attempt) { m.left = -1 }
	if _, err := b.controller("a", m).Step(ctx, b.claim("a")[0], b.clock); !errors.Is(err, errCrash) {
		b.t.Fatalf("the process did not crash: %v", err)
	}
	b.target.duringStart = nil
	b.want(run.Triggering)
}

// live runs one process until it crashes or the run has nothing more to do, and reports whether it
// crashed.
func (b *bench) live(m *mortal) (died bool) {
	b.t.Helper()
	steps := b.controller("a", m)
	for b.now.Before(morning.Add(2 * time.Hour)) {
		for _, c := range b.claim("a") {
			if _, err := steps.Step(ctx, c, b.clock); errors.Is(err, errCrash) {
				return true
			} else if err != nil {
				b.t.Fatal(err)
			}
		}
		r := b.run()
		if !r.Status.Open() || r.Status == run.Failed || r.Progress.Held.Reason != "" {
			return false
		}
		if r.Status == run.Running && r.Progress.LastPoll.After(r.Progress.StartedAt) {
			b.target.endAll(run.ResultSuccess)
		}
		b.wait(20 * time.Second)
	}
	b.t.Fatalf("the run is still %s", b.run().Status)
	return false
}

// A process that crashes between any two calls of the store leaves a run that the next one
// continues, with at most one start per attempt.
func TestS2CrashBetweenAnyTwoStoreCalls(t *testing.T) {
	kinds := map[string]struct {
		file string
		kind func(*target) job.Type
		lose func(*target)
	}{
		"plain":              {glue, plainType, nil},
		"searchable":         {glue, searchableType, nil},
		"strict":             {machine, strictType, nil},
		"thorough":           {machine, thoroughType, nil},
		"local":              {command, localType, nil},
		"searchable, lost":   {glue, searchableType, (*target).loseAfter},
		"strict, lost":       {machine, strictType, (*target).loseAfter},
		"thorough, not sent": {machine, thoroughType, (*target).loseBefore},
		"refused at first":   {glue, plainType, func(t *target) { t.refuse(run.Transient) }},
	}
	for name, c := range kinds {
		for _, effect := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, effect %v", name, effect), func(t *testing.T) {
				for n, died := 0, true; died; n++ {
					b := newBench(t, limited+gated+c.file+watched, c.kind)
					b.rows(12)
					b.arm(store.Absolute, morning.Add(time.Hour))
					if c.lose != nil {
						c.lose(b.target)
					}
					b.open(b.key, run.Opening{})
					if died = b.live(&mortal{Store: b.store, left: n, effect: effect}); died {
						if err := b.store.VoidLeases(ctx); err != nil {
							t.Fatal(err)
						}
						b.live(&mortal{Store: b.store, left: 1 << 30})
					}
					b.afterCrash(n)
				}
			})
		}
	}
}

// afterCrash checks what must hold however often the process crashed.
func (b *bench) afterCrash(n int) {
	b.t.Helper()
	r := b.run()
	if most := b.target.most(); most > 1 {
		b.t.Errorf("crash %d: an attempt has %d jobs", n, most)
	}
	_, mayHold := b.kind.(plain)
	held := r.Progress.Held.Reason != ""
	searches := false
	if _, ok := b.kind.(job.Finder); ok {
		searches = true
	}
	if held && !mayHold && !searches {
		b.t.Errorf("crash %d: held: %s", n, r.Progress.Held.Reason)
	}
	if !held && r.Status != run.Completed {
		b.t.Errorf("crash %d: the run is %s (%s)", n, r.Status, r.Reason)
	}
	if slots := b.slots(); !held && len(slots) != 0 {
		b.t.Errorf("crash %d: slots %v", n, slots)
	}
	events := map[string]int{}
	for _, e := range b.events() {
		events[string(e.Type)]++
	}
	if !held && (events["JOB_TRIGGERED"] != 1 || events["JOB_COMPLETED"] != 1 || events["SLA_MET"] != 1 || events["VALIDATION_PASSED"] != 1) {
		b.t.Errorf("crash %d: events %v", n, events)
	}
	b.checkStarts()
}
