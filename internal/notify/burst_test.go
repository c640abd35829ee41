package notify_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sink"
)

// counts lists what the box was sent: the last message of each alert, and how many events it
// combines.
func (w *world) counts() []string {
	var out []string
	for _, a := range w.box.alerts {
		out = append(out, fmt.Sprintf("%s×%d", a.Event.Detail.Message, a.Count))
	}
	return out
}

func (w *world) wantCounts(what string, want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.counts()); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func grouped(fields ...notify.Field) notify.Route {
	return notify.Route{Name: "all", Severity: event.Warning, Sinks: []string{"box"}, Interval: 5 * time.Minute, GroupBy: fields}
}

func TestBurstIsTheFirstAlertAtOnceAndOneForTheRest(t *testing.T) {
	w := newWorld(t, grouped(notify.ByPipeline, notify.ByType))
	w.emit(w.failure("orders", "first"))
	w.pass(time.Second)
	for i := range 30 {
		w.emit(w.failure("orders", fmt.Sprint(i)))
		w.pass(time.Second)
	}
	w.emit(w.failure("silver", "another group"))
	w.pass(time.Second)
	w.wantCounts("at once", "first×1", "another group×1")
	w.pass(5 * time.Minute)
	w.wantCounts("after the interval", "first×1", "another group×1", "29×30")
	if since := w.box.alerts[2].Since; !since.Equal(noon.Add(time.Second)) {
		t.Errorf("the burst began at %s", since)
	}
	w.emit(w.failure("orders", "too soon"))
	w.pass(4 * time.Minute)
	w.wantCounts("an interval has to pass after it, too", "first×1", "another group×1", "29×30")
	w.pass(2 * time.Minute)
	w.wantCounts("and then it is sent", "first×1", "another group×1", "29×30", "too soon×1")
}

func TestBurstSurvivesACrash(t *testing.T) {
	w := newWorld(t, grouped(notify.ByPipeline))
	w.emit(w.failure("orders", "first"))
	w.pass(time.Second)
	w.emit(w.failure("orders", "1"), w.failure("orders", "2"), w.failure("orders", "3"))
	w.pass(time.Minute)
	w.begin()
	w.pass(time.Second)
	w.emit(w.failure("orders", "4"))
	w.pass(time.Second)
	w.begin()
	w.wantCounts("before the interval is over", "first×1")
	w.pass(10 * time.Minute)
	w.wantCounts("after it", "first×1", "4×4")
	w.begin()
	w.pass(10 * time.Minute)
	w.wantCounts("once", "first×1", "4×4")
}

func TestEventsDuringASinkOutageAreOneBurst(t *testing.T) {
	w := newWorld(t, grouped(notify.ByType))
	w.box.answer = func(event.Event) error { return errors.New("away") }
	for i := range 50 {
		w.emit(w.failure("orders", fmt.Sprint(i)))
		w.pass(time.Minute)
	}
	w.box.answer = nil
	w.pass(10 * time.Minute)
	w.wantCounts("when it is back", "49×50")
}

func TestRejectedBurstIsOneDeadLetterWithItsCount(t *testing.T) {
	w := newWorld(t, grouped(notify.ByPipeline))
	w.emit(w.failure("orders", "first"))
	w.pass(time.Second)
	w.emit(w.failure("orders", "1"), w.failure("orders", "2"))
	refuse := true
	w.box.answer = func(event.Event) error {
		if refuse {
			return &sink.Refused{Reason: "no"}
		}
		return nil
	}
	w.pass(10 * time.Minute)
	dead := w.dead()
	if len(dead) != 1 || dead[0].Count != 2 || !dead[0].Since.Equal(noon.Add(time.Second)) {
		t.Fatalf("dead letters: %+v", dead)
	}
	refuse = false
	if _, err := w.n.Retry(t.Context(), notify.DeadQuery{}, func() time.Time { return w.now }); err != nil {
		t.Fatal(err)
	}
	w.wantCounts("sent again", "first×1", "2×2")
}

// Whatever happens in between, every event is sent exactly once, those of a pipeline in order, as
// long as no process crashes between sending and storing that.
func TestEveryEventIsSentOnceThroughOutagesRestartsAndBursts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		routes := []notify.Route{
			{Name: "grouped", Pipelines: []string{"orders"}, Sinks: []string{"box"}, Interval: time.Minute, GroupBy: []notify.Field{notify.ByType}},
			{Name: "each", Sinks: []string{"box"}},
		}
		w := newWorld(t, routes...)
		away, emitted := false, map[string]int{}
		w.box.answer = func(event.Event) error {
			if away {
				return errAway
			}
			return nil
		}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"emit", "emit", "emit", "pass", "pass", "outage", "restart"}).Draw(rt, "step") {
			case "emit":
				id := rapid.SampledFrom([]string{"orders", "silver", "gold"}).Draw(rt, "pipeline")
				w.emit(w.failure(pipeline.ID(id), fmt.Sprint(emitted[id])))
				emitted[id]++
			case "pass":
				w.pass(time.Duration(rapid.IntRange(0, 90).Draw(rt, "seconds")) * time.Second)
			case "outage":
				away = !away
			case "restart":
				w.begin()
			}
		}
		away = false
		w.pass(time.Hour)
		sent := map[string]int{}
		for _, a := range w.box.alerts {
			id := string(a.Event.Detail.Pipeline)
			sent[id] += a.Count
			if got, want := a.Event.Detail.Message, fmt.Sprint(sent[id]-1); got != want {
				rt.Fatalf("%s: sent %q after %d events, want %q", id, got, sent[id], want)
			}
		}
		if diff := cmp.Diff(emitted, sent); diff != "" {
			rt.Fatalf("sent (-emitted +sent):\n%s", diff)
		}
	})
}

// inDelivery returns a world that has begun to deliver a letter, and has another event for the same
// burst.
func inDelivery(t *testing.T) (*world, *notify.Letter) {
	t.Helper()
	w := newWorld(t, grouped(notify.ByType))
	w.emit(w.failure("orders", "first"))
	w.check(w.o.Fill(t.Context(), w.now))
	l := w.o.Next(w.now)
	w.emit(w.failure("orders", "second"))
	w.check(w.o.Fill(t.Context(), w.now))
	return w, l
}

func TestEventMergedIntoAQueuedBurstSurvivesACrash(t *testing.T) {
	for name, killed := range map[string]bool{"killed before the answer": true, "answered": false} {
		w, l := inDelivery(t)
		w.check(w.o.Save(t.Context(), true, w.now))
		if killed {
			w.begin()
			w.pass(10 * time.Minute)
			w.wantCounts(name, "second×2")
			continue
		}
		_, err := w.o.Record(t.Context(), l, w.o.Send(t.Context(), l), w.now)
		w.check(err)
		w.pass(10 * time.Minute)
		w.wantCounts(name, "first×1", "second×1")
	}
}

func TestEventsHeldBehindAFailedLetterAreSentWithIt(t *testing.T) {
	w, l := inDelivery(t)
	_, err := w.o.Record(t.Context(), l, errAway, w.now)
	w.check(err)
	w.emit(w.failure("orders", "third"))
	w.pass(10 * time.Minute)
	w.wantCounts("when it is back", "third×3")
}

func TestBurstAgeDoesNotIncludeItsInterval(t *testing.T) {
	route := grouped(notify.ByPipeline)
	route.Interval = 24 * time.Hour
	w := newWorld(t, route)
	w.emit(w.failure("orders", "first"))
	w.pass(time.Second)
	w.emit(w.failure("orders", "second"))
	w.pass(24*time.Hour - 2*time.Second)
	w.box.answer = func(event.Event) error { return errAway }
	w.pass(time.Hour) // down for an hour, not for a day
	if dead := w.dead(); len(dead) != 0 {
		t.Errorf("dead letters: %+v", dead)
	}
	w.box.answer = nil
	w.pass(time.Hour)
	w.wantCounts("when it is back", "first×1", "second×1")
}

func TestDueBurstWaitsWhileTheOutboxIsFull(t *testing.T) {
	burst := grouped(notify.ByType)
	burst.Pipelines = []string{"orders"}
	w := newWorld(t, burst, notify.Route{Name: "each", Sinks: []string{"box"}})
	w.options.Concurrency = 1
	w.begin()
	w.emit(w.failure("orders", "first"))
	w.pass(time.Second)
	w.emit(w.failure("orders", "waits"), w.failure("silver", "slow"))
	w.check(w.o.Fill(t.Context(), w.now))
	if w.o.Next(w.now) == nil {
		t.Fatal("want one in flight")
	}
	w.now = w.now.Add(5 * time.Minute)
	w.check(w.o.Save(t.Context(), false, w.now))
	if l, wake := w.o.Next(w.now), w.o.Wake(w.now); l != nil || !wake.After(w.now) {
		t.Errorf("at %s there is nothing to do, but it wakes at %s", w.now, wake)
	}
}

func TestBurstsOfOnePipelineThatEndTogetherAreSentInOrder(t *testing.T) {
	w := newWorld(t, grouped(notify.ByPipeline, notify.ByType))
	types := []event.Type{event.SLAWarning, event.SLABreach, event.RelativeSLAWarning, event.RelativeSLABreach}
	var want []string
	for round := range 8 {
		for _, kind := range types {
			message := fmt.Sprintf("%s %d", kind, round)
			w.emit(event.New(kind, event.About{Pipeline: "orders", Schedule: pipeline.ByCron, Which: message, At: w.now}, message, event.Deadline{}))
			want = append(want, message)
		}
		if w.turn(); round%2 == 1 { // every second one has to wait
			w.pass(10 * time.Minute)
		}
	}
	w.want("sent", want...)
}
