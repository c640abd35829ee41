package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// errNoAnswer is the error of a call to a target without an answer.
var errNoAnswer = errors.New("timed out waiting for the target")

// target runs the jobs of all controllers. It knows what really happened.
type target struct {
	world *World
	jobs  map[run.AttemptID][]*task
	known map[run.Handle]*task
}

// task is a job on a target.
type task struct {
	id     run.AttemptID
	handle run.Handle
	ends   time.Time // zero: never
	status job.Status
	lost   bool // the target has forgotten it
}

func newTarget(w *World) *target {
	return &target{world: w, jobs: map[run.AttemptID][]*task{}, known: map[run.Handle]*task{}}
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

// decide returns the fault of a call about an attempt.
func (t *target) decide(call string, id run.AttemptID, menu ...odds) (Kind, dice) {
	w := t.world
	if w.chaos == nil {
		return "", throw(0, string(id), 0)
	}
	kind, d := w.chaos.decide(w.now, call+" "+string(id), menu)
	if kind != "" {
		w.tracef("target: %s of %s: %s", call, id, kind)
	}
	return kind, d
}

// start makes a start call: its effect on the target, and the caller's view of it.
func (t *target) start(a job.Attempt, adopts bool) (*task, error) {
	w := t.world
	w.watch.startCalled(a)
	kind, d := t.decide("start", a.ID,
		odds{StartTimedOut, 1}, odds{StartLost, 1}, odds{StartRefused, 1}, odds{StartForbidden, 1}, odds{StartSlow, 1})
	limit := w.Lease / 2
	switch kind {
	case StartRefused:
		return nil, job.Refuse(run.Transient, "the target answered 503")
	case StartForbidden:
		return nil, job.Refuse(run.Permanent, "the target answered 403")
	case StartLost:
		w.wait(w.now.Add(limit))
		return nil, errNoAnswer
	case StartTimedOut:
		t.take(a, adopts)
		w.wait(w.now.Add(limit))
		return nil, errNoAnswer
	case StartSlow:
		before := d.span(limit)
		w.wait(w.now.Add(before))
		j := t.take(a, adopts)
		w.wait(w.now.Add(d.span(limit - before)))
		return j, nil
	default:
		return t.take(a, adopts), nil
	}
}

// take starts a job, or adopts the existing one with that id.
func (t *target) take(a job.Attempt, adopts bool) *task {
	w := t.world
	if there := t.jobs[a.ID]; adopts && len(there) > 0 {
		return there[0]
	}
	j := &task{id: a.ID, handle: run.Handle(fmt.Sprintf("job-%d-%d", len(t.known)+1, len(t.jobs[a.ID])+1))}
	t.play(a, j)
	t.jobs[a.ID] = append(t.jobs[a.ID], j)
	t.known[j.handle] = j
	w.tracef("target: %s starts as %s", a.ID, j.handle)
	w.watch.jobStarted(a, len(t.jobs[a.ID]))
	return j
}

// play decides how a job goes.
func (t *target) play(a job.Attempt, j *task) {
	w := t.world
	j.status = job.Status{Done: true, Result: run.ResultSuccess}
	kind, d := t.decide("job", j.id, odds{JobFailed, 1}, odds{JobHung, 1})
	j.ends = w.now.Add(time.Minute)
	if w.chaos != nil {
		j.ends = w.now.Add(time.Second + d.span(one(&d, 30*time.Second, 5*time.Minute, 25*time.Minute)))
		if a.Pipeline == steady { // so that polls can be left out
			j.ends = w.now.Add(6*time.Minute + j.ends.Sub(w.now)/5)
		}
	}
	switch kind {
	case JobHung:
		j.ends = time.Time{}
	case JobFailed:
		j.status = job.Status{Done: true, Result: run.ResultFail, Message: "said the target"}
		j.status.Category = one(&d, run.Transient, run.Permanent, run.Timeout, run.Unknown)
		if j.status.Category == run.Timeout {
			j.status.Result = run.ResultTimeout
		}
	}
}

// over reports whether a job has ended.
func (j *task) over(now time.Time) bool { return !j.ends.IsZero() && !j.ends.After(now) }

// plain can only start and poll: a repeated start is a second job.
type plain struct{ *target }

func (p plain) Start(_ context.Context, a job.Attempt) (job.Started, error) {
	j, err := p.start(a, false)
	if err != nil {
		return job.Started{}, err
	}
	return job.Started{Handle: j.handle}, nil
}

func (p plain) Status(_ context.Context, a job.Attempt, h run.Handle) (job.Status, error) {
	kind, _ := p.decide("status", a.ID, odds{StatusFailed, 1}, odds{StatusLied, 1}, odds{JobLost, 1})
	j := p.known[h]
	switch {
	case kind == StatusFailed:
		return job.Status{}, errNoAnswer
	case kind == JobLost && j != nil:
		j.lost = true
	}
	if j == nil || j.lost {
		p.world.watch.said(a.ID, run.ResultFail)
		return job.Status{}, job.ErrUnknownHandle
	}
	if kind == StatusLied {
		p.world.watch.said(a.ID, run.ResultFail)
		return job.Status{Done: true, Result: run.ResultFail, Category: run.Transient, Message: "said the target, and lied"}, nil
	}
	if !j.over(p.world.now) {
		return job.Status{}, nil
	}
	p.world.watch.said(a.ID, j.status.Result)
	return j.status, nil
}

// searchable can find the job of an attempt, and end it.
type searchable struct{ plain }

func (s searchable) Find(_ context.Context, a job.Attempt) (run.Handle, bool, error) {
	kind, _ := s.decide("find", a.ID, odds{SearchFailed, 1}, odds{SearchMissed, 1})
	switch kind {
	case SearchFailed:
		return "", false, errNoAnswer
	case SearchMissed:
		s.world.watch.said(a.ID, run.ResultFail) // the target says that there is no job
		return "", false, nil
	}
	if there := s.jobs[a.ID]; len(there) > 0 {
		return there[0].handle, true, nil
	}
	return "", false, nil
}

func (s searchable) Stop(_ context.Context, a job.Attempt, h run.Handle) error {
	if kind, _ := s.decide("stop", a.ID, odds{StatusFailed, 1}); kind != "" {
		return errNoAnswer
	}
	j := s.known[h]
	if j == nil || j.over(s.world.now) {
		return nil
	}
	j.ends, j.status = s.world.now, job.Status{Done: true, Result: run.ResultFail, Category: run.Transient, Message: "stopped"}
	if kind, d := s.decide("stopping", a.ID, odds{StopSlow, 1}); kind != "" {
		j.ends = j.ends.Add(d.span(10 * time.Minute))
	}
	return nil
}

// refusing answers a repeated start with the existing job.
type refusing struct{ searchable }

func (r refusing) Start(_ context.Context, a job.Attempt) (job.Started, error) {
	j, err := r.start(a, true)
	if err != nil {
		return job.Started{}, err
	}
	return job.Started{Handle: j.handle}, nil
}

func (refusing) RefusesRepeats() bool { return true }

// command belongs to one controller, which is notified when it ends.
type command struct{ refusing }

func (command) OnThisReplica() bool { return true }

func (c command) Wait(_ context.Context, _ job.Attempt, h run.Handle) error {
	j := c.known[h]
	if j == nil {
		return job.ErrUnknownHandle
	}
	for !j.over(c.world.now) {
		if j.ends.IsZero() {
			return errNoAnswer
		}
		c.world.wait(j.ends)
	}
	return nil
}

// blocking is a call that is the job itself.
type blocking struct{ plain }

const callLimit = 5 * time.Minute

func (b blocking) Limit(pipeline.JobConfig) (time.Duration, bool) { return callLimit, true }

func (b blocking) Start(_ context.Context, a job.Attempt) (job.Started, error) {
	j, err := b.start(a, false)
	if err != nil {
		return job.Started{}, err
	}
	w := b.world
	limit := w.now.Add(callLimit)
	if w.chaos != nil && w.chaos.calm {
		j.ends = w.now.Add(time.Minute)
	}
	if strings.HasPrefix(string(a.Pipeline), "mute") {
		w.chaos.note("answer "+string(a.ID), StartHung, w.now)
		j.ends = time.Time{}
	}
	if j.ends.IsZero() || j.ends.After(limit) {
		w.wait(limit)
		return job.Started{}, errNoAnswer
	}
	w.wait(j.ends)
	w.watch.said(a.ID, j.status.Result)
	return job.Started{Handle: j.handle, Result: &j.status}, nil
}
