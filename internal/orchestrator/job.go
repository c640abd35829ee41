package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/run"
)

const (
	// maxWish bounds how long a target may ask the controller to wait.
	maxWish = 15 * time.Minute
	// grace gives a job type time to report its own timeout before the call is cancelled.
	grace = 5 * time.Second
)

// job returns the job type, and the attempt to pass to it. The error is a *job.Refusal.
func (w *work) job() (job.Type, job.Attempt, error) {
	kind := w.o.Jobs[w.def.Job.Type]
	if kind == nil {
		return nil, job.Attempt{}, job.Refuse(run.Permanent, "this controller cannot run jobs of type %q", w.def.Job.Type)
	}
	r := w.run
	a := job.Attempt{
		ID: r.ID(), Pipeline: r.Pipeline, Schedule: r.Schedule, Period: r.Period, Number: r.Attempt, File: w.def.File, Config: w.def.Job.Config,
	}
	if w.o.Expand == nil {
		return kind, a, nil
	}
	expanded, err := w.o.Expand(a, w.def.Job)
	if err != nil && refusalIn(err) == nil {
		err = job.Refuse(run.Transient, "prepare the job: %v", err)
	}
	return kind, expanded, err
}

// refusalIn returns the refusal in err's chain, or nil.
func refusalIn(err error) *job.Refusal {
	refusal, _ := errors.AsType[*job.Refusal](err)
	return refusal
}

// startLimit returns the timeout of a start call: half the lease, or the job's own limit if the
// call blocks for the whole job.
func (o *Orchestrator) startLimit(kind job.Type, a job.Attempt) time.Duration {
	if limit, is := blockingLimit(kind, a.Config); is {
		if o.LongestStart > 0 {
			limit = min(limit, o.LongestStart)
		}
		return limit + grace
	}
	return o.Lease / 2
}

// blockingLimit returns the timeout of a start call that blocks for the whole job, and whether it
// does.
func blockingLimit(kind job.Type, config pipeline.JobConfig) (time.Duration, bool) {
	blocking, ok := kind.(job.Blocking)
	if !ok {
		return 0, false
	}
	limit, is := blocking.Limit(config)
	return limit, is && limit > 0
}

// startBlocks reports whether the attempt's start call blocks for the whole job.
func (w *work) startBlocks() bool {
	_, is := blockingLimit(w.o.Jobs[w.def.Job.Type], w.def.Job.Config)
	return is
}

// errWaited means that a step waited for a worker before calling the job's target. Its inputs may
// be stale, so the step is decided again. Nothing was stored.
var errWaited = errors.New("waited for a worker")

// enter makes sure that the step has a worker for calls to the job's target.
func (w *work) enter(ctx context.Context, blocking bool) error {
	if w.o.Enter == nil || w.def.Job == nil {
		return nil
	}
	waited, err := w.o.Enter(ctx, w.def.Job.Type, blocking)
	if err == nil && waited {
		err = errWaited
	}
	return err
}

// elapsed returns how much time has passed between two clock readings. The monotonic clock stops
// while the machine is suspended, although leases expire meanwhile; the wall clock may have been
// set back. So the larger difference counts.
func elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}

// ask bounds any other call to a target.
func (o *Orchestrator) ask(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, o.Lease/2)
}

// classify returns the category of a failure: the user's own classes come first.
func (w *work) classify(failure run.Report, output string) run.Category {
	if w.def.Job == nil {
		return failure.Category
	}
	return rerun.Classify(w.def.Job.Classes, failure, output)
}

// report sanitises a job type's result: anything that is not a clear success is a failure.
func (w *work) report(s job.Status) run.Report {
	rep := run.Report{
		Result: s.Result, Category: s.Category, Message: brief(s.Message), Exited: s.Exited, ExitCode: s.ExitCode,
	}
	switch rep.Result {
	case run.ResultSuccess:
		rep.Category = run.Unknown
		return rep
	case run.ResultFail, run.ResultTimeout:
	default:
		rep.Result = run.ResultFail
		rep.Message = brief(fmt.Sprintf("unknown job result %q: %s", s.Result, s.Message))
	}
	if !rep.Category.Valid() {
		rep.Category = run.Unknown
	}
	rep.Category = w.classify(rep, s.Output)
	return rep
}
