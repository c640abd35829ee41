package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// replica returns a host on the same store as h.
func (h *host) replica(name string) *host {
	other := newHost(h.T)
	other.store = h.store.Open()
	h.options.Alone, other.options.Alone = false, false
	h.options.Notifier, other.options.Notifier = nil, nil
	other.options.Store, other.options.Replica = other.store, name
	return other
}

func TestOnlyOneOfSeveralProcessesRunsATick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newHost(t)
		b := a.replica("there")
		for _, h := range []*host{a, b} {
			h.options.Handlers.Ticks = []engine.Tick{{Name: "look", Every: time.Minute, First: true, One: true, Do: func(context.Context, time.Time) error {
				h.note("looks")
				return nil
			}}}
		}
		a.start(time.Second)
		b.start(time.Second)
		a.pass(10*time.Minute + time.Second)
		if first, second := len(a.noted()), len(b.noted()); first != 11 || second != 0 {
			t.Errorf("the first ran it %d times and the other %d, want 11 and none", first, second)
		}
		a.end()
		b.pass(2 * time.Second)
		if n := len(b.noted()); n != 1 {
			t.Errorf("the other ran it %d times after the first had stopped, want once immediately", n)
		}
		b.end()
	})
}

// A process that was suspended loses its turn, and notices.
func TestTickStopsWhenItsTurnIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newHost(t)
		a.replica("there")
		looked := make(chan error, 1)
		a.options.Handlers.Ticks = []engine.Tick{{Name: "look", Every: time.Minute, First: true, One: true, Do: func(ctx context.Context, _ time.Time) error {
			<-ctx.Done()
			looked <- ctx.Err()
			return ctx.Err()
		}}}
		a.start(time.Second)
		a.pass(time.Second)
		if err := a.store.VoidLeases(t.Context()); err != nil {
			t.Fatal(err)
		}
		if claims, err := a.store.Claim(t.Context(), store.ClaimQuery{Task: "turn/look", Limit: 1, Lease: time.Hour}, time.Now()); len(claims) != 1 || err != nil {
			t.Fatalf("claimed %v, %v", claims, err)
		}
		a.pass(11 * time.Second)
		select {
		case <-looked:
		default:
			t.Error("it continues although another process has the turn")
		}
		a.end()
	})
}

func TestDefinitionsStoredByOthersAreLoaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newHost(t)
		a.replica("there")
		emit := func(kind event.Type, id pipeline.ID) {
			t.Helper()
			b := store.Batch{ID: fmt.Sprintf("%s %s", kind, id)}
			b.Emit(event.New(kind, event.About{Pipeline: id, At: time.Now()}, "emitted", event.Config{Problems: []string{}}))
			if err := a.store.Commit(t.Context(), b, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		emit(event.ConfigAccepted, "before")
		failures := 1
		a.options.Handlers.Config = func(_ context.Context, id pipeline.ID) error {
			if failures--; failures >= 0 {
				return fmt.Errorf("not now")
			}
			a.note("%s", id)
			return nil
		}
		a.start(time.Second)
		a.pass(time.Second)
		emit(event.ConfigAccepted, "orders")
		emit(event.ConfigRejected, "bad")
		emit(event.ConfigRemoved, "gone")
		synctest.Wait()
		a.end()
		if diff := cmp.Diff([]string{"", "orders", "gone"}, a.noted()); diff != "" {
			t.Errorf("taken (-want +got):\n%s", diff)
		}
	})
}

func TestTasksOfAnotherReplicaDoNotCountAsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newHost(t)
		a.replica("there")
		b := store.Batch{ID: "tasks"}
		b.Schedule(store.Task{ID: "theirs", Kind: store.Advance, Pipeline: "orders", Due: time.Now(), Replica: "there"})
		if err := a.store.Commit(t.Context(), b, time.Now()); err != nil {
			t.Fatal(err)
		}
		e := engine.New(a.options)
		a.pass(5 * time.Minute)
		if h := e.Health(t.Context(), time.Minute); !h.Ready || h.Elsewhere["there"] != 1 {
			t.Errorf("health is %+v, want ready, with one task that waits for the other", h)
		}
		a.pass(6 * time.Minute) // by now this replica may claim it
		if h := e.Health(t.Context(), time.Minute); h.Ready || !strings.Contains(strings.Join(h.Why, " "), "timers are 11m0s behind") {
			t.Errorf("health is %+v, want that timers are late", h)
		}
	})
}

// The change that announces it may be delivered to another process.
func TestJobStartedByThisProcessIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newHost(t)
		key, err := run.ParseKey("orders/cron/2026-03-03")
		if err != nil {
			t.Fatal(err)
		}
		a.options.Handlers.Await = func(ctx context.Context, key run.Key, attempt int) error {
			a.note("%s", key.Attempt(attempt))
			<-ctx.Done()
			return nil
		}
		e := engine.New(a.options)
		e.Began(key, 1) // before Run: running jobs are found at start
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- e.Run(ctx, time.Second) }()
		synctest.Wait()
		e.Began(key, 2)
		e.Began(key, 2)
		synctest.Wait()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := a.noted(); !slices.Equal(got, []string{"orders/cron/2026-03-03/2"}) {
			t.Errorf("awaited %q", got)
		}
	})
}

// counted counts the Claim calls on a store.
type counted struct {
	store.Store
	claims atomic.Int64
}

func (c *counted) Claim(ctx context.Context, q store.ClaimQuery, now time.Time) ([]store.Claim, error) {
	c.claims.Add(1)
	return c.Store.Claim(ctx, q, now)
}

func TestOverdueTaskOfADeadReplicaCausesNoPolling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		s := &counted{Store: h.store}
		h.options.Store = s
		h.tasks[store.Advance] = func(ctx context.Context, c store.Claim) error {
			h.note("%s", c.Task.ID)
			return h.finish(ctx, c)
		}
		b := store.Batch{ID: "of the dead"}
		b.Schedule(store.Task{ID: "lost", Kind: store.Advance, Pipeline: "orders", Due: time.Now(), Replica: "there"})
		if err := h.store.Commit(t.Context(), b, time.Now()); err != nil {
			t.Fatal(err)
		}
		h.start(time.Second)
		h.schedule("own", time.Now().Add(1500*time.Millisecond))
		h.pass(time.Minute)
		if n := s.claims.Load(); n > 100 {
			t.Errorf("%d claims in a minute in which one task is due", n)
		}
		h.pass(h.options.LostAfter)
		h.end()
		if diff := cmp.Diff([]string{"own", "lost"}, h.noted()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestTaskFinishedByAnotherReplicaIsNotOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newHost(t)
		b := store.Batch{ID: "task"}
		b.Schedule(store.Task{ID: "shared", Kind: store.Advance, Pipeline: "orders", Due: time.Now()})
		if err := a.store.Commit(t.Context(), b, time.Now()); err != nil {
			t.Fatal(err)
		}
		a.tasks[store.Advance] = func(context.Context, store.Claim) error {
			done := store.Batch{ID: "done"}
			done.Finish("shared") // as another replica does once the lease has expired
			if err := a.store.Commit(t.Context(), done, time.Now()); err != nil {
				t.Error(err)
			}
			return fmt.Errorf("complete the run: %w", store.ErrAway)
		}
		e := a.start(time.Second)
		a.pass(90 * time.Second)
		if h := e.Health(t.Context(), time.Minute); !h.Ready || h.Overdue != 0 {
			t.Errorf("health is %+v, want ready: the task is done", h)
		}
		a.end()
	})
}
