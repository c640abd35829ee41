package awslambda

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// ErrSpent means that an execution of that name has ended, so that the name cannot be used again.
var ErrSpent = errors.New("an execution of that name has ended")

// Executions starts executions of the state machine.
type Executions interface {
	// Start starts an execution, or finds the running one with that name and input, and returns its
	// start time. It returns ErrSpent if the execution has ended.
	Start(ctx context.Context, name, input string) (time.Time, error)
}

// Entries manages one-time schedules, which Scheduler deletes once they have run.
type Entries interface {
	// Put schedules a call of a function. It is idempotent by name.
	Put(ctx context.Context, name string, at time.Time, function, input string) error
	// Delete deletes a schedule; it returns nil if there is none.
	Delete(ctx context.Context, name string) error
}

// Invoker calls functions.
type Invoker interface {
	// Call waits for the answer, Send only until the call is accepted.
	Call(ctx context.Context, function string, payload []byte) ([]byte, error)
	Send(ctx context.Context, function string, payload []byte) error
}

// Relay hands stored tasks to Step Functions or Scheduler, or carries out those that are due.
type Relay struct {
	*Host
	Executions Executions
	Entries    Entries
	Invoker    Invoker
	started    recent // executions that need not be started again
}

// task relays a stored task. It reads the task again, because the caller's copy may be outdated.
func (r *Relay) task(ctx context.Context, id string, sure bool) error {
	t, err := store.IfFound(r.Store.Task(ctx, id))
	switch {
	case err != nil || t.ID == "":
		return err // without a task it is done
	case t.Kind == store.RunProbe:
		return nil // the watchdog asks probes
	case t.Kind == store.Advance:
		return r.attempt(ctx, t, sure)
	default:
		return r.instant(ctx, t)
	}
}

// instant relays a task that waits only for its time. If another function holds the task, it is
// scheduled for when that lease would expire: the other function may die, or may have begun before
// the task was stored anew. That is no failure, so the records behind this one are handled.
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

// ExecutionInput is the input of an execution.
type ExecutionInput struct {
	Pipeline   string `json:"pipelineId"`
	Schedule   string `json:"scheduleId"`
	Date       string `json:"date"`
	Attempt    int    `json:"attempt"`
	Generation int    `json:"generation"`
}

// maxGenerations bounds how often the execution of one attempt is replaced.
const maxGenerations = 99

// attempt makes sure that an execution runs the open attempt of a run, and takes its step now if it
// is due. If the execution has ended before the attempt, it starts another as soon as a step is
// due. With sure, it calls StartExecution even if this function has started the execution before:
// it may have ended.
func (r *Relay) attempt(ctx context.Context, t store.Task, sure bool) error {
	now := r.Now()
	current, err := store.IfFound(r.Store.Run(ctx, t.Key))
	if err != nil || current.Status == "" {
		return err
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
		case t.Due.Add(patience(generation)).After(now):
			return nil // the change that moved the run, or the watchdog, handles it
		}
	}
	return fmt.Errorf("start an execution for %s: %d executions ended before the attempt did; see the last one", current.ID(), maxGenerations)
}

// patience returns how long after a step was due the execution of a generation is replaced. If one
// after the other fails, the next comes later, at most a quarter of an hour.
func patience(generation int) time.Duration {
	return min(time.Duration((generation-1)*(generation-1)), 15) * time.Minute
}

// justNow is the maximum age, with clock skew, of an execution that this call has started.
const justNow = 5 * time.Second

// wake takes a due step now, because the execution may be in a long wait. The wait may also end
// after the next step is due, if another function has taken the step before or a later write has
// moved the instant at which time alone opens the gate: Scheduler then calls when it is due.
func (r *Relay) wake(ctx context.Context, t store.Task, current run.Run, now time.Time) error {
	if t.Due.After(now) {
		if t.Due.Before(mayWait(current, t.Due)) {
			return r.later(ctx, t, t.Due)
		}
		return nil
	}
	payload, err := json.Marshal(requestAbout(current, Advance))
	if err != nil {
		return err
	}
	if err := r.Invoker.Send(ctx, r.Settings.Orchestrator, payload); err != nil {
		return fmt.Errorf("wake %s: %w", current.ID(), err)
	}
	return nil
}

// mayWait returns until when the execution of an attempt may be in the wait between two evaluations
// of the gate, which began before the last change of the run or, once the job runs, before it was
// started. due is when the next step is due; at the end of the window the execution is awake.
func mayWait(current run.Run, due time.Time) time.Time {
	p, since := current.Progress, current.UpdatedAt
	switch {
	case !p.StartedAt.IsZero():
		since = p.StartedAt
	case current.Status == run.Pending && !due.Equal(p.NextEvaluation):
		return time.Time{}
	}
	return since.Add(p.Opening.Limits.Interval)
}

func executionInput(current run.Run, generation int) string {
	text, _ := json.Marshal(ExecutionInput{
		Pipeline: string(current.Pipeline), Schedule: string(current.Schedule), Date: current.Period.String(),
		Attempt: current.Attempt, Generation: generation,
	})
	return string(text)
}

// TaskInput is the payload of a call by Scheduler.
type TaskInput struct {
	Mode string `json:"mode,omitempty"` // of the sla-monitor
	Task string `json:"task"`
}

// later schedules a task.
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

// entry is a schedule to be created.
type entry struct {
	name     string
	at       time.Time
	function string
	input    string
}

// entry returns the schedule of a task at an instant. Scheduler has a resolution of one minute: the
// instant is rounded up, so that the task is due when it fires.
func (r *Relay) entry(t store.Task, when time.Time) (entry, error) {
	at := minuteOf(when)
	target, in := r.Settings.StreamRouter, TaskInput{Task: t.ID}
	if mode, is := slaModes[t.Kind]; is {
		target, in.Mode = r.Settings.SLAMonitor, mode
	}
	text, err := json.Marshal(in)
	return entry{name: entryName(t, at), at: at, function: target, input: string(text)}, err
}

// minuteOf returns the minute at which Scheduler calls for an instant: rounded up.
func minuteOf(when time.Time) time.Time {
	at := when.UTC().Truncate(time.Minute)
	if at.Before(when) {
		at = at.Add(time.Minute)
	}
	return at
}

const (
	longestExecution = 80 // the limit of Step Functions
	longestPipeline  = 40 // of the pipeline's id in a name
)

// executionName returns the name of the execution that runs an attempt. A name is reserved for 90
// days, so if the execution ends before the attempt, the next one gets the next generation. The
// hash covers the parts of the attempt's id that do not fit.
func executionName(key run.Key, attempt, generation int) string {
	tail := fmt.Sprintf("-%s-%s-%d-%d-%s", key.Schedule, stamp(key.Period.String()), attempt, generation,
		hash(8, string(key.Attempt(attempt)), fmt.Sprint(generation)))
	id := plainName(string(key.Pipeline))
	return id[:min(len(id), longestPipeline, longestExecution-len(tail))] + tail
}

// entryName returns the name of the schedule for a task at an instant: moving the task creates
// another schedule, and the old one finds nothing to do.
func entryName(t store.Task, at time.Time) string {
	return fmt.Sprintf("%s-%s-%s", plainName(string(t.Kind)), at.UTC().Format("20060102T1504"), hash(16, t.ID, at.UTC().Format(time.RFC3339)))
}

// stamp returns the digits of a period, the T between day and hour, and the letter of a
// week or quarter.
func stamp(period string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c == 'T' || c == 'W' || c == 'Q' {
			return c
		}
		return -1
	}, period)
}

// plainName keeps the characters that every service allows in names.
func plainName(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			return c
		}
		return '_'
	}, s)
}

// hash returns the first digits of a hash of the parts.
func hash(digits int, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])[:digits]
}

// recent remembers names for the lifetime of the function and forgets the oldest when there are too
// many. Its zero value is ready to use.
type recent struct {
	mu    sync.Mutex
	names map[string]bool
	order []string
}

const maxRecent = 4096

func (r *recent) has(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.names[name]
}

func (r *recent) add(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.names == nil {
		r.names = map[string]bool{}
	}
	if r.names[name] {
		return
	}
	r.names[name] = true
	if r.order = append(r.order, name); len(r.order) > maxRecent {
		delete(r.names, r.order[0])
		r.order = r.order[1:]
	}
}
