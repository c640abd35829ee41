// Package sinktest is the shared part of sink tests: an alert, a store of threads, and the suite
// that every HTTP sink passes.
package sinktest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sink"
)

// Noon is when alerts are raised.
var Noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

// Clock always returns Noon.
func Clock() time.Time { return Noon }

// Alert returns an alert about the orders of 3 March. Two with different messages are two events.
func Alert(t event.Type, message string, extra event.Extra) sink.Alert {
	date, _ := period.Parse("2026-03-03")
	about := event.About{Pipeline: "orders", Schedule: pipeline.ByCron, Date: date, Attempt: 1, At: Noon, Which: message}
	return sink.Alert{
		Event: event.New(t, about, message, extra), Count: 1, Since: Noon, Owner: "data-team",
		Links: sink.Links{Run: "https://interlock.example/run", Pipeline: "https://interlock.example/pipeline"},
	}
}

// Verdict classifies an error as dispatchers do: taken, refused, mend, busy or again.
func Verdict(err error) string {
	switch {
	case err == nil:
		return "taken"
	case errors.As(err, new(*sink.Refused)):
		return "refused"
	case errors.As(err, new(*sink.Misconfigured)):
		return "mend"
	case errors.As(err, new(*sink.Busy)):
		return "busy"
	default:
		return "again"
	}
}

// Threads stores threads in memory.
type Threads struct {
	mu     sync.Mutex
	kept   map[string]sink.Thread
	Broken func(t sink.Thread) bool // reports whether a save fails; nil for never
}

// NewThreads remembers nothing yet.
func NewThreads() *Threads { return &Threads{kept: map[string]sink.Thread{}} }

// Thread returns the thread that was saved last under key.
func (m *Threads) Thread(_ context.Context, key string) (sink.Thread, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t, ok := m.kept[key]; ok {
		return t, nil
	}
	return sink.Thread{Key: key}, nil
}

// SaveThread replaces the version of t that was read.
func (m *Threads) SaveThread(_ context.Context, t sink.Thread, _ time.Time) (sink.Thread, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Broken != nil && m.Broken(t) {
		return t, errors.New("the store is away")
	}
	if m.kept[t.Key].Version != t.Version {
		return t, sink.ErrTaken
	}
	t.Version++
	m.kept[t.Key] = t
	return t, nil
}

// Sizes returns the size of each thread in bytes.
func (m *Threads) Sizes() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	sizes := map[string]int{}
	for key, t := range m.kept {
		sizes[key] = len(t.Data)
	}
	return sizes
}
