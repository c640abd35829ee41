package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// health remembers what went wrong last, and which periodic work was done when.
type health struct {
	mu       sync.Mutex
	failures map[string]Failure
	tasks    map[string]FailingTask // by id
	last     map[string]time.Time
}

// FailingTask is a task that failed when this process last tried it.
type FailingTask struct {
	store.Task        // as it was stored after the failure, or should have been
	Error      string `json:"error"`
	storeDown  bool   // it failed because the store took no changes
}

// over is when a failure of what is tried again and again, and told each time, must have passed: who handles changes hears of
// none while nothing changes, and a task that failed here may have been done elsewhere.
const over = 2 * time.Minute

// pass forgets such failures.
func (h *health) pass(now time.Time) {
	for _, part := range []string{"feed", "tasks"} {
		if f, failed := h.failures[part]; failed && now.Sub(f.At) > over {
			delete(h.failures, part)
		}
	}
	// Another replica may have carried out what failed here.
	maps.DeleteFunc(h.tasks, func(_ string, t FailingTask) bool { return now.Sub(t.RetryAt) > over })
}

// taskFailed remembers a task that failed, and taskDone that it has been carried out.
func (h *health) taskFailed(t store.Task, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tasks == nil {
		h.tasks = map[string]FailingTask{}
	}
	down := errors.Is(err, store.ErrAway) || store.FaultOf(err) != nil
	h.tasks[t.ID] = FailingTask{Task: t, Error: err.Error(), storeDown: down}
}

func (h *health) taskDone(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.tasks, id)
}

// wall is an instant without its monotonic reading, so that the time a machine was suspended counts.
func wall(t time.Time) time.Time { return t.Round(0) }

// Failure is the last thing that went wrong in one part of the engine.
type Failure struct {
	At    time.Time `json:"at"`
	Error string    `json:"error"`
}

func (h *health) failed(part string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failures == nil {
		h.failures = map[string]Failure{}
	}
	h.failures[part] = Failure{At: wall(time.Now()), Error: err.Error()}
}

// mended forgets what went wrong.
func (h *health) mended(part string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.failures, part)
}

func (h *health) done(part string, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil {
		h.last = map[string]time.Time{}
	}
	h.last[part] = wall(at)
	delete(h.failures, part)
}

// failing lists the tasks that fail, most failures first.
func (h *health) failing() []FailingTask {
	return slices.SortedFunc(maps.Values(h.tasks), func(a, b FailingTask) int {
		return cmp.Or(cmp.Compare(b.Failures, a.Failures), cmp.Compare(a.ID, b.ID))
	})
}

// FailingTasks counts the tasks that failed when this process last tried them.
func (e *Engine) FailingTasks() int {
	e.health.mu.Lock()
	defer e.health.mu.Unlock()
	e.health.pass(time.Now())
	return len(e.health.tasks)
}

// Health is how the engine stands.
type Health struct {
	Ready       bool           `json:"ready"`
	Why         []string       `json:"why,omitempty"` // it is not ready
	FeedBacklog int            `json:"feedBacklog"`
	FeedLag     time.Duration  `json:"feedLag"`
	TaskLag     time.Duration  `json:"taskLag"`
	Overdue     int            `json:"overdue"`             // tasks that this process could not carry out in time
	Elsewhere   map[string]int `json:"elsewhere,omitempty"` // overdue tasks that only another replica may do, by replica
	// Waiting counts the tasks that wait for a worker before they call a job's target, by job type; "" counts start calls that
	// are the job itself.
	Waiting  map[string]int       `json:"waiting,omitempty"`
	Failures map[string]Failure   `json:"failures,omitempty"`
	Failing  []FailingTask        `json:"failing,omitempty"` // most failures first
	Last     map[string]time.Time `json:"last,omitempty"`
}

// countOverdue fills in how many tasks that this process may do are overdue, how late the first of them is, and how many
// others wait for which replica. A task that failed because the store took no changes is held while its failure is being
// stored, so the store does not list it as overdue.
func (h *Health) countOverdue(e *Engine, overdue []store.Task, before, now time.Time) {
	own := map[string]bool{}
	for _, t := range overdue {
		if t.Replica != "" && t.Replica != e.Replica && now.Sub(t.Due) < e.LostAfter {
			if h.Elsewhere == nil {
				h.Elsewhere = map[string]int{}
			}
			h.Elsewhere[t.Replica]++
			continue
		}
		own[t.ID] = true
		h.TaskLag = max(h.TaskLag, now.Sub(t.Due))
	}
	for _, t := range h.Failing {
		if t.storeDown && t.Due.Before(before) {
			own[t.ID] = true
			h.TaskLag = max(h.TaskLag, now.Sub(t.Due))
		}
	}
	h.Overdue = len(own)
}

// stillFailing leaves out the tasks that failed here because the store took no changes, and that another replica has
// carried out since. If the store does not answer, a task counts as failing.
func (e *Engine) stillFailing(ctx context.Context, failing []FailingTask) []FailingTask {
	return slices.DeleteFunc(failing, func(t FailingTask) bool {
		if !t.storeDown {
			return false
		}
		stored, err := e.Store.Task(ctx, t.ID)
		done := errors.Is(err, store.ErrNotFound) || err == nil && !stored.Due.Equal(t.Due)
		if done {
			e.health.taskDone(t.ID)
		}
		return done
	})
}

// Health says whether feed and timers are within an interval of where they should be.
func (e *Engine) Health(ctx context.Context, interval time.Duration) Health {
	now := time.Now()
	e.health.mu.Lock()
	e.health.pass(now)
	h := Health{Failures: maps.Clone(e.health.failures), Last: maps.Clone(e.health.last), Failing: e.health.failing(), Waiting: e.calls.waiting()}
	e.health.mu.Unlock()
	n, oldest, err := e.Store.Backlog(ctx, Group)
	if err != nil {
		h.Why = append(h.Why, fmt.Sprintf("the store does not answer: %v", err))
		return h
	}
	h.FeedBacklog = n
	if n > 0 {
		h.FeedLag = now.Sub(oldest)
	}
	before := now.Add(-interval)
	overdue, err := e.Store.Overdue(ctx, before, store.MaxPage)
	if err != nil {
		h.Why = append(h.Why, fmt.Sprintf("the store does not answer: %v", err))
		return h
	}
	h.Failing = e.stillFailing(ctx, h.Failing)
	h.countOverdue(e, overdue, before, now)
	if h.FeedLag > interval {
		h.Why = append(h.Why, fmt.Sprintf("the feed is %s behind", h.FeedLag.Round(time.Second)))
	}
	if h.TaskLag > interval {
		h.Why = append(h.Why, fmt.Sprintf("timers are %s behind, overdue tasks: %d", h.TaskLag.Round(time.Second), h.Overdue))
	}
	h.Ready = len(h.Why) == 0
	return h
}
