package scenario_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

// target runs the jobs of a story. It survives a stop of the controller.
type target struct {
	plays map[string]play
	clock func() time.Time
	tells map[string][]said // what probes answer
	begin time.Time         // of the story

	mu    sync.Mutex
	calls map[run.AttemptID]int
	ends  map[run.Handle]time.Time
}

func newTarget(plays map[string]play, clock func() time.Time) *target {
	return &target{plays: plays, clock: clock, calls: map[run.AttemptID]int{}, ends: map[run.Handle]time.Time{}}
}

// types returns job types of pipeline files, each with the roles of the real type: lambda can only
// be polled, glue can be searched and stopped, step-function also rejects a repeated start.
func (t *target) types() map[string]job.Type {
	return map[string]job.Type{
		"lambda":        plain{t},
		"glue":          searchable{plain{t}},
		"step-function": refusing{searchable{plain{t}}},
	}
}

// play returns how the story lets an attempt go.
func (t *target) play(a job.Attempt) play {
	for _, name := range []string{string(a.ID), string(a.Pipeline)} {
		if p, told := t.plays[name]; told {
			return p
		}
	}
	return play{Takes: usualTime, Result: string(run.ResultSuccess)}
}

// handleOf returns the handle of an attempt's job: the same on every platform.
func handleOf(a job.Attempt) run.Handle { return run.Handle("job:" + string(a.ID)) }

// status returns the final status of a job.
func (p play) status() job.Status {
	return job.Status{Done: true, Result: run.Result(p.Result), Category: run.Category(p.Category), Message: p.Message}
}

var errNoAnswer = errors.New("connection reset")

// plain can only start and poll jobs.
type plain struct{ *target }

func (t plain) Start(_ context.Context, a job.Attempt) (job.Started, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, h := t.play(a), handleOf(a)
	t.calls[a.ID]++
	if t.calls[a.ID] <= p.Refuses {
		return job.Started{}, job.Refuse(run.Category(p.Category), "the target takes no jobs now")
	}
	if p.Start == "lost" && t.calls[a.ID] == 1 {
		return job.Started{}, errNoAnswer
	}
	if p.Start == "whole" {
		status := p.status()
		return job.Started{Handle: h, Result: &status}, nil
	}
	if _, runs := t.ends[h]; !runs {
		t.ends[h] = t.clock().Add(p.Takes.D())
	}
	if p.Start == "unanswered" {
		return job.Started{}, errNoAnswer
	}
	return job.Started{Handle: h}, nil
}

func (t plain) Status(_ context.Context, a job.Attempt, h run.Handle) (job.Status, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ends, runs := t.ends[h]
	switch {
	case !runs:
		return job.Status{}, job.ErrUnknownHandle
	case t.clock().Before(ends):
		return job.Status{}, nil
	}
	return t.play(a).status(), nil
}

// searchable can find the job of an attempt, and end it.
type searchable struct{ plain }

func (t searchable) Find(_ context.Context, a job.Attempt) (run.Handle, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, runs := t.ends[handleOf(a)]
	return handleOf(a), runs, nil
}

func (t searchable) Stop(_ context.Context, a job.Attempt, h run.Handle) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if end := t.clock().Add(t.play(a).Stops.D()); end.Before(t.ends[h]) {
		t.ends[h] = end
	}
	return nil
}

// refusing recognises a repeated start.
type refusing struct{ searchable }

func (refusing) RefusesRepeats() bool { return true }
