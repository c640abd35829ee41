package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// host runs an engine in a synctest bubble and records what it does.
type host struct {
	*testing.T
	store   *memory.Store
	options engine.Options
	tasks   map[store.TaskKind]func(context.Context, store.Claim) error
	stop    context.CancelFunc
	stopped chan struct{}

	mu    sync.Mutex
	notes []string
}

func newHost(t *testing.T) *host {
	s := memory.New()
	h := &host{T: t, store: s, tasks: map[store.TaskKind]func(context.Context, store.Claim) error{}, stopped: make(chan struct{})}
	h.options = engine.Options{
		Store: s, Logger: slog.New(slog.DiscardHandler), Notifier: notify.New(notify.Options{Store: s}),
		Replica: "here", Workers: 2, Lease: 30 * time.Second, LostAfter: 10 * time.Minute, Alone: true,
		Handlers: engine.Handlers{
			Change: func(context.Context, store.Change, time.Time) error { return nil },
			Task: func(ctx context.Context, c store.Claim) error {
				if handle := h.tasks[c.Task.Kind]; handle != nil {
					return handle(ctx, c)
				}
				return controller.New(controller.Parts{Store: s, Now: time.Now}).Perform(ctx, c)
			},
		},
	}
	return h
}

func (h *host) start(grace time.Duration) *engine.Engine {
	h.Helper()
	ctx, cancel := context.WithCancel(h.Context())
	h.stop = cancel
	e := engine.New(h.options)
	go func() {
		defer close(h.stopped)
		if err := e.Run(ctx, grace); err != nil {
			h.Error(err)
		}
	}()
	synctest.Wait()
	return e
}

func (h *host) end() {
	h.stop()
	<-h.stopped
}

func (h *host) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes = append(h.notes, fmt.Sprintf(format, args...))
}

func (h *host) noted() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.notes)
}

func (h *host) pass(d time.Duration) {
	time.Sleep(d) // the bubble's clock
	synctest.Wait()
}

func (h *host) schedule(id string, due time.Time) {
	h.Helper()
	b := store.Batch{ID: "schedule " + id + due.String()}
	b.Schedule(store.Task{ID: id, Kind: store.Advance, Pipeline: "orders", Due: due})
	if err := h.store.Commit(h.Context(), b, time.Now()); err != nil {
		h.Fatal(err)
	}
}

// finish completes the task of a handler.
func (h *host) finish(ctx context.Context, c store.Claim) error {
	b := store.Batch{ID: fmt.Sprintf("finish %s %d", c.Task.ID, c.Lease.Token), Lease: &c.Lease, Finished: []string{c.Task.ID}}
	return h.store.Commit(ctx, b, time.Now())
}

func (h *host) put(id pipeline.ID, n int) {
	h.Helper()
	w := store.Write{Pipeline: id, Reading: sensor.Reading{Key: "k", Fields: sensor.Fields{"n": int64(n)}}}
	if _, err := h.store.PutReadings(h.Context(), []store.Write{w}, time.Now()); err != nil {
		h.Fatal(err)
	}
}

func TestTaskRunsWhenDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		begin := time.Now()
		h.tasks[store.Advance] = func(ctx context.Context, c store.Claim) error {
			h.note("%s after %s", c.Task.ID, time.Since(begin))
			return h.finish(ctx, c)
		}
		h.start(time.Second)
		h.schedule("now", begin)
		h.schedule("later", begin.Add(90*time.Second))
		h.pass(2 * time.Minute)
		h.end()
		if diff := cmp.Diff([]string{"now after 0s", "later after 1m30s"}, h.noted()); diff != "" {
			t.Errorf("carried out (-want +got):\n%s", diff)
		}
	})
}

func TestFailedTaskIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.tasks[store.Advance] = func(ctx context.Context, c store.Claim) error {
			h.note("try")
			if len(h.noted()) < 3 {
				return errors.New("not yet")
			}
			return h.finish(ctx, c)
		}
		h.start(time.Second)
		h.schedule("a", time.Now())
		h.pass(5 * time.Minute)
		h.end()
		if n := len(h.noted()); n != 3 {
			t.Errorf("%d tries, want 3", n)
		}
	})
}

func TestLeaseOfALongTaskIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.tasks[store.Advance] = func(ctx context.Context, c store.Claim) error {
			h.note("begun")
			time.Sleep(5 * time.Minute) // far longer than the lease
			if ctx.Err() != nil {
				h.note("lost")
			}
			return h.finish(ctx, c)
		}
		h.start(time.Second)
		h.schedule("a", time.Now())
		h.pass(10 * time.Minute)
		h.end()
		if diff := cmp.Diff([]string{"begun"}, h.noted()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestChangesOfOnePipelineComeInOrderAndAFailingOneDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		broken := true
		h.options.Handlers.Change = func(_ context.Context, c store.Change, _ time.Time) error {
			h.mu.Lock()
			fails := broken && c.Pipeline == "bad"
			h.mu.Unlock()
			if fails {
				return errors.New("cannot")
			}
			h.note("%s v%d", c.Pipeline, c.Version)
			return nil
		}
		h.start(time.Second)
		for n := range 3 {
			h.put("bad", n)
			h.put("good", n)
		}
		h.pass(time.Second)
		if diff := cmp.Diff([]string{"good v2", "good v4", "good v6"}, h.noted()); diff != "" {
			t.Errorf("while one fails (-want +got):\n%s", diff)
		}
		h.mu.Lock()
		broken = false
		h.mu.Unlock()
		h.pass(time.Minute)
		h.end()
		if diff := cmp.Diff([]string{"bad v1", "bad v3", "bad v5"}, h.noted()[3:]); diff != "" {
			t.Errorf("afterwards (-want +got):\n%s", diff)
		}
	})
}

func TestStoppingFinishesRunningTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.tasks[store.Advance] = func(ctx context.Context, c store.Claim) error {
			time.Sleep(5 * time.Second)
			h.note("finished %s", c.Task.ID)
			return h.finish(ctx, c)
		}
		h.start(10 * time.Second)
		h.schedule("a", time.Now())
		h.pass(time.Second)
		h.stop()
		h.schedule("b", time.Now()) // not claimed any more
		<-h.stopped
		if diff := cmp.Diff([]string{"finished a"}, h.noted()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestStoppingReleasesTasksThatDoNotFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.tasks[store.Advance] = func(ctx context.Context, _ store.Claim) error {
			<-ctx.Done()
			return ctx.Err()
		}
		h.start(10 * time.Second)
		h.schedule("a", time.Now())
		h.pass(time.Second)
		begin := time.Now()
		h.end()
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("stopping took %s", took)
		}
		claims, err := h.store.Claim(t.Context(), store.ClaimQuery{Replica: "other", Limit: 1, Lease: time.Minute}, time.Now())
		if err != nil || len(claims) != 1 {
			t.Errorf("the task was not released: %v, %v", claims, err)
		}
	})
}

func TestTickRunsAtItsInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		begin := time.Now()
		h.options.Handlers.Ticks = []engine.Tick{{Name: "watchdog", Every: time.Minute, First: true, Do: func(_ context.Context, now time.Time) error {
			h.note("%s", now.Sub(begin))
			return errors.New("a failing tick goes on")
		}}}
		h.start(time.Second)
		h.pass(2*time.Minute + time.Second)
		h.end()
		if diff := cmp.Diff([]string{"0s", "1m0s", "2m0s"}, h.noted()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// deafOnce is a store whose first acknowledgement of changes fails.
type deafOnce struct {
	store.Store
	asked int
}

func (d *deafOnce) Done(ctx context.Context, group string, changes []store.Change) error {
	if d.asked++; d.asked == 1 {
		return errors.New("the store does not answer")
	}
	return d.Store.Done(ctx, group, changes)
}

// A handled change does not hold up code that waits for the feed to pass it, such as the watchdog,
// until the controller restarts.
func TestHandledChangeIsSaidToBeUntilItIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.options.Store = &deafOnce{Store: h.store}
		h.options.Handlers.Change = func(_ context.Context, c store.Change, _ time.Time) error {
			h.note("change %d", c.Position)
			return nil
		}
		h.start(0)
		defer h.end()
		h.put("orders", 1)
		h.pass(time.Minute)
		if n, _, err := h.store.Backlog(h.Context(), controller.Group); n != 0 || err != nil {
			t.Errorf("%d changes are not acknowledged although they were handled: %v", n, err)
		}
		if diff := cmp.Diff([]string{"change 1"}, h.noted()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
