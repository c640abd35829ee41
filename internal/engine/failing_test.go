package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
)

// failsUntil makes tasks whose id begins with "bad" fail until the given time. Others succeed at
// once.
func (h *host) failsUntil(end time.Time) {
	h.tasks[store.Advance] = func(ctx context.Context, c store.Claim) error {
		if strings.HasPrefix(c.Task.ID, "bad") && time.Now().Before(end) {
			h.note("%s failed", c.Task.ID)
			return errors.New("it cannot be done")
		}
		h.note("%s done", c.Task.ID)
		return h.finish(ctx, c)
	}
}

func TestFailingTasksDelayNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.failsUntil(time.Now().Add(time.Hour))
		for i := range 4 * h.options.Workers {
			h.schedule(fmt.Sprintf("bad-%d", i), time.Now())
		}
		h.start(time.Second)
		h.pass(time.Minute)
		for i := range 10 {
			id := fmt.Sprintf("good-%d", i)
			h.schedule(id, time.Now())
			synctest.Wait()
			if noted := h.noted(); noted[len(noted)-1] != id+" done" {
				t.Fatalf("%s was not done at once: last is %q", id, noted[len(noted)-1])
			}
			h.pass(7 * time.Second)
		}
		h.end()
	})
}

func TestFailingTaskBacksOffAlsoAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.failsUntil(time.Now().Add(time.Hour))
		h.schedule("bad", time.Now())
		h.start(time.Second)
		h.pass(10 * time.Minute)
		if n := len(h.noted()); n < 10 || n > 25 {
			t.Errorf("%d tries in 10 minutes", n)
		}
		h.end()
		before := len(h.noted())
		h.stopped = make(chan struct{})
		h.start(time.Second)
		h.pass(3 * time.Minute)
		if n := len(h.noted()) - before; n < 2 || n > 5 {
			t.Errorf("%d tries in 3 minutes after a restart", n)
		}
		h.end()
	})
}

func TestFailingTaskIsReportedUntilItSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.failsUntil(time.Now().Add(5 * time.Minute))
		h.schedule("bad", time.Now())
		e := h.start(time.Second)
		h.pass(4 * time.Minute)
		failing := e.Health(t.Context(), time.Minute).Failing
		if len(failing) != 1 || failing[0].ID != "bad" || failing[0].Failures < 5 || failing[0].Error != "it cannot be done" {
			t.Errorf("failing are %+v", failing)
		}
		if n := e.FailingTasks(); n != 1 {
			t.Errorf("%d tasks fail", n)
		}
		h.pass(3 * time.Minute)
		if failing := e.Health(t.Context(), time.Minute).Failing; len(failing) > 0 {
			t.Errorf("failing are %+v although it was done", failing)
		}
		h.end()
		h.announced("INFRA_FAILURE about orders")
	})
}

// announced compares the events in the store.
func (h *host) announced(want ...string) {
	h.Helper()
	page, err := h.store.Events(h.Context(), store.EventQuery{Ascending: true})
	if err != nil {
		h.Fatal(err)
	}
	var got []string
	for _, e := range page.Items {
		got = append(got, fmt.Sprintf("%s about %s", e.Type, e.Detail.Pipeline))
		if err := e.Validate(); err != nil {
			h.Error(err)
		}
		if extra, is := e.Detail.Extra.(event.Infra); is && extra.Error == "" {
			h.Errorf("%s does not say what went wrong", e.Type)
		}
	}
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		h.Errorf("announced %q, want %q", got, want)
	}
}

func TestTaskOfAnUnknownKindIsSetAsideAndReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		s := &counted{Store: h.store}
		h.options.Store = s
		h.failsUntil(time.Now())
		b := store.Batch{ID: "of a newer version"}
		b.Schedule(store.Task{ID: "new", Kind: "not invented yet", Pipeline: "orders", Due: time.Now()})
		if err := h.store.Commit(t.Context(), b, time.Now()); err != nil {
			t.Fatal(err)
		}
		e := h.start(time.Second)
		h.pass(10 * time.Minute)
		h.schedule("good", time.Now())
		h.pass(time.Second)
		if noted := h.noted(); len(noted) != 1 || noted[0] != "good done" {
			t.Errorf("noted %q", noted)
		}
		failing := e.Health(t.Context(), time.Minute).Failing
		if len(failing) != 1 || !strings.Contains(failing[0].Error, `"not invented yet"`) {
			t.Errorf("failing are %+v", failing)
		}
		if n := s.claims.Load(); n > 700 { // it polls once a second
			t.Errorf("%d claims in 10 minutes", n)
		}
		h.end()
		h.announced("INFRA_FAILURE about orders")
	})
}

// fullAtFirst is a store whose disk is full until some time.
type fullAtFirst struct {
	store.Store
	until time.Time
}

func (s fullAtFirst) VoidLeases(ctx context.Context) error {
	if time.Now().Before(s.until) {
		return &store.Fault{Kind: store.Full, Remedy: "free some space"}
	}
	return s.Store.VoidLeases(ctx)
}

func TestStoreThatIsFullAtTheStartDelaysTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.failsUntil(time.Now())
		h.options.Store = fullAtFirst{h.store, time.Now().Add(5 * time.Minute)}
		h.schedule("good", time.Now())
		h.start(time.Second)
		h.pass(4 * time.Minute)
		if noted := h.noted(); len(noted) > 0 {
			t.Errorf("it worked before it could end the old leases: %q", noted)
		}
		h.pass(time.Minute + 10*time.Second)
		if noted := h.noted(); len(noted) != 1 {
			t.Errorf("done: %q", noted)
		}
		h.end()
	})
}
