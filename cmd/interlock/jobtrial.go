package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/run"
)

// trialAttempt returns an attempt that is not on any schedule. Its id is random, so that the target
// cannot mistake it for a past or future attempt.
func trialAttempt(def *pipeline.Definition, date periodFlag, now time.Time) job.Attempt {
	var random [4]byte
	rand.Read(random[:]) // never fails
	p := cmp.Or(date.Period, def.Schedule.Current(now))
	key := run.Key{Pipeline: def.ID, Schedule: pipeline.ScheduleID("test-" + hex.EncodeToString(random[:])), Period: p}
	return job.Attempt{ID: key.Attempt(1), Pipeline: def.ID, Schedule: def.Opens, Period: p, Number: 1, File: def.File}
}

// run starts the job and polls it until it ends.
func (t *jobTest) run(ctx context.Context) error {
	began := t.now()
	trial := &jobTrial{ID: string(t.attempt.ID)}
	t.report.Run = trial
	defer func() { trial.Seconds = t.now().Sub(began).Seconds() }()
	kind := t.jobs.types[t.def.Job.Type]
	started, err := t.start(ctx, kind)
	if refusal, ok := errors.AsType[*job.Refusal](err); ok {
		trial.end("refused", refusal.Category, refusal.Reason)
		if refusal.Category == run.Permanent {
			return errNo
		}
		return errUnreachable // a later try may succeed
	}
	if err != nil {
		var found bool
		if started.Handle, found = t.find(ctx, kind); !found {
			trial.end("unanswered", run.Unknown, err.Error()+"; the job may have started anyway")
			return errUnreachable
		}
	}
	trial.Handle = string(started.Handle)
	status := started.Result
	if status == nil {
		if c, ok := t.attempt.Config.(job.SelfReporting); ok && c.ReportsItself() {
			trial.end("started", run.Unknown, "the target accepted the job; it would report its result to a server")
			return nil
		}
		if status, err = t.follow(ctx, kind, started.Handle); err != nil {
			trial.end("unknown", run.Unknown, err.Error())
			return errUnreachable
		}
	}
	return trial.ended(t.def.Job, *status)
}

// start calls the job's target with the server's timeout. A blocking job has a timeout of its own.
func (t *jobTest) start(ctx context.Context, kind job.Type) (job.Started, error) {
	if blocking, ok := kind.(job.Blocking); ok {
		if _, is := blocking.Limit(t.attempt.Config); is {
			return kind.Start(ctx, t.attempt)
		}
	}
	limited, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	return kind.Start(limited, t.attempt)
}

// find looks for a job whose start call got no answer, even if ctx has ended.
func (t *jobTest) find(ctx context.Context, kind job.Type) (run.Handle, bool) {
	finder, ok := kind.(job.Finder)
	if !ok {
		return "", false
	}
	looking, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.limit)
	defer cancel()
	h, found, err := finder.Find(looking, t.attempt)
	return h, found && err == nil
}

// trialPoll is the interval between polls.
const trialPoll = 2 * time.Second

// follow polls the job until it ends. It stops the job if the poll window or ctx ends first.
func (t *jobTest) follow(ctx context.Context, kind job.Type, h run.Handle) (*job.Status, error) {
	watching, cancel := context.WithTimeout(ctx, t.def.Job.PollWindow)
	defer cancel()
	var last error
	for {
		if waiter, ok := kind.(job.Waiter); ok {
			last = waiter.Wait(watching, t.attempt, h)
		}
		status, err := kind.Status(watching, t.attempt, h)
		switch {
		case err == nil && status.Done:
			return &status, nil
		case errors.Is(err, job.ErrUnknownHandle):
			return nil, fmt.Errorf("lost: %w", err)
		case err != nil:
			last = err
		}
		select {
		case <-time.After(min(t.def.Job.PollInterval, trialPoll)):
		case <-watching.Done():
			return nil, t.leave(ctx, kind, h, last)
		}
	}
}

// leave stops a job that is no longer polled, and returns the reason.
func (t *jobTest) leave(ctx context.Context, kind job.Type, h run.Handle, last error) error {
	why := fmt.Sprintf("it did not end within its poll window of %s", t.def.Job.PollWindow)
	if ctx.Err() != nil {
		why = "interrupted"
	} else if last != nil {
		why += fmt.Sprintf(" (%v)", last)
	}
	stopper, ok := kind.(job.Stopper)
	if !ok {
		return fmt.Errorf("%s; jobs of this type cannot be stopped, so it may still be running", why)
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.limit)
	defer cancel()
	if err := stopper.Stop(stopping, t.attempt, h); err != nil {
		return fmt.Errorf("%s; it could not be stopped and may still be running: %w", why, err)
	}
	return fmt.Errorf("%s, and was stopped", why)
}

// ended records the job's result, with the category that the pipeline's own failure classes give
// it.
func (r *jobTrial) ended(of *pipeline.Job, s job.Status) error {
	category, succeeded := s.Category, s.Result == run.ResultSuccess
	if !succeeded {
		category = rerun.Classify(of.Classes, run.Report{Result: s.Result, Category: s.Category, Message: s.Message, Exited: s.Exited, ExitCode: s.ExitCode}, s.Output)
	}
	r.end(string(s.Result), category, s.Message)
	r.Output = s.Output
	if s.Exited {
		r.ExitCode = &s.ExitCode
	}
	return verdict(succeeded, nil)
}
