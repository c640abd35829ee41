package orchestrator_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// spares is a host with some workers, which do their work when they are told to.
type spares struct {
	bench     *bench
	free      int
	dismissed int
	asks      []func(context.Context) (store.Claim, error)
	steps     []func(context.Context, store.Claim, func() time.Time) error
}

func (s *spares) worker(bool) orchestrator.Worker {
	if s.free == 0 {
		return nil
	}
	s.free--
	return s
}

func (s *spares) Dismiss() { s.free, s.dismissed = s.free+1, s.dismissed+1 }

func (s *spares) Carry(ask func(context.Context) (store.Claim, error), step func(context.Context, store.Claim, func() time.Time) error) {
	s.asks, s.steps = append(s.asks, ask), append(s.steps, step)
}

// work takes the steps that are to be taken, and gives the error of the last.
func (s *spares) work() (err error) {
	for i, step := range s.steps {
		var c store.Claim
		if c, err = s.asks[i](ctx); err == nil {
			err = step(ctx, c, s.bench.clock)
		}
		s.free++
	}
	s.steps, s.asks = nil, nil
	return err
}

// ahead makes a controller with spare workers.
func (b *bench) ahead(free int) *spares {
	s := &spares{bench: b, free: free}
	d := b.steps.Deps
	d.Worker, d.Clock = s.worker, b.clock
	b.steps = orchestrator.New(d)
	return s
}

// opens is a batch that opens the run, as package router makes it.
func (b *bench) opens() store.Batch {
	b.t.Helper()
	r, err := run.New(b.key, b.opening(run.Opening{Cause: run.CauseCondition}))
	if err != nil {
		b.t.Fatal(err)
	}
	batch := store.Batch{ID: "open/" + b.key.String()}
	batch.Create(r)
	batch.Schedule(advance(b.key, b.now))
	batch.Emit(event.New(event.TriggerStarted, event.Of(r, b.now), "opened", event.Opening{Cause: run.CauseCondition}))
	return batch
}

func (b *bench) pipelineRow() store.Pipeline {
	b.t.Helper()
	row, err := b.store.Pipeline(ctx, "orders")
	if err != nil {
		b.t.Fatal(err)
	}
	return row
}

func TestOpenGateStartsTheJobInTheCommitThatOpensTheRun(t *testing.T) {
	b := newBench(t, daily+gated+glue, plainType)
	host := b.ahead(1)
	b.rows(12)
	batch := b.opens()
	proceed := b.steps.Ahead(ctx, &batch, b.pipelineRow(), b.now)
	if proceed == nil {
		t.Fatal("the start is left for later")
	}
	b.commit(batch)
	b.want(run.Triggering)
	if len(b.target.calls) > 0 {
		t.Error("the job was started before its start was known to be stored")
	}
	b.idle() // the task is held already
	proceed(nil)
	if err := host.work(); err != nil {
		t.Fatal(err)
	}
	b.want(run.Running)
	b.wantTold(event.TriggerStarted, event.ValidationPassed, event.JobTriggered)
	b.wantLog(store.JobStarted)
	b.wantDue(time.Minute)
	b.checkStarts()
	if host.free != 1 {
		t.Errorf("%d workers are free", host.free)
	}
}

func TestWhatSpeaksAgainstAStartLeavesTheOpeningAsItIs(t *testing.T) {
	pause := store.Pause{Since: morning, By: "ops", Why: "maintenance"}
	for name, c := range map[string]struct {
		file  string
		rows  int64
		free  int
		row   func(*store.Pipeline)
		later time.Duration
	}{
		"a closed gate":          {file: daily + gated + glue, rows: 9, free: 1},
		"no reading yet":         {file: daily + gated + glue, free: 1},
		"no worker":              {file: daily + gated + glue, rows: 12},
		"a limit on jobs":        {file: limited + gated + glue, rows: 12, free: 1},
		"no job":                 {file: daily + gated, rows: 12, free: 1},
		"a pause":                {file: daily + gated + glue, rows: 12, free: 1, row: func(r *store.Pipeline) { r.Pause = pause }},
		"a window that is ahead": {file: daily + gated + glue, rows: 12, free: 1, later: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.file, plainType)
			host := b.ahead(c.free)
			if c.rows > 0 {
				b.rows(c.rows)
			}
			row := b.pipelineRow()
			if c.row != nil {
				c.row(&row)
			}
			opens := func() store.Batch {
				batch := b.opens()
				p := &batch.Runs[0].Next.Progress
				p.NextEvaluation, p.WindowStart = p.NextEvaluation.Add(c.later), p.WindowStart.Add(c.later)
				return batch
			}
			batch := opens()
			if b.steps.Ahead(ctx, &batch, row, b.now) != nil {
				t.Error("the job starts")
			}
			if want := opens(); !reflect.DeepEqual(batch, want) {
				t.Errorf("the batch is %+v, was %+v", batch, want)
			}
			if host.free != c.free {
				t.Errorf("%d of %d workers are free", host.free, c.free)
			}
		})
	}
}

// Whoever opened the run first has it; the other's start is none.
func TestOpeningThatComesTooLateStartsNothing(t *testing.T) {
	b := newBench(t, daily+glue, plainType)
	host := b.ahead(1)
	batch := b.opens()
	proceed := b.steps.Ahead(ctx, &batch, b.pipelineRow(), b.now)
	b.open(b.key, run.Opening{})
	err := b.store.Commit(ctx, batch, b.now)
	if !errors.Is(err, store.ErrConflict) {
		t.Fatalf("error %v", err)
	}
	proceed(err)
	if host.dismissed != 1 || host.free != 1 || len(host.steps) != 0 {
		t.Errorf("the worker is at work: %+v", host)
	}
	b.step()
	b.want(run.Running)
	if len(b.target.calls) != 1 {
		t.Errorf("start calls: %v", b.target.calls)
	}
}

// Two replicas that react to one change, of which one has no answer to its commit: the batches are told apart.
func TestTwoOpeningsStartOneJob(t *testing.T) {
	b := newBench(t, daily+glue, plainType)
	host := b.ahead(2)
	first, second := b.opens(), b.opens()
	proceedFirst := b.steps.Ahead(ctx, &first, b.pipelineRow(), b.now)
	proceedSecond := b.steps.Ahead(ctx, &second, b.pipelineRow(), b.now)
	b.commit(first)
	err := b.store.Commit(ctx, second, b.now)
	if !errors.Is(err, store.ErrConflict) {
		t.Errorf("the second was answered with %v", err)
	}
	proceedSecond(err)
	proceedFirst(errLost)
	if err := host.work(); err != nil {
		t.Fatal(err)
	}
	b.want(run.Running)
	if len(b.target.calls) != 1 {
		t.Errorf("start calls: %v", b.target.calls)
	}
}

// A process that dies after the commit and before the call leaves what any crash in a start leaves.
func TestStartThatNobodyWentOnWithIsLookedFor(t *testing.T) {
	b := newBench(t, daily+glue, searchableType)
	b.ahead(1)
	batch := b.opens()
	if b.steps.Ahead(ctx, &batch, b.pipelineRow(), b.now) == nil {
		t.Fatal("the start is left for later")
	}
	b.commit(batch)
	b.idle()
	b.wait(lease)
	b.step()
	r := b.want(run.Triggering)
	if r.Progress.Held.Reason == "" {
		t.Errorf("a start that may have happened is not held: %+v", r.Progress)
	}
	b.checkStarts()
}

func TestCancelledWhileItsStartIsUnderWay(t *testing.T) {
	b := newBench(t, daily+glue, searchableType)
	host := b.ahead(1)
	batch := b.opens()
	proceed := b.steps.Ahead(ctx, &batch, b.pipelineRow(), b.now)
	b.commit(batch)
	proceed(nil)
	b.target.duringStart = func(job.Attempt) { b.cancel(run.JobMayRun) }
	if err := host.work(); err != nil {
		t.Fatal(err)
	}
	b.want(run.Cancelled)
	if len(b.target.stops) != 1 {
		t.Errorf("its job was not stopped: %v", b.target.stops)
	}
}

// Whoever sent an opening without an answer is the only one who knows that its job was not started.
func TestOpeningWithoutAnAnswerIsSentAgainUntilThereIsOne(t *testing.T) {
	for name, happened := range map[string]bool{"it has happened": true, "it has not": false} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, daily+glue, searchableType)
			host := b.ahead(1)
			batch := b.opens()
			proceed := b.steps.Ahead(ctx, &batch, b.pipelineRow(), b.now)
			if happened {
				b.commit(batch)
				batch.Hold.Given = store.Lease{} // with the answer the lease is lost
			}
			proceed(errLost)
			if err := host.work(); err != nil {
				t.Fatal(err)
			}
			b.want(run.Running)
			if len(b.target.calls) != 1 {
				t.Errorf("start calls: %v", b.target.calls)
			}
			b.checkStarts()
		})
	}
}

// What the gate showed long ago starts nothing: what was written since was handled as if there were no run.
func TestStartThatRestsOnAnOldLookIsDecidedAnew(t *testing.T) {
	for name, c := range map[string]struct {
		rows int64
		want run.Status
	}{
		"closed by now": {9, run.Pending},
		"still open":    {12, run.Running},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, daily+gated+glue, searchableType)
			host := b.ahead(1)
			b.rows(12)
			batch := b.opens()
			proceed := b.steps.Ahead(ctx, &batch, b.pipelineRow(), b.now)
			b.rows(c.rows)
			b.commit(batch)
			b.wait(2 * time.Second)
			proceed(nil)
			if err := host.work(); err != nil {
				t.Fatal(err)
			}
			if len(b.target.calls) != 0 {
				t.Error("the job was started on an old look")
			}
			b.step()
			r := b.want(c.want)
			if r.Progress.Held.Reason != "" {
				t.Errorf("held: %s", r.Progress.Held.Reason)
			}
			b.checkStarts()
		})
	}
}

// A lease that lapsed before the answer came leaves nothing that looks like a start without an answer.
func TestStartWhoseLeaseIsLostBeforeItIsMadeIsWithdrawn(t *testing.T) {
	b := newBench(t, daily+glue, searchableType)
	host := b.ahead(1)
	batch := b.opens()
	proceed := b.steps.Ahead(ctx, &batch, b.pipelineRow(), b.now)
	b.commit(batch)
	batch.Hold.Given = store.Lease{}
	proceed(errLost)
	b.wait(2 * lease)
	if err := host.work(); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("error %v", err)
	}
	b.step()
	b.want(run.Running)
	b.checkStarts()
}

func TestOpeningByAnOldInstantIsLeftToTheTask(t *testing.T) {
	b := newBench(t, daily+glue, plainType)
	b.ahead(1)
	batch, then := b.opens(), b.now
	b.wait(2 * time.Second)
	if b.steps.Ahead(ctx, &batch, b.pipelineRow(), then) != nil {
		t.Error("a job starts by an instant that has passed")
	}
}
