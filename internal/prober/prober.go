// Package prober runs probes: each interval, and when a gate needs a value that is missing or has
// expired. It is the handler of RunProbe tasks. For each probe and period, one request runs at a
// time, on the replica that holds the task. A result becomes a reading that expires; failures are
// remembered.
//
// It decides nothing about runs: a reading wakes them like any other. Package evaluator runs the
// program or calls the endpoint; package probe interprets the answer and decides how long a failing
// probe backs off.
package prober

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// keeper is the part of the store that the prober uses.
type keeper interface {
	store.Committer
	store.Sensors
	store.Reader
}

// evaluator runs one probe; the error is a *probe.Failure, or that of ctx.
type evaluator interface {
	Evaluate(ctx context.Context, r probe.Request) (probe.Answer, error)
}

// Deps are the dependencies of a Prober.
type Deps struct {
	Store     keeper
	Catalog   *catalog.Catalog
	Evaluator evaluator
}

// Prober runs probes. It is safe for concurrent use.
type Prober struct{ Deps }

func New(d Deps) *Prober { return &Prober{d} }

// The ids of the prober's tasks:
//
//	probes/{pipeline}                  its file is new: the intervals begin
//	probe/{pipeline}/{key}             an interval is over: ask about the periods that matter
//	probes/{run}                       a run's gate lacks values: ask for them
//	probe/{pipeline}/{key}#{period}    ask
func planID(id pipeline.ID) string               { return store.PipelineTaskID(store.RunProbe, id) }
func needID(key run.Key) string                  { return "probes/" + key.String() }
func tickID(id pipeline.ID, probe string) string { return "probe/" + string(id) + "/" + probe }
func askID(id pipeline.ID, probe string, p period.Period) string {
	return tickID(id, probe) + "#" + p.String()
}

// Run runs a task. After an error the task is unchanged; running it again is safe.
func (p *Prober) Run(ctx context.Context, claim store.Claim, clock func() time.Time) error {
	t := turn{Prober: p, claim: claim, clock: clock, now: clock()}
	var err error
	switch task := claim.Task; {
	case task.ID == planID(task.Pipeline):
		err = t.plan(ctx)
	case task.ID == needID(task.Key):
		err = t.need(ctx)
	case task.Key.Period.IsZero():
		err = t.tick(ctx)
	default:
		err = t.ask(ctx)
	}
	if err != nil {
		return fmt.Errorf("run task %s: %w", claim.Task.ID, err)
	}
	return nil
}

// turn is the state of one task.
type turn struct {
	*Prober
	claim store.Claim
	clock func() time.Time
	now   time.Time
}

// batch starts a commit under the task's lease.
func (t *turn) batch(what string) store.Batch {
	return store.Batch{ID: fmt.Sprintf("%s/%d/%s", t.claim.Task.ID, t.claim.Lease.Token, what), Lease: &t.claim.Lease}
}

// finish finishes the task.
func (t *turn) finish(ctx context.Context) error {
	b := t.batch("done")
	b.Finish(t.claim.Task.ID)
	return t.Store.Commit(ctx, b, t.now)
}

// move reschedules the task.
func (t *turn) move(ctx context.Context, due time.Time) error {
	b := t.batch("later")
	b.Schedule(t.again(due))
	return t.Store.Commit(ctx, b, t.now)
}

// again returns the task with a later due time.
func (t *turn) again(due time.Time) store.Task {
	later := t.claim.Task
	later.Due = period.Instant(due)
	return later
}

// maxTasks is how many tasks one Batch stores besides the claimed one.
const maxTasks = store.MaxRows - 3

// spread stores tasks in as many Batches as needed; last adds the end of the claimed task to the
// final one.
func (t *turn) spread(ctx context.Context, tasks []store.Task, last func(b *store.Batch)) error {
	for n := 0; ; n++ {
		b := t.batch(fmt.Sprint(n))
		for _, task := range tasks[:min(len(tasks), maxTasks)] {
			b.Schedule(task)
		}
		tasks = tasks[min(len(tasks), maxTasks):]
		if len(tasks) == 0 {
			last(&b)
		}
		if err := t.Store.Commit(ctx, b, t.now); err != nil || len(tasks) == 0 {
			return err
		}
	}
}

// asks returns the task that runs a probe of owner for a period.
func (t *turn) asks(owner *pipeline.Definition, key string, about period.Period) store.Task {
	return store.Task{
		ID: askID(owner.ID, key, about), Kind: store.RunProbe, Pipeline: owner.ID, Due: period.Instant(t.now),
		Key: run.Key{Pipeline: owner.ID, Schedule: owner.Opens, Period: about},
	}
}

// plan starts the intervals of a pipeline's probes. Those of removed probes end by themselves.
func (t *turn) plan(ctx context.Context) error {
	e, _, err := t.Catalog.Active(ctx, t.claim.Task.Pipeline)
	if err != nil {
		return err
	}
	var ticks []store.Task
	if e != nil {
		for _, p := range e.Probes {
			if p.Interval > 0 {
				ticks = append(ticks, store.Task{ID: tickID(e.ID, p.Key), Kind: store.RunProbe, Pipeline: e.ID, Due: period.Instant(t.now)})
			}
		}
	}
	return t.spread(ctx, ticks, func(b *store.Batch) { b.Finish(t.claim.Task.ID) })
}

// Need schedules probes for a gate in b, if the gate lacks values that probes can provide: they are
// missing or have expired. It is called when a run's gate is found closed.
func Need(b *store.Batch, known *catalog.Snapshot, def *pipeline.Definition, view gate.View, key run.Key, now time.Time) {
	for _, s := range view.Sensors {
		if lacks(def, s, now) && probeOf(known, def, s) != nil {
			b.Schedule(store.Task{ID: needID(key), Kind: store.RunProbe, Pipeline: key.Pipeline, Key: key, Due: period.Instant(now)})
			return
		}
	}
}

// lacks reports whether a sensor of the gate has no valid value. A start condition that has opened
// the run is not probed again.
func lacks(def *pipeline.Definition, s store.SeenSensor, now time.Time) bool {
	if s.Start && def.Opens != pipeline.ByCron {
		return false
	}
	return s.Version == 0 || !s.ExpiresAt.IsZero() && !now.Before(s.ExpiresAt)
}

// probeOf returns the probe that writes a sensor: an active one, or one of the version that a run
// opened with.
func probeOf(known *catalog.Snapshot, def *pipeline.Definition, s store.SeenSensor) *pipeline.Probe {
	if p := known.Probe(s.Pipeline, s.Key); p != nil || s.Pipeline != def.ID {
		return p
	}
	return def.Probe(s.Key)
}

// need schedules the probes for everything that a run's gate lacks, and that of a dry run of the
// same period.
func (t *turn) need(ctx context.Context) error {
	attempts, err := t.attempts(ctx, t.claim.Task.Key)
	if err != nil {
		return err
	}
	var asks []store.Task
	for _, a := range attempts {
		lacking, err := t.lacking(ctx, a)
		if err != nil {
			return err
		}
		for _, ask := range lacking {
			if !slices.ContainsFunc(asks, func(other store.Task) bool { return other.ID == ask.ID }) {
				asks = append(asks, ask)
			}
		}
	}
	return t.spread(ctx, asks, func(b *store.Batch) { b.Finish(t.claim.Task.ID) })
}

// lacking returns the probe tasks an attempt needs: for its gate or, once it has completed, for its
// post-run rules.
func (t *turn) lacking(ctx context.Context, a attempt) ([]store.Task, error) {
	q := gate.Question{Definition: a.def, Upstream: t.Catalog.Current().Definition, Period: a.run.Period, Opened: a.run.Progress.WindowStart}
	switch {
	case a.run.Status == run.Completed && a.def.PostRun != nil:
		q.Gate = a.def.PostRun.Gate
	case a.run.Status != run.Pending:
		return nil, nil
	}
	view, err := gate.Evaluate(ctx, t.Store, q, t.now)
	if err != nil {
		return nil, err
	}
	var asks []store.Task
	for _, s := range view.Sensors {
		if !lacks(a.def, s, t.now) || probeOf(t.Catalog.Current(), a.def, s) == nil {
			continue
		}
		owner := a.def
		if other := t.Catalog.Current().Definition(s.Pipeline); other != nil {
			owner = other
		}
		asks = append(asks, t.asks(owner, string(s.Key), a.run.Period))
	}
	return asks, nil
}
