package promise_test

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

// errNoAnswer is the error of a start call without an answer.
var errNoAnswer = errors.New("connection reset")

// play is how one start call and its job go. The zero value is a job that starts at once and
// succeeds after a minute.
type play struct {
	refused error         // nothing starts
	lost    bool          // the call has no answer
	nothing bool          // and never arrived
	takes   time.Duration // until the answer
	runs    time.Duration
	mute    bool         // status calls are not answered
	fails   run.Category // the job fails; "none" stands for a failure without a category
}

// task is a job on a target.
type task struct {
	id     run.AttemptID
	handle run.Handle
	ends   time.Time
	play   play
}

// target runs the jobs of all controllers. It counts what really happened.
type target struct {
	world *world
	play  func(a job.Attempt, call int) play // nil: the zero play

	mu    sync.Mutex
	calls map[run.AttemptID]int
	jobs  []*task
}

func newTarget(w *world) *target { return &target{world: w, calls: map[run.AttemptID]int{}} }

// set changes how jobs go from now on.
func (t *target) set(play func(a job.Attempt, call int) play) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.play = play
}

// types returns the job types of pipeline files, each with the roles of the real type.
func (t *target) types() map[string]job.Type {
	return map[string]job.Type{
		"command":       command{refusing{searchable{plain{t}}}},
		"step-function": refusing{searchable{plain{t}}},
		"glue":          searchable{plain{t}},
		"lambda":        plain{t},
		"http":          blocking{plain{t}},
	}
}

// starts returns the number of jobs of each attempt: 1 each, if all is well.
func (t *target) starts() map[run.AttemptID]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := map[run.AttemptID]int{}
	for _, j := range t.jobs {
		n[j.id]++
	}
	return n
}

// startsOf returns how many jobs a pipeline has had.
func (t *target) startsOf(id string) int {
	n := 0
	for attempt, jobs := range t.starts() {
		if key, _, err := run.ParseAttemptID(string(attempt)); err == nil && string(key.Pipeline) == id {
			n += jobs
		}
	}
	return n
}

func (t *target) start(ctx context.Context, a job.Attempt, adopts bool) (job.Started, error) {
	t.world.witness(a)
	p, handle := t.take(a, adopts)
	if p.refused != nil {
		return job.Started{}, p.refused
	}
	if p.takes > 0 {
		wait := time.NewTimer(p.takes)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-ctx.Done():
			return job.Started{}, ctx.Err() // the job has begun anyway
		}
	}
	if p.lost {
		return job.Started{}, errNoAnswer
	}
	return job.Started{Handle: handle}, nil
}

// take has the effect of a start call on the target.
func (t *target) take(a job.Attempt, adopts bool) (play, run.Handle) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls[a.ID]++
	var p play
	if t.play != nil {
		p = t.play(a, t.calls[a.ID])
	}
	if p.runs == 0 {
		p.runs = time.Minute
	}
	if p.refused != nil || p.nothing {
		return p, ""
	}
	if known := t.find(a.ID); adopts && known != nil {
		return p, known.handle
	}
	j := &task{id: a.ID, handle: run.Handle(fmt.Sprintf("job-%d", len(t.jobs)+1)), ends: time.Now().Add(p.runs), play: p}
	t.jobs = append(t.jobs, j)
	return p, j.handle
}

func (t *target) find(id run.AttemptID) *task {
	for _, j := range t.jobs {
		if j.id == id {
			return j
		}
	}
	return nil
}

// plain can only start and poll: a repeated start is a second job.
type plain struct{ *target }

func (p plain) Start(ctx context.Context, a job.Attempt) (job.Started, error) {
	return p.start(ctx, a, false)
}

func (p plain) Status(ctx context.Context, _ job.Attempt, h run.Handle) (job.Status, error) {
	j := p.byHandle(h)
	switch {
	case j == nil:
		return job.Status{}, job.ErrUnknownHandle
	case j.play.mute:
		<-ctx.Done()
		return job.Status{}, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return j.status(), nil
}

func (t *target) byHandle(h run.Handle) *task {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, j := range t.jobs {
		if j.handle == h {
			return j
		}
	}
	return nil
}

// blocking answers a start call when the job has ended.
type blocking struct{ plain }

func (b blocking) Start(ctx context.Context, a job.Attempt) (job.Started, error) {
	started, err := b.start(ctx, a, false)
	if err == nil {
		started.Result = &job.Status{Done: true, Result: run.ResultSuccess}
	}
	return started, err
}

func (blocking) Limit(pipeline.JobConfig) (time.Duration, bool) { return time.Hour, true }

func (j *task) status() job.Status {
	switch {
	case time.Now().Before(j.ends):
		return job.Status{}
	case j.play.fails == "":
		return job.Status{Done: true, Result: run.ResultSuccess}
	case j.play.fails == "none":
		return job.Status{Done: true, Result: run.ResultFail, Message: "said the target"}
	case j.play.fails == run.Timeout:
		return job.Status{Done: true, Result: run.ResultTimeout, Category: run.Timeout}
	default:
		return job.Status{Done: true, Result: run.ResultFail, Category: j.play.fails, Message: "said the target"}
	}
}

// searchable can find the job of an attempt, and end it.
type searchable struct{ plain }

func (s searchable) Find(_ context.Context, a job.Attempt) (run.Handle, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.find(a.ID); j != nil {
		return j.handle, true, nil
	}
	return "", false, nil
}

func (s searchable) Stop(_ context.Context, _ job.Attempt, h run.Handle) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		if j.handle == h && time.Now().Before(j.ends) {
			j.ends, j.play.fails = time.Now(), run.Transient
		}
	}
	return nil
}

// refusing answers a repeated start with the existing job.
type refusing struct{ searchable }

func (r refusing) Start(ctx context.Context, a job.Attempt) (job.Started, error) {
	return r.start(ctx, a, true)
}

func (refusing) RefusesRepeats() bool { return true }

// command belongs to one controller.
type command struct{ refusing }

func (command) OnThisReplica() bool { return true }
