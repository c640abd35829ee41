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
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

var noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

// box is a sink that keeps what it is sent, and answers as it is told.
type box struct {
	got    []string
	answer func(e event.Event) error
}

func (*box) Name() string { return "box" }

func (b *box) Send(_ context.Context, a sink.Alert) error {
	e := a.Event
	if b.answer != nil {
		if err := b.answer(e); err != nil {
			return err
		}
	}
	b.got = append(b.got, e.Detail.Message)
	return nil
}

// alerts stores n warnings, "0" to "n-1".
func alerts(t *testing.T, s store.Store, n int) {
	t.Helper()
	for i := range n {
		b := store.Batch{ID: fmt.Sprintf("alert %d", i)}
		b.Emit(event.New(event.JobFailed, event.About{Pipeline: "orders", Schedule: pipeline.ByCron, Attempt: i + 1, At: noon}, fmt.Sprint(i), event.Finished{}))
		if err := s.Commit(context.Background(), b, noon); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEverythingArrivesInOrderAndOnce(t *testing.T) {
	s := memory.New()
	alerts(t, s, 250)
	n, to := notify.New(s, notify.Routes{}), &box{}
	var p notify.Progress
	for calls := 0; !p.Idle; calls++ {
		var err error
		if p, err = n.Deliver(context.Background(), to, p, noon); err != nil || calls > 10 {
			t.Fatalf("call %d: %v", calls, err)
		}
	}
	if len(to.got) != 250 || to.got[0] != "0" || to.got[249] != "249" {
		t.Errorf("got %d events: %v", len(to.got), to.got)
	}
}

func TestSinkThatIsAwayFindsEverythingWhenItIsBack(t *testing.T) {
	s := memory.New()
	alerts(t, s, 3)
	n := notify.New(s, notify.Routes{})
	away := true
	to := &box{answer: func(e event.Event) error {
		if away && e.Detail.Message == "1" {
			return errors.New("no answer")
		}
		return nil
	}}
	var waits []time.Duration
	var p notify.Progress
	for range 4 {
		var err error
		if p, err = n.Deliver(context.Background(), to, p, noon); err == nil {
			t.Fatal("delivered to a sink that is away")
		}
		waits = append(waits, p.Wait)
	}
	if diff := cmp.Diff([]time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}, waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	away = false
	if _, err := n.Deliver(context.Background(), to, p, noon); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0", "1", "2"}, to.got); diff != "" {
		t.Errorf("delivered (-want +got):\n%s", diff)
	}
}

func TestBusySinkIsLeftAloneAsLongAsItAsks(t *testing.T) {
	s := memory.New()
	alerts(t, s, 1)
	to := &box{answer: func(event.Event) error { return &sink.Busy{After: 42 * time.Second, Reason: "slow down"} }}
	if p, err := notify.New(s, notify.Routes{}).Deliver(context.Background(), to, notify.Progress{}, noon); err == nil || p.Wait != 42*time.Second {
		t.Errorf("waits %s, %v", p.Wait, err)
	}
}

func TestRefusedEventIsKeptAndCanBeSentAgain(t *testing.T) {
	ctx, s := context.Background(), memory.New()
	alerts(t, s, 3)
	refuse := true
	to := &box{answer: func(e event.Event) error {
		if refuse && e.Detail.Message == "1" {
			return &sink.Refused{Reason: "not this one"}
		}
		return nil
	}}
	n := notify.New(s, notify.Routes{})
	if _, err := n.Deliver(ctx, to, notify.Progress{}, noon); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0", "2"}, to.got); diff != "" {
		t.Errorf("delivered (-want +got):\n%s", diff)
	}
	dead, err := s.Dead(ctx, "box")
	if err != nil || len(dead) != 1 || dead[0].Reason != "not this one" || dead[0].Event.Detail.Message != "1" {
		t.Fatalf("dead letters: %+v, %v", dead, err)
	}
	refuse = false
	if sent, err := n.Retry(ctx, to, noon); err != nil || sent != 1 {
		t.Errorf("sent %d again, %v", sent, err)
	}
	if dead, err = s.Dead(ctx, "box"); err != nil || len(dead) != 0 {
		t.Errorf("still dead: %+v, %v", dead, err)
	}
}

func TestEventThatNobodyTakesForADayIsKeptAsDead(t *testing.T) {
	ctx, s := context.Background(), memory.New()
	alerts(t, s, 2)
	to := &box{answer: func(e event.Event) error {
		if e.Detail.Message == "0" {
			return errors.New("no answer")
		}
		return nil
	}}
	if _, err := notify.New(s, notify.Routes{}).Deliver(ctx, to, notify.Progress{Tries: 9}, noon.Add(25*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if dead, err := s.Dead(ctx, "box"); err != nil || len(dead) != 1 || len(to.got) != 1 {
		t.Errorf("dead %v, delivered %v, %v", dead, to.got, err)
	}
}

func TestRoutes(t *testing.T) {
	e := event.New(event.SLABreach, event.About{Pipeline: "gold-orders", Schedule: pipeline.ByCron, At: noon}, "", event.Deadline{})
	info := event.New(event.JobCompleted, event.About{Pipeline: "gold-orders", Schedule: pipeline.ByCron, Attempt: 1, At: noon}, "", event.Finished{})
	tags := func(pipeline.ID) map[string]string { return map[string]string{"layer": "gold"} }
	for name, c := range map[string]struct {
		routes []notify.Route
		event  event.Event
		want   bool
	}{
		"without routes a warning goes everywhere": {nil, e, true},
		"without routes information goes nowhere":  {nil, info, false},
		"type":                           {[]notify.Route{{Types: []event.Type{event.SLABreach}, Sinks: []string{"box"}}}, e, true},
		"another type":                   {[]notify.Route{{Types: []event.Type{event.SLAMet}, Sinks: []string{"box"}}}, e, false},
		"severity and above":             {[]notify.Route{{Severity: event.Info, Sinks: []string{"box"}}}, e, true},
		"below the severity":             {[]notify.Route{{Severity: event.Critical, Sinks: []string{"box"}}}, e, false},
		"pattern":                        {[]notify.Route{{Pipelines: []string{"silver-*", "gold-*"}, Sinks: []string{"box"}}}, e, true},
		"another pattern":                {[]notify.Route{{Pipelines: []string{"silver-*"}, Sinks: []string{"box"}}}, e, false},
		"tag":                            {[]notify.Route{{Tags: map[string]string{"layer": "gold"}, Sinks: []string{"box"}}}, e, true},
		"another tag":                    {[]notify.Route{{Tags: map[string]string{"layer": "silver"}, Sinks: []string{"box"}}}, e, false},
		"the first that fits decides":    {[]notify.Route{{Severity: event.Warning}, {Sinks: []string{"box"}}}, e, false},
		"information where a route says": {[]notify.Route{{Sinks: []string{"box"}}}, info, true},
	} {
		if got := (notify.Routes{List: c.routes, Tags: tags}).Wants("box", c.event); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
