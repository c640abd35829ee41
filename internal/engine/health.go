package engine

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"
)

// health remembers what went wrong last, and which periodic work was done when.
type health struct {
	mu       sync.Mutex
	failures map[string]Failure
	last     map[string]time.Time
}

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
	h.failures[part] = Failure{At: time.Now(), Error: err.Error()}
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
	h.last[part] = at
	delete(h.failures, part)
}

// Health is how the engine stands.
type Health struct {
	Ready       bool                 `json:"ready"`
	Why         []string             `json:"why,omitempty"` // it is not ready
	FeedBacklog int                  `json:"feedBacklog"`
	FeedLag     time.Duration        `json:"feedLag"`
	TaskLag     time.Duration        `json:"taskLag"`
	Failures    map[string]Failure   `json:"failures,omitempty"`
	Last        map[string]time.Time `json:"last,omitempty"`
}

// Health says whether feed and timers are within an interval of where they should be.
func (e *Engine) Health(ctx context.Context, interval time.Duration) Health {
	now := time.Now()
	e.health.mu.Lock()
	h := Health{Failures: maps.Clone(e.health.failures), Last: maps.Clone(e.health.last)}
	e.health.mu.Unlock()
	n, oldest, err := e.Store.Backlog(ctx, Group)
	if err != nil {
		h.Why = append(h.Why, "the store does not answer")
		return h
	}
	h.FeedBacklog = n
	if n > 0 {
		h.FeedLag = now.Sub(oldest)
	}
	overdue, err := e.Store.Overdue(ctx, now.Add(-interval), 1)
	if err != nil {
		h.Why = append(h.Why, "the store does not answer")
		return h
	}
	if len(overdue) > 0 {
		h.TaskLag = now.Sub(overdue[0].Due)
	}
	if h.FeedLag > interval {
		h.Why = append(h.Why, fmt.Sprintf("the feed is %s behind", h.FeedLag.Round(time.Second)))
	}
	if h.TaskLag > interval {
		h.Why = append(h.Why, fmt.Sprintf("timers are %s behind", h.TaskLag.Round(time.Second)))
	}
	h.Ready = len(h.Why) == 0
	return h
}
