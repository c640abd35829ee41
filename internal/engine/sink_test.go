package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
)

// sinks configures the notifier.
func (h *host) sinks(all ...sink.Sink) {
	h.options.Notifier = notify.New(notify.Options{Store: h.store, Sinks: all})
}

// alert stores a warning.
func (h *host) alert(id pipeline.ID, message string) {
	h.Helper()
	b := store.Batch{ID: "alert " + string(id) + message}
	b.Emit(event.New(event.JobFailed, event.About{Pipeline: id, Schedule: pipeline.ByCron, Which: message, At: time.Now()}, message, event.Finished{}))
	if err := h.store.Commit(h.Context(), b, time.Now()); err != nil {
		h.Fatal(err)
	}
}

// place is a sink that records what it is sent, takes its time, and fails on request.
type place struct {
	note func(format string, args ...any)
	took time.Duration

	mu   sync.Mutex
	away error
	now  int // calls in progress
	most int // maximum concurrent calls
}

func (*place) Name() string { return "place" }

func (p *place) Send(ctx context.Context, a sink.Alert) error {
	p.mu.Lock()
	away := p.away
	p.now++
	p.most = max(p.most, p.now)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.now--
	}()
	select {
	case <-time.After(p.took):
	case <-ctx.Done():
		return ctx.Err()
	}
	if away == nil {
		p.note("%s %s", a.Event.Detail.Pipeline, a.Event.Detail.Message)
	}
	return away
}

func (p *place) be(away error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = away
}

func TestSinkThatIsAwayDelaysNoTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		p := &place{note: h.note, away: errors.New("no answer"), took: 30 * time.Second}
		h.sinks(p)
		begin := time.Now()
		h.tasks[store.Advance] = func(ctx context.Context, c store.Claim) error {
			h.note("%s after %s", c.Task.ID, time.Since(begin))
			return h.finish(ctx, c)
		}
		h.start(time.Second)
		h.alert("orders", "0")
		for i := range 5 {
			h.schedule(fmt.Sprint(i), begin.Add(time.Duration(i+1)*time.Second))
		}
		h.pass(10 * time.Minute)
		want := []string{"0 after 1s", "1 after 2s", "2 after 3s", "3 after 4s", "4 after 5s"}
		if diff := cmp.Diff(want, h.noted()); diff != "" {
			t.Errorf("while it is down (-want +got):\n%s", diff)
		}
		p.be(nil)
		h.pass(10 * time.Minute)
		h.end()
		if diff := cmp.Diff(append(want, "orders 0"), h.noted()); diff != "" {
			t.Errorf("when it is back (-want +got):\n%s", diff)
		}
	})
}

func TestRecoveredSinkGetsEverythingInOrderAndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		p := &place{note: h.note, away: errors.New("no answer"), took: 50 * time.Millisecond}
		h.sinks(p)
		h.start(time.Second)
		var want []string
		for i := range 100 {
			for _, id := range []pipeline.ID{"orders", "silver", "gold"} {
				h.alert(id, fmt.Sprintf("%03d", i))
				want = append(want, fmt.Sprintf("%s %03d", id, i))
			}
		}
		h.pass(time.Hour)
		p.be(nil)
		h.pass(10 * time.Minute)
		h.end()
		got := h.noted()
		inOrder := func(a, b string) int { return strings.Compare(strings.Fields(a)[0], strings.Fields(b)[0]) }
		slices.SortStableFunc(got, inOrder)
		slices.SortStableFunc(want, inOrder)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("by pipeline (-want +got):\n%s", diff)
		}
		if p.most != 3 {
			t.Errorf("%d were sent concurrently, want one per pipeline", p.most)
		}
	})
}

func TestWrongTokenIsLoggedAndShownInHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var log bytes.Buffer
		h.options.Logger = slog.New(slog.NewTextHandler(&log, nil))
		p := &place{note: h.note, away: &sink.Misconfigured{Reason: "the token is not valid"}}
		h.sinks(p)
		e := engine.New(h.options)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- e.Run(ctx, time.Second) }()
		for i := range 50 {
			h.alert("orders", fmt.Sprint(i))
			h.pass(time.Minute)
		}
		if !strings.Contains(log.String(), "the token is not valid") {
			t.Errorf("the log does not say why:\n%s", &log)
		}
		if f := e.Health(t.Context(), time.Minute).Failures["sink place"]; f.Error != "the token is not valid" {
			t.Errorf("health says %+v", f)
		}
		p.be(nil)
		h.pass(10 * time.Minute)
		if got := len(h.noted()); got != 50 {
			t.Errorf("%d arrived after the token was fixed", got)
		}
		if f, failing := e.Health(t.Context(), time.Minute).Failures["sink place"]; failing {
			t.Errorf("health still says %+v", f)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestTwoReplicasSendEachAlertOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newHost(t)
		first.options.Alone = false
		first.sinks(&place{note: first.note, took: time.Second})
		second := &host{T: t, store: first.store.Open(), stopped: make(chan struct{}), options: first.options}
		second.options.Store, second.options.Replica = second.store, "there"
		second.sinks(&place{note: second.note, took: time.Second})
		first.start(time.Minute)
		second.start(time.Minute)
		for i := range 60 {
			first.alert("orders", fmt.Sprint(i))
			first.pass(2 * time.Second)
		}
		if len(first.noted()) != 60 || len(second.noted()) != 0 {
			t.Errorf("%d by the first, %d by the second", len(first.noted()), len(second.noted()))
		}
		first.end()
		for i := range 60 {
			second.alert("silver", fmt.Sprint(i))
			second.pass(2 * time.Second)
		}
		second.pass(time.Minute)
		second.end()
		if len(first.noted()) != 60 || len(second.noted()) != 60 {
			t.Errorf("%d by the first, %d by the second that took over", len(first.noted()), len(second.noted()))
		}
	})
}

func TestRestartedEngineLosesAndRepeatsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.sinks(&place{note: h.note, took: time.Second})
		for i := range 20 {
			h.alert("orders", fmt.Sprintf("%02d", i))
		}
		for range 5 {
			h.stopped = make(chan struct{})
			h.start(time.Minute)
			h.pass(4500 * time.Millisecond)
			h.end()
		}
		var want []string
		for i := range 20 {
			want = append(want, fmt.Sprintf("orders %02d", i))
		}
		if diff := cmp.Diff(want, h.noted()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestRemovedSinkIsForgottenAfterADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.sinks(&place{note: h.note, away: errors.New("no answer")})
		h.start(time.Second)
		h.alert("orders", "0")
		h.pass(time.Minute)
		h.end()
		var log bytes.Buffer
		h.options.Logger = slog.New(slog.NewTextHandler(&log, nil))
		h.sinks()
		h.stopped = make(chan struct{})
		h.start(time.Second)
		h.pass(25 * time.Hour)
		h.end()
		if n, err := h.store.Trim(t.Context(), store.Retention{Events: time.Hour}, time.Now()); n == 0 || err != nil {
			t.Errorf("events are kept for a removed sink: %d, %v", n, err)
		}
		if got := strings.Count(log.String(), "sink=place"); got != 1 {
			t.Errorf("logged %d times:\n%s", got, &log)
		}
	})
}
