package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// poison makes the handling of changes of the pipeline "bad" fail while the returned flag is set.
// Others are recorded.
func (h *host) poison(wrong func(ctx context.Context) error) *atomic.Bool {
	var poisoned atomic.Bool
	poisoned.Store(true)
	h.options.Handlers.Change = func(ctx context.Context, c store.Change, _ time.Time) error {
		if c.Pipeline == "bad" && poisoned.Load() {
			return wrong(ctx)
		}
		h.note("%s v%d", c.Pipeline, c.Version)
		return nil
	}
	return &poisoned
}

// flood writes n readings of the pipeline "bad".
func (h *host) flood(n int) {
	h.Helper()
	for n > 0 {
		var writes []store.Write
		for range min(n, store.MaxWrites) {
			writes = append(writes, store.Write{Pipeline: "bad", Reading: sensor.Reading{Key: "k", Fields: sensor.Fields{"n": int64(n)}}})
		}
		n -= len(writes)
		if _, err := h.store.PutReadings(h.Context(), writes, time.Now()); err != nil {
			h.Fatal(err)
		}
	}
}

func (h *host) backlog() int {
	h.Helper()
	n, _, err := h.store.Backlog(h.Context(), controller.Group)
	if err != nil {
		h.Fatal(err)
	}
	return n
}

// handled counts the changes of a pipeline that were handled, each once.
func (h *host) handled(id string) (n int) {
	for _, what := range slices.Compact(slices.Sorted(slices.Values(h.noted()))) {
		if strings.HasPrefix(what, id) {
			n++
		}
	}
	return n
}

func TestStuckPipelineDelaysNoOtherHoweverManyOfItsChangesWait(t *testing.T) {
	for name, wrong := range map[string]func(context.Context) error{
		"it fails":  func(context.Context) error { return errors.New("cannot") },
		"it panics": func(context.Context) error { panic("cannot") },
		"it hangs": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				poisoned := h.poison(wrong)
				h.start(0)
				h.flood(1)
				h.pass(30 * time.Second)
				const many = 5_000
				h.flood(many)
				h.put("good", 1)
				h.pass(30 * time.Second)
				if noted := h.noted(); len(noted) != 1 || !strings.HasPrefix(noted[0], "good") {
					t.Errorf("noted %q", noted)
				}
				poisoned.Store(false)
				h.pass(time.Hour)
				if n := h.backlog(); n > 0 {
					t.Errorf("%d changes are not handled", n)
				}
				h.end()
				if bad := h.handled("bad"); bad != many+1 {
					t.Errorf("%d of %d changes were handled in the end", bad, many+1)
				}
			})
		})
	}
}

func TestPoisonedChangeIsSetAsideAndReportedUntilItIsHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		poisoned := h.poison(func(context.Context) error { panic(fmt.Errorf("password %s", "hunter2")) })
		h.start(0)
		h.put("bad", 1)
		h.pass(time.Minute)
		if n := h.backlog(); n > 0 {
			t.Errorf("the feed has not moved past it")
		}
		h.end()
		h.stopped = make(chan struct{})
		e := h.start(0)
		h.pass(5 * time.Minute)
		failing := e.Health(t.Context(), time.Minute).Failing
		if len(failing) != 1 || failing[0].ID != "change/reading/bad/v1" || !strings.Contains(failing[0].Error, "panic: a value of type *fmt.wrapError") && !strings.Contains(failing[0].Error, "panic: a value of type *errors.errorString") {
			t.Errorf("failing are %+v", failing)
		}
		poisoned.Store(false)
		h.pass(20 * time.Minute)
		if failing := e.Health(t.Context(), time.Minute).Failing; len(failing) > 0 {
			t.Errorf("failing are %+v", failing)
		}
		h.end()
		if noted := h.noted(); len(noted) != 1 || noted[0] != "bad v1" {
			t.Errorf("noted %q", noted)
		}
		h.announced("INFRA_FAILURE about bad")
	})
}

// A replica sets a change of a failing pipeline aside and dies before it acknowledges it. The next
// one receives the change in front of so many others that it sets them aside together.
func TestChangesBehindOneThatADeadReplicaSetAsideAreHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		wrong := errors.New("cannot")
		poisoned := h.poison(func(context.Context) error { return wrong })
		other := h.store.Open()
		h.put("bad", 0)
		held, err := other.Receive(t.Context(), controller.Group, "gone", 10)
		if err != nil || len(held) != 1 {
			t.Fatalf("received %+v, %v", held, err)
		}
		if err := other.Commit(t.Context(), store.SetAside(held, 9, wrong, time.Now()), time.Now()); err != nil {
			t.Fatal(err)
		}
		h.start(0)
		h.put("bad", 1)
		h.pass(2 * time.Second) // it is being retried
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		h.pass(time.Second)
		const many = 3_000
		h.flood(many)
		h.pass(time.Minute)
		poisoned.Store(false)
		h.pass(2 * time.Hour)
		if n := h.backlog(); n > 0 {
			t.Errorf("%d changes are not acknowledged", n)
		}
		h.end()
		if bad := h.handled("bad"); bad != many+2 {
			t.Errorf("all changes are acknowledged, but %d of %d were handled", bad, many+2)
		}
	})
}

func TestPanicOfATaskOrATickIsAFailureLikeAnyOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		tries := 0
		h.tasks[store.Advance] = func(ctx context.Context, c store.Claim) error {
			if tries++; tries < 3 {
				panic("not yet")
			}
			return h.done(ctx, c)
		}
		h.options.Handlers.Ticks = []engine.Tick{{Name: "look", Every: time.Minute, Do: func(context.Context, time.Time) error {
			h.note("tick")
			var none []int
			return fmt.Errorf("%d", none[len(h.noted())])
		}}}
		e := h.start(0)
		h.schedule("a", time.Now())
		h.pass(2*time.Minute + time.Second)
		if f := e.Health(t.Context(), time.Minute).Failures["look"]; !strings.Contains(f.Error, "index out of range") {
			t.Errorf("the tick's failure is %+v", f)
		}
		h.end()
		if got := strings.Join(h.noted(), " "); got != "a tick tick" {
			t.Errorf("noted %q", got)
		}
	})
}
