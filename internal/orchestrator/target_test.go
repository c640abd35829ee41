package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// errLost is what a caller sees of a call that had no answer.
var errLost = errors.New("connection reset")

// target is an external system that runs jobs. It counts what really happened there.
type target struct {
	mu     sync.Mutex
	calls  []run.AttemptID                 // start calls
	jobs   map[run.Handle]*task            // running and ended jobs
	byID   map[run.AttemptID][]run.Handle  // the jobs of each attempt
	stops  []run.Handle                    // requested stops
	looks  int                             // calls of Status
	answer []func(job.Attempt) job.Started // effects of the next start calls; later ones succeed
	fails  []error                         // parallel to answer: the error the caller sees

	duringStart func(job.Attempt) // called during a start call, after its effect
	statusErr   error
	findErr     error
	stopErr     error
	slowStop    bool // a stopped job continues until it is ended
}

// task is a job on the target.
type task struct {
	id     run.AttemptID
	status job.Status
}

func newTarget() *target {
	return &target{jobs: map[run.Handle]*task{}, byID: map[run.AttemptID][]run.Handle{}}
}

// begin runs a job.
func (t *target) begin(a job.Attempt) run.Handle {
	h := run.Handle(fmt.Sprintf("job-%d", len(t.jobs)+1))
	t.jobs[h] = &task{id: a.ID}
	t.byID[a.ID] = append(t.byID[a.ID], h)
	return h
}

// will sets the effect and error of the next start call without one.
func (t *target) will(err error, effect func(job.Attempt) job.Started) {
	t.answer, t.fails = append(t.answer, effect), append(t.fails, err)
}

func (t *target) succeed(a job.Attempt) job.Started { return job.Started{Handle: t.begin(a)} }

func (t *target) nothing(job.Attempt) job.Started { return job.Started{} }

// refuse rejects the next start call.
func (t *target) refuse(c run.Category) { t.will(job.Refuse(c, "%s refusal", c), t.nothing) }

// loseBefore loses the next start call on its way to the target, loseAfter on its way back.
func (t *target) loseBefore() { t.will(errLost, t.nothing) }
func (t *target) loseAfter()  { t.will(errLost, t.succeed) }

// end sets the result of a job.
func (t *target) end(h run.Handle, s job.Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.Done = true
	t.jobs[h].status = s
}

// endAll sets the result of every running job.
func (t *target) endAll(result run.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, j := range t.jobs {
		if !j.status.Done {
			j.status = job.Status{Done: true, Result: result}
		}
	}
}

func (t *target) started(id run.AttemptID) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.byID[id])
}

// most returns the largest number of jobs of any attempt.
func (t *target) most() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	most := 0
	for _, jobs := range t.byID {
		most = max(most, len(jobs))
	}
	return most
}

// plain is a job type that can only start and poll.
type plain struct{ *target }

func (p plain) Start(ctx context.Context, a job.Attempt) (job.Started, error) {
	return p.take(ctx, a, false)
}

func (t *target) take(ctx context.Context, a job.Attempt, adopts bool) (job.Started, error) {
	t.mu.Lock()
	t.calls = append(t.calls, a.ID)
	effect, err := t.succeed, error(nil)
	if len(t.answer) > 0 {
		effect, err = t.answer[0], t.fails[0]
		t.answer, t.fails = t.answer[1:], t.fails[1:]
	}
	var started job.Started
	if adopts && len(t.byID[a.ID]) > 0 && err == nil {
		started = job.Started{Handle: t.byID[a.ID][0]}
	} else {
		started = effect(a)
	}
	during := t.duringStart
	t.mu.Unlock()
	if during != nil {
		during(a)
	}
	if err == nil {
		err = ctx.Err()
	}
	return started, err
}

func (p plain) Status(_ context.Context, _ job.Attempt, h run.Handle) (job.Status, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looks++
	if p.statusErr != nil {
		return job.Status{}, p.statusErr
	}
	j, ok := p.jobs[h]
	if !ok {
		return job.Status{}, job.ErrUnknownHandle
	}
	return j.status, nil
}

// searchable can also search for the job of an attempt, and stop it.
type searchable struct{ plain }

func (s searchable) Find(_ context.Context, a job.Attempt) (run.Handle, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.findErr != nil {
		return "", false, s.findErr
	}
	if jobs := s.byID[a.ID]; len(jobs) > 0 {
		return jobs[0], true, nil
	}
	return "", false, nil
}

func (s searchable) Stop(_ context.Context, _ job.Attempt, h run.Handle) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopErr != nil {
		return s.stopErr
	}
	s.stops = append(s.stops, h)
	if j := s.jobs[h]; !j.status.Done && !s.slowStop {
		j.status = job.Status{Done: true, Result: run.ResultFail, Message: "stopped"}
	}
	return nil
}

// strict deduplicates starts by id: it answers a second one with the existing job. It cannot be
// searched.
type strict struct{ plain }

func (s strict) Start(ctx context.Context, a job.Attempt) (job.Started, error) {
	return s.take(ctx, a, true)
}
func (strict) RefusesRepeats() bool { return true }

// thorough is strict and can be searched.
type thorough struct{ searchable }

func (s thorough) Start(ctx context.Context, a job.Attempt) (job.Started, error) {
	return s.take(ctx, a, true)
}
func (thorough) RefusesRepeats() bool { return true }

// local is thorough, and its jobs belong to one controller.
type local struct{ thorough }

func (local) OnThisReplica() bool { return true }

// blocking is a type whose start call is the job.
type blocking struct{ plain }

func (blocking) Limit(pipeline.JobConfig) (time.Duration, bool) { return time.Hour, true }

// waits observes the end of its jobs.
type waits struct {
	thorough
	ended chan struct{}
}

func (w waits) Wait(ctx context.Context, _ job.Attempt, _ run.Handle) error {
	select {
	case <-w.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
