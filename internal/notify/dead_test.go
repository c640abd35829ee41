package notify_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sink"
)

func (w *world) clock() time.Time { return w.now }

// rejected stores n dead letters of the box.
func (w *world) rejected(n int) {
	w.Helper()
	w.box.answer = func(event.Event) error { return &sink.Refused{Reason: "no"} }
	for i := range n {
		w.emit(w.failure("orders", fmt.Sprint(i)))
		w.pass(time.Second)
	}
	w.box.answer = nil
	if dead := w.dead(); len(dead) != n {
		w.Fatalf("%d dead letters, want %d", len(dead), n)
	}
}

func TestTwoRetriesAtOnceSendEachDeadLetterOnce(t *testing.T) {
	w := newWorld(t)
	w.rejected(3)
	other := notify.New(w.options) // another replica
	var meanwhile []notify.Retried
	w.box.answer = func(e event.Event) error {
		if e.Detail.Message == "1" {
			var err error
			meanwhile, err = other.Retry(t.Context(), notify.DeadQuery{}, w.clock)
			w.check(err)
		}
		return nil
	}
	done, err := w.n.Retry(t.Context(), notify.DeadQuery{}, w.clock)
	w.check(err)
	w.want("sent", "0", "1", "2")
	if len(done) != 3 || len(w.dead()) != 0 {
		t.Errorf("the first: %+v, %d still dead", done, len(w.dead()))
	}
	if len(meanwhile) != 2 || !strings.Contains(meanwhile[0].Error, "another retry") {
		t.Errorf("the second: %+v", meanwhile)
	}
}

func TestRetryAfterACrashedOneSendsTheRest(t *testing.T) {
	w := newWorld(t)
	w.rejected(2)
	func() {
		defer func() { _ = recover() }()
		w.box.answer = func(event.Event) error { panic("killed") }
		_, _ = w.n.Retry(t.Context(), notify.DeadQuery{}, func() time.Time { return w.now })
	}()
	w.box.answer = nil
	w.now = w.now.Add(time.Hour)
	if done, err := notify.New(w.options).Retry(t.Context(), notify.DeadQuery{}, w.clock); err != nil || len(done) != 2 || len(w.dead()) != 0 {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestDeadLettersOfARemovedSinkAreListedAndCanBeDiscarded(t *testing.T) {
	w := newWorld(t)
	w.rejected(3)
	w.options.Sinks = []sink.Sink{&box{name: "other"}}
	n := notify.New(w.options)
	done, err := n.Retry(t.Context(), notify.DeadQuery{}, w.clock)
	w.check(err)
	if len(done) != 3 || !strings.Contains(done[0].Error, "box was removed from the server's file") || !strings.Contains(done[0].Error, "alerts discard") {
		t.Errorf("retry: %+v", done)
	}
	dead := w.dead()
	if len(dead) != 3 || dead[0].Reason != "no" || dead[0].Tries != 1 {
		t.Fatalf("dead letters after a retry: %+v", dead)
	}
	if gone, err := n.Discard(t.Context(), notify.DeadQuery{Events: []string{dead[1].Event.ID}}, w.now); err != nil || len(gone) != 1 || len(w.dead()) != 2 {
		t.Errorf("discarded %+v, %v", gone, err)
	}
	if gone, err := n.Discard(t.Context(), notify.DeadQuery{Sink: "other"}, w.now); err != nil || len(gone) != 0 {
		t.Errorf("discarded %+v, %v", gone, err)
	}
	if gone, err := n.Discard(t.Context(), notify.DeadQuery{Sink: "box"}, w.now); err != nil || len(gone) != 2 || len(w.dead()) != 0 {
		t.Errorf("discarded %+v, %v", gone, err)
	}
}

// about returns an event about the orders of 3 March.
func (w *world) about(kind event.Type, attempt int, extra event.Extra) event.Event {
	w.Helper()
	day, err := period.Parse("2026-03-03")
	w.check(err)
	return event.New(kind, event.About{Pipeline: "orders", Schedule: pipeline.ByCron, Date: day, Attempt: attempt, At: w.now}, string(kind), extra)
}

// screened returns a world whose sink displays open problems.
func screened(t *testing.T, routes ...notify.Route) (*world, *screen) {
	w := newWorld(t, routes...)
	s := &screen{}
	w.options.Sinks = []sink.Sink{s}
	w.claim(s)
	return w, s
}

func TestDeadLetterOfASettledRunIsSentAsSettled(t *testing.T) {
	for name, c := range map[string]struct {
		since []event.Type
		want  bool
	}{
		"nothing happened since":   {nil, false},
		"it completed":             {[]event.Type{event.JobCompleted}, true},
		"it was cancelled":         {[]event.Type{event.RunCancelled}, true},
		"it failed again":          {[]event.Type{event.RetryExhausted}, false},
		"it completed and drifted": {[]event.Type{event.JobCompleted, event.PostRunDrift}, false},
	} {
		w, s := screened(t)
		w.emit(w.about(event.JobCompleted, 0, event.Finished{})) // an earlier attempt succeeded
		w.turn()
		s.answer, s.followed = func(event.Event) error { return &sink.Refused{Reason: "no"} }, nil
		w.now = w.now.Add(time.Minute)
		w.emit(w.about(event.JobFailed, 1, event.Finished{}))
		w.turn()
		id := w.dead()[0].Event.ID
		for i, kind := range c.since {
			w.now = w.now.Add(time.Minute)
			w.emit(w.about(kind, i+2, kind.Entry().Extra))
		}
		w.turn()
		s.answer, s.followed = nil, nil
		done, err := w.n.Retry(t.Context(), notify.DeadQuery{Events: []string{id}}, w.clock)
		if err != nil || len(done) != 1 || done[0].Error != "" {
			t.Fatalf("%s: %+v, %v", name, done, err)
		}
		if got := s.alerts[len(s.alerts)-1]; got.Settled != c.want || (len(s.followed) == 1) != c.want {
			t.Errorf("%s: settled %t, followed %v", name, got.Settled, s.followed)
		}
	}
}

func TestBurstOfASettledRunIsSentAsSettled(t *testing.T) {
	w, s := screened(t, grouped(notify.ByPipeline))
	w.emit(w.failure("orders", "of another run"))
	w.turn()
	w.emit(w.about(event.JobFailed, 1, event.Finished{}))
	w.turn()
	w.now = w.now.Add(time.Minute)
	w.emit(w.about(event.JobCompleted, 2, event.Finished{}))
	w.turn()
	w.pass(10 * time.Minute)
	if got := s.alerts[len(s.alerts)-1]; got.Event.Type != event.JobFailed || !got.Settled || s.followed[len(s.followed)-1] != string(event.JobCompleted) {
		t.Errorf("sent %+v, followed %v", got, s.followed)
	}
}

func TestOutOfOrderDeliveryDoesNotReopenASettledProblem(t *testing.T) {
	w, s := screened(t)
	failed, done := w.about(event.JobFailed, 1, event.Finished{}), w.about(event.JobCompleted, 2, event.Finished{})
	w.emit(failed, done)
	w.check(w.n.Bring(t.Context(), done))
	w.check(w.n.Bring(t.Context(), failed))
	if len(s.alerts) != 1 || !s.alerts[0].Settled || len(s.followed) != 2 {
		t.Errorf("sent %+v, followed %v", s.alerts, s.followed)
	}
}
