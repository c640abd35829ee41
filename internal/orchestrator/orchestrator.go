// Package orchestrator performs the steps of an attempt: it evaluates the gate, starts the job, looks at it, and brings the
// attempt to its end. Which step is due is decided by package lifecycle; what a run looks like after it, by package run.
//
// A start is two commits with a call between them. The first stores TRIGGERING with the snapshot the gate is open on, under
// the lease of the task: whoever lost the lease, or read an older version, starts nothing. The second stores what became of
// the call. A crash in between leaves a run of which everybody can see that its start has no known answer; then the job is
// looked for before anything is repeated. All other steps are one commit. None of them retries a failed attempt or opens one:
// that is package router's reaction to FAILED.
package orchestrator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// keeper is what the steps need of a store.
type keeper interface {
	store.Committer
	Run(ctx context.Context, key run.Key) (run.Run, error)
	RunsAt(ctx context.Context, keys []run.Key) (map[run.Key]run.Run, error)
	OpenRuns(ctx context.Context, id pipeline.ID) ([]run.Run, error)
	Pipeline(ctx context.Context, id pipeline.ID) (store.Pipeline, error)
	Readings(ctx context.Context, queries []store.ReadingQuery) ([][]*sensor.Reading, error)
	Deadlines(ctx context.Context, q store.DeadlineQuery) (store.Page[store.Deadline], error)
	PostRun(ctx context.Context, key run.Key) (store.PostRun, error)
	Note(ctx context.Context, kind store.NoteKind, key string) (store.Note, error)
}

// Deps is what an Orchestrator works with.
type Deps struct {
	Store   keeper
	Catalog *catalog.Catalog
	Jobs    map[string]job.Type // by the names that pipeline files use
	// Expand gives an attempt what its job type needs: the config with variables and secrets put in, and a callback. An
	// error is a *job.Refusal. Nil leaves the config as the file has it.
	Expand  func(a job.Attempt, j *pipeline.Job) (job.Attempt, error)
	Replica string // who this controller is, for jobs that only one can follow
	Lease   time.Duration
	// LongestStart bounds a start call that is the job itself; 0 if only the job's own limit does.
	LongestStart time.Duration
	// Early says that leases may be lost before they end, because others were told that this controller is gone. It may be
	// wrong, and in the middle of a start call.
	Early bool
	// Enter waits for a worker that may make calls to targets of a job type or, if blocking is set, calls that take as long as
	// the job itself. It returns whether it had to wait: then what was read before may be old. Nil: there is always one.
	Enter func(ctx context.Context, jobType string, blocking bool) (waited bool, err error)
	// Span begins a span of a trace, and returns how it ends. Nil: nothing is traced.
	Span func(ctx context.Context, name string, r run.Run) (context.Context, func(error))
	// Running is called after each commit that stores a job of this controller as RUNNING. It may be nil.
	Running func(key run.Key, attempt int)
}

// Orchestrator performs steps. It is safe for concurrent use.
type Orchestrator struct {
	Deps
	mark   string       // tells it from every other, also of the same name
	starts atomic.Int64 // counts its own
}

const usualLease = 30 * time.Second

// New makes an Orchestrator.
func New(d Deps) *Orchestrator {
	if d.Lease <= 0 {
		d.Lease = usualLease
	}
	if d.Span == nil {
		d.Span = func(ctx context.Context, _ string, _ run.Run) (context.Context, func(error)) {
			return ctx, func(error) {}
		}
	}
	return &Orchestrator{Deps: d, mark: rand.Text()}
}

// marked is what makes the name of a start's commit one that nobody else gives.
func (o *Orchestrator) marked() string { return fmt.Sprintf("/%s#%d", o.mark, o.starts.Add(1)) }

// maxTries is how often a step is decided anew because something changed meanwhile.
const maxTries = 5

// Step performs the step that the claimed run is due for, and moves or finishes its task in the commit that ends it. It gives
// the step that comes next: one that is due may be claimed at once. An error leaves the task claimed and what was stored
// until then as it is; taking the step again is safe. store.ErrConflict says that others kept changing the run, or have
// taken the claim over.
//
// A start call takes up to half a lease, or as long as the job itself where the call is the job: the caller renews the
// lease meanwhile.
func (o *Orchestrator) Step(ctx context.Context, claim store.Claim, clock func() time.Time) (lifecycle.Step, error) {
	next, _, err := o.StepFrom(ctx, claim, run.Run{}, clock)
	return next, err
}

// StepFrom is Step for a caller that has just read the run, or passes the zero Run. It also returns the run as the step stored
// it; the zero Run if the step stored no run, so that it has to be read.
func (o *Orchestrator) StepFrom(ctx context.Context, claim store.Claim, read run.Run, clock func() time.Time) (lifecycle.Step, run.Run, error) {
	var next lifecycle.Step
	var err error
	for tries := 0; tries < maxTries; {
		w := &work{o: o, claim: &claim, clock: clock, now: clock(), run: read}
		next, err = w.step(ctx)
		if err == nil {
			return next, w.stored, nil
		}
		read = run.Run{} // what was read has changed
		switch {
		case errors.Is(err, errWaited):
			continue
		case errors.Is(err, store.ErrConflict):
			tries++
			continue
		}
		break
	}
	return lifecycle.Step{}, run.Run{}, fmt.Errorf("advance run %s: %w", claim.Task.Key, err)
}

// step reads the run, unless it was read, and performs the step that it is due for.
func (w *work) step(ctx context.Context) (lifecycle.Step, error) {
	var err error
	if w.run.Version == 0 {
		w.run, err = w.o.Store.Run(ctx, w.claim.Task.Key)
	}
	if errors.Is(err, store.ErrNotFound) {
		return w.drop(ctx, "there is no such run")
	}
	if err != nil {
		return lifecycle.Step{}, fmt.Errorf("read it: %w", err)
	}
	step := lifecycle.Next(w.run, w.now)
	switch step.Kind {
	case lifecycle.None:
		return w.drop(ctx, step.Reason)
	case lifecycle.Wait:
		return w.wait(ctx, step)
	}
	if w.def, err = w.o.definition(ctx, w.run); err != nil {
		return w.withoutDefinition(ctx, step, err)
	}
	ctx, end := w.o.Span(ctx, "step "+string(step.Kind), w.run)
	next, err := w.perform(ctx, step)
	if errors.Is(err, errWaited) || errors.Is(err, store.ErrConflict) {
		end(nil) // it is decided again, which is no failure
	} else {
		end(err)
	}
	return next, err
}

// definition is the version of the pipeline that an attempt opened with.
func (o *Orchestrator) definition(ctx context.Context, r run.Run) (*pipeline.Definition, error) {
	version := r.Progress.Opening.ConfigVersion
	if e := o.Catalog.Current().Get(r.Pipeline); version == "" && e != nil {
		return e.Definition, nil
	}
	return o.Catalog.Definition(ctx, r.Pipeline, version)
}

// perform takes one step.
func (w *work) perform(ctx context.Context, step lifecycle.Step) (lifecycle.Step, error) {
	switch step.Kind {
	case lifecycle.CheckJob, lifecycle.JobPollExhausted, lifecycle.InfraFailure: // they call the job's target
		if w.external() {
			break
		}
		if err := w.enter(ctx, false); err != nil {
			return lifecycle.Step{}, err
		}
	}
	switch step.Kind {
	case lifecycle.Evaluate, lifecycle.Trigger:
		// A start rests on a look of its own, also where an earlier one found the gate open.
		return w.evaluate(ctx)
	case lifecycle.ValidationExhausted:
		return w.exhaust(ctx, step)
	case lifecycle.CheckJob:
		return w.check(ctx)
	case lifecycle.JobPollExhausted:
		return w.pollExhausted(ctx, step)
	case lifecycle.CompleteTrigger:
		return w.settleResult(ctx, step)
	case lifecycle.InfraFailure:
		return w.timeOut(ctx, step)
	default:
		return lifecycle.Step{}, fmt.Errorf("there is no step %q", step.Kind)
	}
}
