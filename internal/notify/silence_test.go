package notify_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

func (w *world) silence(pattern string, t event.Type, length time.Duration) notify.Silence {
	w.Helper()
	s, err := w.n.Silence(w.Context(), notify.Silence{Pipeline: pattern, Type: t, By: "ann", Why: "maintenance", Until: w.now.Add(length)}, w.now)
	w.check(err)
	return s
}

// by returns the silence that suppressed the alert about e.
func (w *world) by(e event.Event) string {
	w.Helper()
	silenced, err := w.n.Silenced(w.Context())
	w.check(err)
	return silenced(e)
}

func TestSilenceSuppressesOnlyAlerts(t *testing.T) {
	w := newWorld(t)
	w.emit(w.failure("silver-a", "before"))
	w.now = w.now.Add(time.Second)
	s := w.silence("silver-*", "", time.Hour)
	during := w.failure("silver-a", "during")
	w.emit(during, w.failure("gold-a", "of another"))
	w.now = w.now.Add(time.Hour)
	after := w.failure("silver-a", "after")
	w.emit(after)
	w.turn()
	w.want("sent", "before", "of another", "after")
	page, err := w.store.Events(t.Context(), store.EventQuery{})
	w.check(err)
	if len(page.Items) != 4 {
		t.Errorf("%d events are recorded", len(page.Items))
	}
	if got := w.by(during); got != s.ID {
		t.Errorf("silenced by %q, want %q", got, s.ID)
	}
	if got := w.by(after); got != "" {
		t.Errorf("an event after its end is silenced by %q", got)
	}
	info := event.New(event.JobCompleted, event.About{Pipeline: "silver-a", Schedule: pipeline.ByCron, At: during.Time}, "fine", event.Finished{})
	if got := w.by(info); got != "" {
		t.Errorf("an event that is not routed is silenced by %q", got)
	}
}

func TestSilenceOfATypeSuppressesOnlyThatType(t *testing.T) {
	w := newWorld(t)
	w.silence("*", event.SLABreach, time.Hour)
	about := event.About{Pipeline: "orders", Schedule: pipeline.ByCron, At: w.now}
	w.emit(event.New(event.SLABreach, about, "late", event.Deadline{}), w.failure("orders", "failed"))
	w.turn()
	w.want("sent", "failed")
}

func TestPipelineSilenceDoesNotCoverTheWatchdog(t *testing.T) {
	w := newWorld(t)
	w.silence("*", "", time.Hour)
	w.emit(event.New(event.WatchdogDegraded, event.About{At: w.now}, "blind", event.Degraded{}), w.failure("orders", "failed"))
	w.turn()
	w.want("sent", "blind")
}

func TestAuditRecordCannotBeSilenced(t *testing.T) {
	w := newWorld(t)
	e := event.New(event.Audit, event.About{Pipeline: "orders", Which: "1", At: w.now}, "ann: add-silence", event.Audited{})
	for _, s := range []notify.Silence{{Pipeline: "*", Until: w.now.Add(time.Hour)}, {Pipeline: "*", Type: event.Audit, Until: w.now.Add(time.Hour)}} {
		if s.Covers(e) {
			t.Errorf("a silence of type %q suppresses the audit record", s.Type)
		}
	}
}

func TestSilencesAreListedWithSuppressedCountsAndEnd(t *testing.T) {
	w := newWorld(t)
	first := w.silence("silver-*", "", time.Hour)
	w.emit(w.failure("silver-a", "1"), w.failure("silver-b", "2"), w.failure("gold", "3"))
	w.now = w.now.Add(time.Minute)
	ended, err := w.n.EndSilence(t.Context(), first.ID, "bob", "done early", w.now)
	w.check(err)
	if ended.EndedBy != "bob" || ended.EndedWhy != "done early" || !ended.End().Equal(w.now) {
		t.Errorf("ended as %+v", ended)
	}
	again, err := w.n.EndSilence(t.Context(), first.ID, "eve", "once more", w.now.Add(time.Second))
	if diff := cmp.Diff(ended, again); diff != "" || err != nil {
		t.Errorf("ended twice (-first +second):\n%s%v", diff, err)
	}
	w.emit(w.failure("silver-a", "4"))
	w.turn()
	w.want("sent", "3", "4")
	if _, err := w.n.EndSilence(t.Context(), "nobody's", "bob", "", w.now); !errors.Is(err, notify.ErrNoSilence) {
		t.Errorf("got %v", err)
	}
	second := w.silence("gold", "", time.Hour)
	active, err := w.n.Silences(t.Context(), false, w.now)
	w.check(err)
	if diff := cmp.Diff([]notify.Standing{{Silence: second, Active: true}}, active); diff != "" {
		t.Errorf("active (-want +got):\n%s", diff)
	}
	all, err := w.n.Silences(t.Context(), true, w.now)
	w.check(err)
	counts := map[string]int{}
	for _, s := range all {
		counts[s.ID] = s.Suppressed
	}
	if diff := cmp.Diff(map[string]int{first.ID: 2, second.ID: 0}, counts); diff != "" {
		t.Errorf("suppressed (-want +got):\n%s", diff)
	}
}

// counting is a store that counts what is read.
type counting struct {
	*memory.Store
	events   int
	silences int // times that they were listed
}

func (c *counting) EventsAfter(ctx context.Context, after store.Position, limit int) ([]store.StoredEvent, error) {
	events, err := c.Store.EventsAfter(ctx, after, limit)
	c.events += len(events)
	return events, err
}

func (c *counting) Notes(ctx context.Context, kind store.NoteKind) ([]store.Note, error) {
	if kind == store.SilenceNote {
		c.silences++
	}
	return c.Store.Notes(ctx, kind)
}

func (c *counting) Events(ctx context.Context, q store.EventQuery) (store.Page[event.Event], error) {
	page, err := c.Store.Events(ctx, q)
	c.events += len(page.Items)
	return page, err
}

// The event log may be long, and there may be several silences.
func TestSilencesAreCountedWithoutReadingAllEvents(t *testing.T) {
	w := newWorld(t)
	s := &counting{Store: w.store}
	w.options.Store = s
	w.begin()
	suppressed := func() (counts []int) {
		t.Helper()
		all, err := w.n.Silences(t.Context(), true, w.now)
		w.check(err)
		for _, one := range all {
			counts = append(counts, one.Suppressed)
		}
		return counts
	}
	w.failures("silver-old", 3000)
	w.now = w.now.Add(24 * time.Hour)
	for range 5 {
		w.silence("silver-*", "", time.Hour)
	}
	w.failures("silver-a", 50)
	s.events = 0
	if diff := cmp.Diff([]int{50, 50, 50, 50, 50}, suppressed()); diff != "" {
		t.Errorf("suppressed (-want +got):\n%s", diff)
	}
	if s.events > 500 {
		t.Errorf("%d events were read for 5 silences of 50 events, of %d in the log", s.events, 3050)
	}
	s.events = 0
	w.failures("silver-b", 2)
	if diff := cmp.Diff([]int{52, 52, 52, 52, 52}, suppressed()); diff != "" || s.events != 2 {
		t.Errorf("read %d events for 2 new ones; suppressed (-want +got):\n%s", s.events, diff)
	}
	w.now = w.now.Add(3 * time.Hour)
	w.failures("silver-c", 1500)
	suppressed()
	_, err := w.n.Silences(t.Context(), false, w.now) // ended ones are not listed, but kept
	w.check(err)
	s.events = 0
	if diff := cmp.Diff([]int{52, 52, 52, 52, 52}, suppressed()); diff != "" || s.events != 0 {
		t.Errorf("read %d events for ended silences; suppressed (-want +got):\n%s", s.events, diff)
	}
}

func TestEverybodyWhoFollowsEventsSharesOneReadingOfSilences(t *testing.T) {
	for _, ended := range []int{0, 200} { // as many readings, however many silences have ended
		t.Run(fmt.Sprintf("%d ended", ended), func(t *testing.T) { sharesOneReading(t, ended) })
	}
}

func sharesOneReading(t *testing.T, ended int) {
	w := newWorld(t)
	s := &counting{Store: w.store}
	w.options.Store = s
	w.begin()
	for range ended {
		w.silence("orders", "", time.Millisecond)
	}
	s.silences = 0
	follow := func(want string, types ...event.Type) {
		t.Helper()
		w.now = w.now.Add(time.Minute)
		for _, one := range types {
			w.emit(event.New(one, event.About{Pipeline: "orders", Which: w.now.String(), At: w.now}, "", event.Finished{}))
		}
		events, err := w.store.EventsAfter(t.Context(), 0, 100)
		w.check(err)
		for range 50 {
			silenced, err := w.n.SilencedAmong(t.Context(), events)
			w.check(err)
			if got := silenced(events[len(events)-1].Event); got != want {
				t.Fatalf("the last event is silenced by %q, want %q", got, want)
			}
		}
	}
	follow("", event.JobTriggered)
	if s.silences != 0 {
		t.Errorf("silences were read %d times although nothing alerts", s.silences)
	}
	follow("", event.JobFailed)
	one := w.silence("orders", "", time.Hour)
	follow(one.ID, event.JobFailed)
	_, err := w.n.EndSilence(t.Context(), one.ID, "ann", "done", w.now.Add(time.Second))
	w.check(err)
	follow("", event.JobFailed)
	if s.silences != 3 {
		t.Errorf("50 followers read the silences %d times for 3 events that alert", s.silences)
	}
}
