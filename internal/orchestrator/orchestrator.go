// Package orchestrator performs the steps of an attempt: it evaluates the gate, starts the job,
// polls it, and ends the attempt. Package lifecycle decides which step is due; package run defines
// the run's state after it.
//
// A start is two commits with a call between them. The first stores TRIGGERING with the snapshot on
// which the gate is open, under the task's lease: a worker that lost the lease, or read an older
// version, starts nothing. The second stores the result of the call. A crash in between leaves a
// run whose start visibly has no known answer; then the orchestrator searches for the job before it
// repeats anything. Every other step is one commit. No step retries a failed attempt or opens a new
// one: package router does that in reaction to FAILED.
package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// keeper is the part of the store that the steps use.
type keeper interface {
	store.Committer
	Run(ctx context.Context, key run.Key) (run.Run, error)
	DryRun(ctx context.Context, key run.Key) (run.Run, error)
	Runs(ctx context.Context, q store.RunQuery) (store.Page[run.Run], error)
	RunsAt(ctx context.Context, keys []run.Key) (map[run.Key]run.Run, error)
	OpenRuns(ctx context.Context, id pipeline.ID) ([]run.Run, error)
	Pipeline(ctx context.Context, id pipeline.ID) (store.Pipeline, error)
	Readings(ctx context.Context, queries []store.ReadingQuery) ([][]*sensor.Reading, error)
	History(ctx context.Context, q store.HistoryQuery) (store.Page[*sensor.Reading], error)
	Deadlines(ctx context.Context, q store.DeadlineQuery) (store.Page[store.Deadline], error)
	PostRun(ctx context.Context, key run.Key) (store.PostRun, error)
	Note(ctx context.Context, kind store.NoteKind, key string) (store.Note, error)
}

// Deps are the dependencies of an Orchestrator.
type Deps struct {
	Store   keeper
	Catalog *catalog.Catalog
	Jobs    map[string]job.Type // by the type names in pipeline files
	// Expand completes an attempt for its job type: the config with variables and secrets filled
	// in, and a callback. The error is a *job.Refusal. If nil, the config stays as in the file.
	Expand  func(a job.Attempt, j *pipeline.Job) (job.Attempt, error)
	Replica string // name of this controller, for jobs that only one controller can follow
	Lease   time.Duration
	// LongestStart bounds a start call that blocks for the whole job; 0 means only the job's own
	// limit.
	LongestStart time.Duration
	// Early means that leases may be lost before they expire, because another controller considered
	// this one dead. That may be wrong, and may happen during a start call.
	Early bool
	// AlwaysPresent means that heartbeats are accepted at any time, as by functions that run on demand:
	// no record of presence is kept.
	AlwaysPresent bool
	// Enter waits for a worker for calls to targets of a job type or, if blocking is set, for calls
	// that block for the whole job. It returns whether it had to wait: then data read before may be
	// stale. Nil: there is no limit.
	Enter func(ctx context.Context, jobType string, blocking bool) (waited bool, err error)
	// Span starts a trace span, and returns the function that ends it. Nil: no tracing.
	Span func(ctx context.Context, name string, r run.Run) (context.Context, func(error))
	// Running is called after each commit that stores a job of this controller as RUNNING. It may
	// be nil.
	Running func(key run.Key, attempt int)
}

// Orchestrator performs steps. It is safe for concurrent use.
type Orchestrator struct {
	Deps
	starts *store.Unique
}

const usualLease = 30 * time.Second

// New returns an Orchestrator.
func New(d Deps) *Orchestrator {
	if d.Lease <= 0 {
		d.Lease = usualLease
	}
	if d.Span == nil {
		d.Span = func(ctx context.Context, _ string, _ run.Run) (context.Context, func(error)) {
			return ctx, func(error) {}
		}
	}
	return &Orchestrator{Deps: d, starts: store.NewUnique()}
}

// maxTries is how often a step is decided again after a conflict.
const maxTries = 5

// Step performs the due step of the claimed run, and moves or finishes its task in the step's last
// commit. It returns the next step, which may be due at once. An error leaves the task claimed and
// everything stored so far as it is; repeating the step is safe. store.ErrConflict means that the
// run kept changing, or that another worker has taken over the claim.
//
// A start call takes up to half a lease, or as long as the job if the call blocks for it: the
// caller renews the lease meanwhile.
func (o *Orchestrator) Step(ctx context.Context, claim store.Claim, clock func() time.Time) (lifecycle.Step, error) {
	next, _, err := o.StepFrom(ctx, claim, run.Run{}, clock)
	return next, err
}

// StepFrom is Step for a caller that has just read the run, or passes the zero Run. It also returns
// the run as the step stored it; the zero Run if the step stored none, so that the caller has to
// read it.
func (o *Orchestrator) StepFrom(ctx context.Context, claim store.Claim, read run.Run, clock func() time.Time) (lifecycle.Step, run.Run, error) {
	var next lifecycle.Step
	var err error
	for tries := 0; tries < maxTries; {
		w := &work{o: o, claim: &claim, clock: clock, now: clock(), run: read}
		next, err = w.step(ctx)
		if err == nil {
			return next, w.stored, nil
		}
		read = run.Run{} // read it again
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

// step reads the run, if necessary, and performs its due step.
func (w *work) step(ctx context.Context) (lifecycle.Step, error) {
	var err error
	if w.run.Version == 0 {
		read := w.o.Store.Run
		if w.claim.Task.Kind == store.AdvanceDry {
			read = w.o.Store.DryRun
		}
		w.run, err = read(ctx, w.claim.Task.Key)
	}
	if errors.Is(err, store.ErrNotFound) {
		return w.drop(ctx, "there is no such run")
	}
	if err != nil {
		return lifecycle.Step{}, fmt.Errorf("read it: %w", err)
	}
	if w.run.DryRun {
		if left, err := w.follow(ctx); left || err != nil {
			return lifecycle.Step{Kind: lifecycle.None, Reason: "the pipeline is no longer a dry run"}, err
		}
	}
	step := lifecycle.Next(w.run, w.now)
	switch step.Kind {
	case lifecycle.None:
		return w.drop(ctx, step.Reason)
	case lifecycle.Wait:
		return w.wait(ctx, step)
	}
	if w.def, err = w.o.Catalog.Of(ctx, w.run); err != nil {
		return w.withoutDefinition(ctx, step, err)
	}
	ctx, end := w.o.Span(ctx, "step "+string(step.Kind), w.run)
	next, err := w.perform(ctx, step)
	if errors.Is(err, errWaited) || errors.Is(err, store.ErrConflict) {
		end(nil) // the step is repeated: not a failure
	} else {
		end(err)
	}
	return next, err
}

// perform performs one step.
func (w *work) perform(ctx context.Context, step lifecycle.Step) (lifecycle.Step, error) {
	if w.run.DryRun && step.Kind != lifecycle.Evaluate { // its window, or its time limit, is over
		return w.exhaust(ctx, step.Reason)
	}
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
		if w.elsewhere() && w.run.MayHaveStarted() { // another controller would start a second job
			return w.checkElsewhere(ctx)
		}
		// A start depends on its own evaluation, even if an earlier one found the gate open.
		return w.evaluate(ctx)
	case lifecycle.ValidationExhausted:
		return w.exhaust(ctx, step.Reason)
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
