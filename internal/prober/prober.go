// Package prober sees to it that probes are asked: each interval, and when a gate needs a value that is not there or has
// expired. It is the handler of RunProbe tasks. Of one probe one question about one period is asked at a time, by
// whichever replica holds its task; what it finds becomes a reading that expires, and what breaks is remembered.
//
// It decides nothing about runs: a reading wakes them as any other does. How a program or an endpoint is asked is package
// evaluator's business; what an answer means, and when a probe that broke is left alone, package probe's.
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
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// keeper is what asking needs of a store.
type keeper interface {
	store.Committer
	store.Sensors
	Run(ctx context.Context, key run.Key) (run.Run, error)
	DryRun(ctx context.Context, key run.Key) (run.Run, error)
	RunsAt(ctx context.Context, keys []run.Key) (map[run.Key]run.Run, error)
	OpenRuns(ctx context.Context, id pipeline.ID) ([]run.Run, error)
	Readings(ctx context.Context, queries []store.ReadingQuery) ([][]*sensor.Reading, error)
	Note(ctx context.Context, kind store.NoteKind, key string) (store.Note, error)
}

// evaluator asks one probe; the error is a *probe.Failure, or that of ctx.
type evaluator interface {
	Evaluate(ctx context.Context, r probe.Request) (probe.Answer, error)
}

// Deps is what a Prober works with.
type Deps struct {
	Store     keeper
	Catalog   *catalog.Catalog
	Evaluator evaluator
}

// Prober has probes asked. It is safe for concurrent use.
type Prober struct{ Deps }

// New makes a Prober.
func New(d Deps) *Prober { return &Prober{d} }

// The tasks of probes, by what they are called:
//
//	probes/{pipeline}                  its file is new: the intervals begin
//	probe/{pipeline}/{key}             an interval is over: ask about the periods that matter
//	probes/{run}                       a run's gate lacks values: ask for them
//	probe/{pipeline}/{key}#{period}    ask
func planID(id pipeline.ID) string               { return "probes/" + string(id) }
func needID(key run.Key) string                  { return "probes/" + key.String() }
func tickID(id pipeline.ID, probe string) string { return "probe/" + string(id) + "/" + probe }
func askID(id pipeline.ID, probe string, p period.Period) string {
	return tickID(id, probe) + "#" + p.String()
}

// Run carries out a task. An error leaves it as it was; taking it up again is safe.
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

// turn is one task on its way.
type turn struct {
	*Prober
	claim store.Claim
	clock func() time.Time
	now   time.Time
}

// batch begins a commit under the task's lease.
func (t *turn) batch(what string) store.Batch {
	return store.Batch{ID: fmt.Sprintf("%s/%d/%s", t.claim.Task.ID, t.claim.Lease.Token, what), Lease: &t.claim.Lease}
}

// finish puts the task away.
func (t *turn) finish(ctx context.Context) error {
	b := t.batch("done")
	b.Finish(t.claim.Task.ID)
	return t.Store.Commit(ctx, b, t.now)
}

// move has the task come back.
func (t *turn) move(ctx context.Context, due time.Time) error {
	b := t.batch("later")
	b.Schedule(t.again(due))
	return t.Store.Commit(ctx, b, t.now)
}

// again is the task at a later instant.
func (t *turn) again(due time.Time) store.Task {
	later := t.claim.Task
	later.Due = period.Instant(due)
	return later
}

// maxTasks is how many tasks one Batch stores beside the one that is held.
const maxTasks = store.MaxRows - 3

// spread stores tasks, in as many Batches as it takes, and lets last end the one that is held.
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

// asks is the task of asking a probe of owner about a period.
func (t *turn) asks(owner *pipeline.Definition, key string, about period.Period) store.Task {
	return store.Task{
		ID: askID(owner.ID, key, about), Kind: store.RunProbe, Pipeline: owner.ID, Due: period.Instant(t.now),
		Key: run.Key{Pipeline: owner.ID, Schedule: owner.Opens, Period: about},
	}
}

// plan begins the intervals of a pipeline's probes. Those of probes that are gone end by themselves.
func (t *turn) plan(ctx context.Context) error {
	e, _, err := t.Catalog.InForce(ctx, t.claim.Task.Pipeline)
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

// Need adds to b the wish for what a gate lacks, if probes can find it: where a value that one of them writes is not there
// or has expired. It is for whoever found the gate of a run closed.
func Need(b *store.Batch, known *catalog.Snapshot, def *pipeline.Definition, view gate.View, key run.Key, now time.Time) {
	for _, s := range view.Sensors {
		if lacks(def, s, now) && probeOf(known, def, s) != nil {
			b.Schedule(store.Task{ID: needID(key), Kind: store.RunProbe, Pipeline: key.Pipeline, Key: key, Due: period.Instant(now)})
			return
		}
	}
}

// lacks says that a sensor of the gate shows nothing that counts. A start condition that has opened the run is not asked
// again.
func lacks(def *pipeline.Definition, s store.SeenSensor, now time.Time) bool {
	if s.Start && def.Opens != pipeline.ByCron {
		return false
	}
	return s.Version == 0 || !s.ExpiresAt.IsZero() && !now.Before(s.ExpiresAt)
}

// probeOf is the probe that writes a sensor: one that is in force, or that of the version a run opened with.
func probeOf(known *catalog.Snapshot, def *pipeline.Definition, s store.SeenSensor) *pipeline.Probe {
	if p := known.Probe(s.Pipeline, s.Key); p != nil || s.Pipeline != def.ID {
		return p
	}
	return def.Probe(s.Key)
}

// need asks for all that a run's gate lacks, and that of a dry run of the same period.
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

// lacking is what has to be asked for an attempt: what its gate lacks or, once it has completed, its post-run rules.
func (t *turn) lacking(ctx context.Context, a attempt) ([]store.Task, error) {
	q := gate.Question{Definition: a.def, Upstream: t.Catalog.Current().Definition, Period: a.run.Period}
	switch {
	case a.run.Status == run.Completed && a.def.PostRun != nil:
		q.Gate = a.def.PostRun.Gate
	case a.run.Status != run.Pending:
		return nil, nil
	}
	view, err := gate.Look(ctx, t.Store, q, t.now)
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
