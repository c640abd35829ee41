package notify_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
)

var there = notify.Holder{Replica: "there", Lease: time.Minute}

func TestOneOfTwoReplicasDeliversToASink(t *testing.T) {
	w := newWorld(t)
	w.lease = time.Minute
	w.begin()
	second := notify.New(w.options)
	if o, _, err := second.Claim(t.Context(), w.box, there, w.now.Add(time.Minute-1)); o != nil || err != nil {
		t.Fatalf("the second replica also claimed the sink, %v", err)
	}
	o, _, err := second.Claim(t.Context(), w.box, there, w.now.Add(time.Minute))
	if o == nil || err != nil {
		t.Fatalf("the second replica cannot take over from a dead one, %v", err)
	}
	// The first was only suspended: it must not send anything any more.
	w.failures("orders", 1)
	w.o, w.now = o, w.now.Add(time.Minute)
	w.turn()
	w.want("sent", "0")
}

func TestRemovedSinkKeepsEventsForADayAtMost(t *testing.T) {
	w := newWorld(t)
	w.box.answer = func(event.Event) error { return errAway }
	w.failures("orders", 1)
	w.pass(13 * time.Hour) // the task is postponed before it is due
	w.options.Sinks = []sink.Sink{&box{name: "other"}}
	n := notify.New(w.options)
	w.check(w.store.VoidLeases(t.Context()))
	claim := func() []store.Claim {
		claims, err := w.store.Claim(t.Context(), store.ClaimQuery{Replica: "here", Limit: 10, Lease: time.Minute}, w.now)
		w.check(err)
		return claims
	}
	w.now = w.now.Add(22 * time.Hour)
	if got := claim(); len(got) != 0 {
		t.Fatalf("its task is due after less than a day: %+v", got)
	}
	w.now = w.now.Add(3 * time.Hour)
	claims := claim()
	if len(claims) != 1 || claims[0].Task.Kind != store.Deliver {
		t.Fatalf("due: %+v", claims)
	}
	if gone, err := n.Abandon(t.Context(), claims[0], w.now); gone != "box" || err != nil {
		t.Errorf("abandoned %q, %v", gone, err)
	}
	if trimmed, err := w.store.Trim(t.Context(), store.Retention{Events: time.Hour}, w.now); err != nil || trimmed == 0 {
		t.Errorf("events are still kept: %d, %v", trimmed, err)
	}
}

func TestSinkThatIsOnlyLateIsNotAbandoned(t *testing.T) {
	w := newWorld(t)
	w.now = w.now.Add(25 * time.Hour)
	w.check(w.store.VoidLeases(t.Context()))
	claims, err := w.store.Claim(t.Context(), store.ClaimQuery{Replica: "here", Limit: 10, Lease: time.Minute}, w.now)
	if err != nil || len(claims) != 1 {
		t.Fatalf("due: %+v, %v", claims, err)
	}
	if gone, err := w.n.Abandon(t.Context(), claims[0], w.now); gone != "" || err != nil {
		t.Errorf("abandoned %q, %v", gone, err)
	}
	w.begin()
	w.failures("orders", 1)
	w.turn()
	w.want("sent", "0")
}

func TestWaitingBurstsOfARemovedSinkAreDropped(t *testing.T) {
	w := newWorld(t, grouped(notify.ByPipeline))
	w.failures("orders", 1)
	w.turn()
	w.emit(w.failure("orders", "waits"))
	w.turn()
	box := w.box
	w.box = nil
	w.abandon()
	w.box, w.options.Sinks, w.options.Since = box, []sink.Sink{box}, w.now
	w.begin()
	w.pass(time.Hour)
	w.want("a new sink does not get past events", "0")
}

// abandon drops the sink that the settings no longer name, a day later, and returns the id of its
// task.
func (w *world) abandon() string {
	w.Helper()
	w.options.Sinks = nil
	w.now = w.now.Add(25 * time.Hour)
	w.check(w.store.VoidLeases(w.Context()))
	claims, err := w.store.Claim(w.Context(), store.ClaimQuery{Replica: "here", Limit: 10, Lease: time.Minute}, w.now)
	if err != nil || len(claims) != 1 {
		w.Fatalf("due: %+v, %v", claims, err)
	}
	if gone, err := notify.New(w.options).Abandon(w.Context(), claims[0], w.now); gone != "box" || err != nil {
		w.Errorf("abandoned %q, %v", gone, err)
	}
	return claims[0].Task.ID
}

func TestRemovedSinkIsDroppedHoweverManyBurstsWait(t *testing.T) {
	for _, groups := range []int{store.MaxRows - 1, store.MaxRows, 3 * store.MaxRows} {
		w := newWorld(t, grouped(notify.ByPipeline))
		for i := range groups {
			id := pipeline.ID(fmt.Sprintf("p%d", i))
			w.failures(id, 1)
			w.turn()
			w.emit(w.failure(id, "waits"))
			w.turn()
		}
		task := w.abandon()
		if _, err := w.store.Task(t.Context(), task); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%d groups: the sink's task is still there: %v", groups, err)
		}
	}
}

func TestProcessThatLostItsSinkStoresNothingMore(t *testing.T) {
	w := newWorld(t, grouped(notify.ByPipeline))
	w.lease = time.Minute
	w.begin()
	w.failures("orders", 3)
	first := w.o
	w.check(first.Fill(t.Context(), w.now))
	letter := first.Next(w.now)
	w.now = w.now.Add(time.Minute) // the lease expires
	second, _, err := notify.New(w.options).Claim(t.Context(), w.box, notify.Holder{Replica: "there", Lease: 24 * time.Hour}, w.now)
	if second == nil || err != nil {
		t.Fatalf("the second cannot take over: %v", err)
	}
	w.o = second
	w.pass(10 * time.Minute)
	w.failures("silver", 1)
	w.pass(time.Minute)
	cursor := func() store.Position {
		at, err := w.store.Cursor(t.Context(), "sink/box")
		w.check(err)
		return at
	}
	before := cursor()
	if _, err := first.Record(t.Context(), letter, &sink.Refused{Reason: "no"}, w.now); !errors.Is(err, notify.ErrTakenOver) {
		t.Errorf("the first buried a letter that the second has sent: %v", err)
	}
	if err := first.Save(t.Context(), true, w.now); !errors.Is(err, notify.ErrTakenOver) {
		t.Errorf("the first saved: %v", err)
	}
	if after := cursor(); after != before {
		t.Errorf("the cursor moved from %d to %d", before, after)
	}
	if dead := w.dead(); len(dead) > 0 {
		t.Errorf("dead letters: %+v", dead)
	}
}

// A crash between dropping the cursor and finishing the task must not cause old events to be sent.
func TestSinkThatReturnsDuringAbandonGetsNoOldEvents(t *testing.T) {
	w := newWorld(t)
	w.failures("orders", 1)
	w.turn()
	w.now = w.now.Add(25 * time.Hour)
	w.check(w.store.DropCursor(t.Context(), "sink/box"))
	w.options.Since = w.now
	w.begin()
	w.turn()
	w.want("sent before it was removed", "0")
}
