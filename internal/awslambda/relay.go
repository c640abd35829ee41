package awslambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// ErrSpent says that an execution of that name has ended, and that no other can have the name.
var ErrSpent = errors.New("an execution of that name has ended")

// Executions starts executions of the state machine.
type Executions interface {
	// Start starts an execution, or finds the one of that name and input that runs, and says since when it has. One that has
	// ended is ErrSpent.
	Start(ctx context.Context, name, input string) (time.Time, error)
}

// Entries keeps one-time entries of Scheduler, which are gone once they have been carried out.
type Entries interface {
	// Put has a function called at an instant. An entry of that name is the same one.
	Put(ctx context.Context, name string, at time.Time, function, input string) error
	// Delete takes one back; one that is not there is fine.
	Delete(ctx context.Context, name string) error
}

// Invoker calls functions.
type Invoker interface {
	// Call waits for the answer, Send only until the call is taken.
	Call(ctx context.Context, function string, payload []byte) ([]byte, error)
	Send(ctx context.Context, function string, payload []byte) error
}

// Relay brings stored tasks to what waits for them, or carries out those that are due.
type Relay struct {
	*Host
	Executions Executions
	Entries    Entries
	Invoker    Invoker
	started    recent // executions that need not be asked for again
}

// task brings a stored task on its way. What the caller saw of it may be old: the task counts as it stands now.
func (r *Relay) task(ctx context.Context, id string, sure bool) error {
	t, err := r.Store.Task(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil // done
	case err != nil:
		return fmt.Errorf("read task %s: %w", id, err)
	case t.Kind == store.RunProbe:
		return nil // the watchdog asks it
	case t.Kind == store.Advance:
		return r.attempt(ctx, t, sure)
	default:
		return r.instant(ctx, t)
	}
}

// instant brings a task on its way that waits for nothing but its time. One that another function is carrying out comes again
// when that function's lease would have lapsed: it may die, and it may have begun before the task was stored anew. That is no
// failure, so the records behind this one are handled.
func (r *Relay) instant(ctx context.Context, t store.Task) error {
	if ready := t.Ready(); ready.After(r.Now()) {
		return r.later(ctx, t, ready)
	}
	err := r.perform(ctx, t)
	if errors.As(err, new(*Busy)) {
		return r.later(ctx, t, r.Now().Add(lease))
	}
	return err
}

// ExecutionInput is what an execution begins with.
type ExecutionInput struct {
	Pipeline   string `json:"pipelineId"`
	Schedule   string `json:"scheduleId"`
	Date       string `json:"date"`
	Attempt    int    `json:"attempt"`
	Generation int    `json:"generation"`
}

// maxGenerations bounds how often the execution of one attempt is replaced.
const maxGenerations = 99

// attempt sees to it that an execution carries the run's open attempt on, and that it does so now if the step is due. An
// execution that has ended while its attempt goes on is replaced, as soon as there is something to do. With sure, what
// was started before is asked for again: it may be gone.
func (r *Relay) attempt(ctx context.Context, t store.Task, sure bool) error {
	now := r.Now()
	current, err := r.Store.Run(ctx, t.Key)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read run %s: %w", t.Key, err)
	}
	for generation := 1; generation <= maxGenerations; generation++ {
		name := executionName(current.Key, current.Attempt, generation)
		if generation == 1 && !sure && r.started.has(name) {
			return r.wake(ctx, t, current, now)
		}
		since, err := r.Executions.Start(ctx, name, executionInput(current, generation))
		switch {
		case err == nil && now.Sub(since) > justNow:
			r.started.add(name)
			return r.wake(ctx, t, current, now)
		case err == nil:
			r.started.add(name)
			return nil
		case !errors.Is(err, ErrSpent):
			return fmt.Errorf("start an execution for %s: %w", current.ID(), err)
		case t.Due.After(now):
			return nil // the change that moved the run, or the watchdog, comes for it
		}
	}
	return fmt.Errorf("start an execution for %s: %d have ended without it; look at the last of them", current.ID(), maxGenerations)
}

// justNow is how old an execution may be that this call has started, by another clock.
const justNow = 5 * time.Second

// wake has a step that is due taken now: the execution may wait for long. It may also wait past the instant at which time alone
// opens the gate, because what was written since has moved that: then Scheduler comes back.
func (r *Relay) wake(ctx context.Context, t store.Task, current run.Run, now time.Time) error {
	if t.Due.After(now) {
		p := current.Progress
		if current.Status == run.Pending && t.Due.Equal(p.NextEvaluation) && t.Due.Before(current.UpdatedAt.Add(p.Opening.Limits.Interval)) {
			return r.later(ctx, t, t.Due)
		}
		return nil
	}
	payload, err := json.Marshal(OrchestratorRequest{
		Mode: Advance, Pipeline: string(current.Pipeline), Schedule: string(current.Schedule), Date: current.Period.String(), Attempt: current.Attempt,
	})
	if err != nil {
		return err
	}
	if err := r.Invoker.Send(ctx, r.Settings.Orchestrator, payload); err != nil {
		return fmt.Errorf("wake %s: %w", current.ID(), err)
	}
	return nil
}

func executionInput(current run.Run, generation int) string {
	text, _ := json.Marshal(ExecutionInput{
		Pipeline: string(current.Pipeline), Schedule: string(current.Schedule), Date: current.Period.String(),
		Attempt: current.Attempt, Generation: generation,
	})
	return string(text)
}

// TaskInput is what Scheduler calls a function with.
type TaskInput struct {
	Mode string `json:"mode,omitempty"` // of the sla-monitor
	Task string `json:"task"`
}

// later makes an entry for a task that is carried out later.
func (r *Relay) later(ctx context.Context, t store.Task, when time.Time) error {
	e, err := r.entry(t, when)
	if err != nil {
		return err
	}
	if err := r.Entries.Put(ctx, e.name, e.at, e.function, e.input); err != nil {
		return fmt.Errorf("schedule task %s: %w", t.ID, err)
	}
	return nil
}

// entry is what Scheduler is asked for.
type entry struct {
	name     string
	at       time.Time
	function string
	input    string
}

// entry is the entry of a task at an instant. Scheduler keeps to the minute: an instant within one is rounded up, so that it
// has come.
func (r *Relay) entry(t store.Task, when time.Time) (entry, error) {
	at := when.UTC().Truncate(time.Minute)
	if at.Before(when) {
		at = at.Add(time.Minute)
	}
	target, in := r.Settings.StreamRouter, TaskInput{Task: t.ID}
	if mode, is := slaModes[t.Kind]; is {
		target, in.Mode = r.Settings.SLAMonitor, mode
	}
	text, err := json.Marshal(in)
	return entry{name: entryName(t, at), at: at, function: target, input: string(text)}, err
}
