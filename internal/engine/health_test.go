package engine_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
)

// absent is a store that does not answer while it is down.
type absent struct {
	store.Store
	away atomic.Bool
}

func (a *absent) answer() error {
	if a.away.Load() {
		return errors.New("the store does not answer")
	}
	return nil
}

func (a *absent) Receive(ctx context.Context, group, consumer string, limit int) ([]store.Change, error) {
	if err := a.answer(); err != nil {
		return nil, err
	}
	return a.Store.Receive(ctx, group, consumer, limit)
}

func (a *absent) Claim(ctx context.Context, q store.ClaimQuery, now time.Time) ([]store.Claim, error) {
	if err := a.answer(); err != nil {
		return nil, err
	}
	return a.Store.Claim(ctx, q, now)
}

func (a *absent) Task(ctx context.Context, id string) (store.Task, error) {
	if err := a.answer(); err != nil {
		return store.Task{}, err
	}
	return a.Store.Task(ctx, id)
}

// onAbsent returns an engine on a store that is down, with a periodic task that only one process
// runs, and a sink.
func (h *host) onAbsent() (*absent, *engine.Engine) {
	s := &absent{Store: h.store}
	s.away.Store(true)
	h.options.Store, h.options.Alone = s, false
	h.options.Notifier = notify.New(notify.Options{Store: s, Sinks: []sink.Sink{&place{note: h.note}}})
	h.options.Handlers.Config = func(context.Context, pipeline.ID) error { return nil }
	h.options.Handlers.Ticks = []engine.Tick{{Name: "look", Every: time.Hour, One: true, Do: func(context.Context, time.Time) error { return nil }}}
	return s, engine.New(h.options)
}

// failing lists the parts that report a failure.
func failing(t *testing.T, e *engine.Engine) []string {
	return slices.Sorted(maps.Keys(e.Health(t.Context(), time.Minute).Failures))
}

func TestReportOfTroubleEndsOnRecovery(t *testing.T) {
	for name, standsBy := range map[string]bool{"the one that works": false, "one that stands by": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				s, e := h.onAbsent()
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error)
				go func() { done <- e.Run(ctx, time.Second) }()
				h.pass(time.Minute)
				if got := failing(t, e); !slices.Equal(got, []string{"feed", "look", "sink place", "tasks"}) {
					t.Errorf("while the store is down, %q fail", got)
				}
				if standsBy {
					h.takeTurns()
				}
				s.away.Store(false)
				h.pass(4 * time.Minute)
				if got := failing(t, e); len(got) > 0 {
					t.Errorf("when the store is back, %q fail", got)
				}
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// takeTurns makes another process the one that runs the periodic task and delivers.
func (h *host) takeTurns() {
	h.Helper()
	b := store.Batch{ID: "turns"}
	b.Schedule(store.Task{ID: "turn/look", Kind: store.Turn, Due: time.Now().AddDate(100, 0, 0)})
	b.Schedule(store.Task{ID: "deliver/place", Kind: store.Deliver, Due: time.Now().AddDate(100, 0, 0)})
	if err := h.store.Commit(h.Context(), b, time.Now()); err != nil {
		h.Fatal(err)
	}
	for _, id := range []string{"turn/look", "deliver/place"} {
		if claims, err := h.store.Claim(h.Context(), store.ClaimQuery{Replica: "there", Task: id, Limit: 1, Lease: time.Hour}, time.Now()); len(claims) != 1 || err != nil {
			h.Fatalf("claimed %v, %v", claims, err)
		}
	}
}

// full is a store that can be read but rejects commits.
type full struct {
	store.Store
	now atomic.Bool
}

func (f *full) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	if f.now.Load() {
		return &store.Fault{Kind: store.Full, Remedy: "free some space"}
	}
	return f.Store.Commit(ctx, b, now)
}

// A task that fails because nothing can be stored stays leased while storing its failure is
// retried. It still counts as overdue.
func TestTasksThatCannotBeStoredAreOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		s := &full{Store: h.store}
		h.options.Store = s
		h.tasks[store.Advance] = func(ctx context.Context, c store.Claim) error {
			b := store.Batch{ID: "done/" + c.Task.ID, Lease: &c.Lease}
			b.Finish(c.Task.ID)
			return s.Commit(ctx, b, time.Now())
		}
		h.schedule("one", time.Now())
		h.schedule("two", time.Now())
		s.now.Store(true)
		e := h.start(time.Second)
		for minute := range 5 {
			h.pass(time.Minute + time.Second)
			if got := e.Health(t.Context(), time.Minute); got.Ready || got.Overdue != 2 || !slices.ContainsFunc(got.Why, func(why string) bool { return strings.Contains(why, "overdue tasks: 2") }) {
				t.Errorf("after minute %d: %+v", minute+1, got)
			}
		}
		s.now.Store(false)
		h.pass(3 * time.Minute)
		if got := e.Health(t.Context(), time.Minute); !got.Ready || got.Overdue != 0 {
			t.Errorf("with space again: %+v", got)
		}
		h.end()
	})
}
