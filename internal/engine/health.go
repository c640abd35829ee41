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

	"github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/store"
)

// health remembers the last failure of each part, and when each periodic task last succeeded.
type health struct {
	mu       sync.Mutex
	failures map[string]Failure
	tasks    map[string]FailingTask // by id
	last     map[string]time.Time
}

func newHealth() *health {
	return &health{failures: map[string]Failure{}, tasks: map[string]FailingTask{}, last: map[string]time.Time{}}
}

// FailingTask is a task that failed when this process last tried it.
type FailingTask struct {
	store.Task        // as stored after the failure, or as it would be if the store had accepted it
	Error      string `json:"error"`
	storeDown  bool   // it failed because the store rejected writes or was down
}

// over is the age after which a failure counts as past. It is for work that reports a failure on
// every retry: the feed reports no success while nothing changes, and another process may have
// completed a task that failed here.
const over = 2 * time.Minute

// pass drops failures that are past. The caller holds mu.
func (h *health) pass(now time.Time) {
	for _, part := range []string{"feed", "tasks"} {
		if f, failed := h.failures[part]; failed && now.Sub(f.At) > over {
			delete(h.failures, part)
		}
	}
	maps.DeleteFunc(h.tasks, func(_ string, t FailingTask) bool { return now.Sub(t.RetryAt) > over })
}

// taskFailed records a failing task; taskDone removes it.
func (h *health) taskFailed(t store.Task, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	down := errors.Is(err, store.ErrAway) || store.FaultOf(err) != nil
	h.tasks[t.ID] = FailingTask{Task: t, Error: err.Error(), storeDown: down}
}

func (h *health) taskDone(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.tasks, id)
}

// wall returns t without its monotonic reading, so that time during which the machine was suspended
// counts.
func wall(t time.Time) time.Time { return t.Round(0) }

// Failure is the last failure of one part of the engine.
type Failure struct {
	At    time.Time `json:"at"`
	Error string    `json:"error"`
}

func (h *health) failed(part string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures[part] = Failure{At: wall(time.Now()), Error: err.Error()}
}

// mended drops the failure of a part.
func (h *health) mended(part string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.failures, part)
}

func (h *health) done(part string, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last[part] = wall(at)
	delete(h.failures, part)
}

// failing lists the failing tasks, most failures first. The caller holds mu.
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

// Health is the state of the engine.
type Health struct {
	Ready       bool           `json:"ready"`
	Why         []string       `json:"why,omitempty"` // reasons it is not ready
	FeedBacklog int            `json:"feedBacklog"`
	FeedLag     time.Duration  `json:"feedLag"`
	TaskLag     time.Duration  `json:"taskLag"`
	Overdue     int            `json:"overdue"`             // overdue tasks that this process may run
	Elsewhere   map[string]int `json:"elsewhere,omitempty"` // overdue tasks that only another replica may run, by replica
	// Waiting counts the tasks that wait for a worker to call a job's target, by job type; ""
	// counts start calls that block for the whole job.
	Waiting  map[string]int       `json:"waiting,omitempty"`
	Failures map[string]Failure   `json:"failures,omitempty"`
	Failing  []FailingTask        `json:"failing,omitempty"` // most failures first
	Last     map[string]time.Time `json:"last,omitempty"`
}

// countOverdue sets how many tasks that this process may run are overdue, how late the oldest is,
// and how many overdue tasks wait for each other replica. A task that failed because the store was
// down stays leased until its failure is stored, so the store does not list it as overdue; it is
// counted here from Failing.
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

// stillFailing drops tasks that failed here because the store was down, and that another replica
// has completed since. If the store does not answer, a task still counts as failing.
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

// Health reports the engine's state. It is ready if feed and timers lag by no more than interval.
func (e *Engine) Health(ctx context.Context, interval time.Duration) Health {
	now := time.Now()
	e.health.mu.Lock()
	e.health.pass(now)
	h := Health{Failures: maps.Clone(e.health.failures), Last: maps.Clone(e.health.last), Failing: e.health.failing(), Waiting: e.calls.waiting()}
	e.health.mu.Unlock()
	n, oldest, err := e.Store.Backlog(ctx, controller.Group)
	var overdue []store.Task
	before := now.Add(-interval)
	if err == nil {
		h.FeedBacklog = n
		if n > 0 {
			h.FeedLag = now.Sub(oldest)
		}
		overdue, err = e.Store.Overdue(ctx, before, store.MaxPage)
	}
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
