package storetest

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

var eventClaims = []claim{
	{"ListedInTheOrderOfTheirCommits", eventOrder},
	{"AnnouncedOnce", announcedOnce},
	{"FiltersNarrowTheList", eventFilters},
	{"PagesAreStableWhileNewOnesCome", eventPages},
	{"FollowedByPosition", eventsAfter},
	{"EventsSayAllTheySaid", eventsSurvive},
	{"CommittedEventWakesThoseWhoWait", eventWakes},
	{"CursorsAreKept", cursors},
}

func (f *fixture) emit(events ...event.Event) {
	f.t.Helper()
	f.commit(func(b *store.Batch) { b.Emit(events...) })
}

func (f *fixture) events(q store.EventQuery) []string {
	f.t.Helper()
	page, err := f.s.Events(f.ctx, q)
	f.check(err)
	if page.Next != "" {
		f.t.Errorf("there is a page after %d events", len(page.Items))
	}
	return texts(page.Items)
}

func eventOrder(f *fixture) {
	f.emit(newEvent(orders, "b", noon), newEvent(orders, "a", after(time.Hour)))
	f.emit(newEvent(orders, "d", after(-time.Hour)))
	f.emit(newEvent(orders, "c", noon))
	f.same("newest first", f.events(store.EventQuery{}), []string{"c", "d", "a", "b"})
	f.same("oldest first", f.events(store.EventQuery{Ascending: true}), []string{"b", "a", "d", "c"})
}

func announcedOnce(f *fixture) {
	again := newEvent(orders, "b", noon)
	again.Detail.Message = "b again"
	f.emit(newEvent(orders, "a", noon), newEvent(orders, "b", noon), again)
	f.emit(again)
	f.emit(newEvent(orders, "c", noon), again, newEvent(orders, "d", noon))
	f.same("events", f.events(store.EventQuery{Ascending: true}), []string{"a", "b", "c", "d"})
}

func eventFilters(f *fixture) {
	tomorrow := keyOf("orders", "2026-03-04")
	byHand := orders
	byHand.Schedule = "manual"
	f.emit(newEvent(orders, "one", noon), newEvent(tomorrow, "two", after(time.Minute)), newEvent(keyOf("orders-2", "2026-03-03"), "three", noon))
	f.emit(event.New(event.ConfigAccepted, event.About{Pipeline: "orders", Which: "four", At: after(time.Hour)}, "four", event.Config{}))
	f.emit(event.New(event.WatchdogDegraded, event.About{Which: "five", At: after(-time.Hour)}, "five", event.Degraded{}))
	f.emit(newEvent(byHand, "six", noon))
	for name, c := range map[string]struct {
		q    store.EventQuery
		want []string
	}{
		"all":              {store.EventQuery{}, []string{"one", "two", "three", "four", "five", "six"}},
		"pipeline":         {store.EventQuery{Pipeline: "orders"}, []string{"one", "two", "four", "six"}},
		"run":              {store.EventQuery{Key: orders}, []string{"one"}},
		"type":             {store.EventQuery{Type: event.JobCompleted}, []string{"one", "two", "three", "six"}},
		"since":            {store.EventQuery{Since: after(time.Minute)}, []string{"two", "four"}},
		"since just after": {store.EventQuery{Since: after(time.Minute + 1)}, []string{"four"}},
		"several at once":  {store.EventQuery{Pipeline: "orders", Type: event.JobCompleted, Since: noon}, []string{"one", "two", "six"}},
		"nothing":          {store.EventQuery{Pipeline: "gold"}, nil},
	} {
		c.q.Ascending = true
		f.same(name, f.events(c.q), c.want)
		for size := 1; size <= 3; size++ {
			got := walk(f, size, func(limit int, cursor string) (store.Page[event.Event], error) {
				c.q.Limit, c.q.Cursor = limit, cursor
				return f.s.Events(f.ctx, c.q)
			})
			f.same(name+" in pages", texts(got), c.want)
		}
	}
}

func eventPages(f *fixture) {
	var want []string
	for i := range 7 {
		name := fmt.Sprint("old ", 6-i)
		want = append(want, fmt.Sprint("old ", i))
		f.emit(newEvent(orders, name, noon))
	}
	n := 0
	for size := 1; size <= 8; size += f.stride() {
		first := true
		got := walk(f, size, func(limit int, cursor string) (store.Page[event.Event], error) {
			if !first {
				n++
				f.emit(newEvent(keyOf("silver", "2026-03-03"), fmt.Sprint("new ", n), noon))
			}
			first = false
			return f.s.Events(f.ctx, store.EventQuery{Pipeline: "orders", Limit: limit, Cursor: cursor})
		})
		f.same("pages", texts(got), want)
	}
	_, err := f.s.Events(f.ctx, store.EventQuery{Cursor: "nonsense"})
	f.wantErr("a cursor that no query returned", err, store.ErrCursor)
}

func eventsAfter(f *fixture) {
	for i := range 5 {
		f.emit(newEvent(orders, fmt.Sprint(2*i), noon), newEvent(orders, fmt.Sprint(2*i+1), noon))
	}
	var got []string
	at := store.Position(0)
	for {
		some, err := f.s.EventsAfter(f.ctx, at, 3)
		f.check(err)
		if len(some) == 0 {
			break
		}
		if len(some) > 3 {
			f.t.Errorf("asked for 3 events, got %d", len(some))
		}
		for _, e := range some {
			if e.Position <= at {
				f.t.Errorf("position %d came after %d", e.Position, at)
			}
			at = e.Position
			got = append(got, e.Event.Detail.Message)
		}
	}
	f.same("events", got, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"})
	again, err := f.s.EventsAfter(f.ctx, 0, 1)
	f.check(err)
	f.same("from the beginning", again[0].Event.Detail.Message, "0")
	f.emit(newEvent(orders, "10", noon))
	more, err := f.s.EventsAfter(f.ctx, at, 0)
	f.check(err)
	f.same("the next", len(more), 1)
}

func eventsSurvive(f *fixture) {
	code := 75
	given := []event.Event{
		event.New(event.JobFailed, event.Of(opened(orders), noon), "failed <hard>", event.Finished{Category: run.Transient, ExitCode: &code, DurationSeconds: 1<<53 + 1}),
		event.New(event.ScheduleMissed, event.About{Pipeline: "orders", Date: on("2026-11-01T01-05:00"), At: noon, CausedBy: "the watchdog"}, "missed", event.Missed{Dates: []string{"a", "b"}}),
	}
	f.emit(given...)
	page, err := f.s.Events(f.ctx, store.EventQuery{Ascending: true})
	f.check(err)
	f.same("events", page.Items, given)
}

func eventWakes(f *fixture) {
	changed := f.s.EventsChanged()
	f.emit(newEvent(orders, "one", noon))
	f.await("an event", changed)
	changed = f.s.EventsChanged()
	f.emit(newEvent(orders, "two", noon))
	f.await("another event", changed)
}

func cursors(f *fixture) {
	at := func(name string) store.Position {
		f.t.Helper()
		got, err := f.s.Cursor(f.ctx, name)
		f.check(err)
		return got
	}
	f.same("never set", at("hook"), store.Position(0))
	f.check(f.s.SetCursor(f.ctx, "hook", 1<<40))
	f.check(f.s.SetCursor(f.ctx, "log", 3))
	f.same("hook", at("hook"), store.Position(1<<40))
	f.check(f.s.SetCursor(f.ctx, "hook", 2))
	f.same("moved back", at("hook"), store.Position(2))
	f.check(f.s.DropCursor(f.ctx, "hook"))
	f.check(f.s.DropCursor(f.ctx, "never set"))
	f.same("dropped", at("hook"), store.Position(0))
	f.same("log", at("log"), store.Position(3))
}
