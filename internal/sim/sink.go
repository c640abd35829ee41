package sim

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
)

// pager is the destination of alerts. It records them.
type pager struct {
	world *World
	got   map[string]bool // events by id
}

func (*pager) Name() string { return "pager" }

func (p *pager) Send(_ context.Context, a sink.Alert) error {
	w := p.world
	kind, _ := w.chaos.decide(w.now, "alert", []odds{{AlertFailed, 1}, {AlertUnanswered, 1}})
	if kind == AlertFailed {
		return errors.New("the pager cannot be reached")
	}
	p.got[a.Event.ID] = true
	if kind == AlertUnanswered {
		return errors.New("the pager did not answer")
	}
	return nil
}

// courier is how far a controller has delivered events to the pager, if this controller holds the delivery lease.
type courier struct {
	outbox *notify.Outbox // nil if another controller delivers
	lease  store.Lease
	next   time.Time // when it checks next without a wake-up
	called bool      // there may be unread events
}

const (
	// standBy is how often a controller checks whether another has stopped delivering, and renews
	// its own lease.
	standBy = 2 * time.Minute
	// deliveryLease is how long a controller delivers without a renewal.
	deliveryLease = 5 * time.Minute
)

// due returns when there may be something to deliver, in real time.
func (c *courier) due(now time.Time) time.Time {
	if c.called && c.outbox != nil {
		return now
	}
	return c.next
}

// deliver sends pending alerts and stores the cursor. If the cursor cannot be stored, another round
// repeats them.
func (h *host) deliver(ctx context.Context) {
	w, c := h.world, &h.courier
	c.called, c.next = false, w.now.Add(standBy)
	if err := h.dispatch(ctx); err != nil {
		w.tracef("%s cannot deliver: %v", h.name, err)
		if c.outbox != nil {
			c.outbox = nil
			_ = h.line.Release(ctx, []store.Lease{c.lease}, h.clock()) // it expires by itself
		}
		return
	}
	if c.outbox != nil {
		c.next = later(w.now, sooner(c.next, c.outbox.Wake(h.clock()).Add(-w.skew)))
	}
}

func (h *host) dispatch(ctx context.Context) error {
	w, c := h.world, &h.courier
	if c.outbox == nil {
		outbox, lease, err := h.Notifier.Claim(ctx, w.pager, notify.Holder{Replica: h.name, Lease: deliveryLease}, h.clock())
		if err != nil || outbox == nil {
			return err
		}
		c.outbox, c.lease = outbox, lease
	} else if kept, err := h.line.Renew(ctx, []store.Lease{c.lease}, deliveryLease, h.clock()); err != nil || len(kept) == 0 {
		return errors.Join(errors.New("the lease was not renewed"), err)
	}
	outbox := c.outbox
	if err := outbox.Fill(ctx, h.clock()); err != nil {
		return err
	}
	for l := outbox.Next(h.clock()); l != nil; l = outbox.Next(h.clock()) {
		if _, err := outbox.Record(ctx, l, outbox.Send(ctx, l), h.clock()); err != nil {
			return err
		}
	}
	return outbox.Save(ctx, false, h.clock())
}

// AlertsArrive: every routed event is delivered at least once.

// alertsArrive checks that the pager got every alert up to an instant that the store still has.
func (w *watch) alertsArrive(lately time.Time) {
	routes := notify.New(notify.Options{Sinks: []sink.Sink{w.world.pager}})
	for last := store.Position(0); ; {
		stored, err := w.world.data.EventsAfter(context.Background(), last, store.MaxPage)
		if err != nil || len(stored) == 0 {
			return
		}
		for _, e := range stored {
			last = e.Position
			if e.Event.Time.Before(lately) && routes.Wants(w.world.pager.Name(), e.Event) && !w.world.pager.got[e.Event.ID] {
				w.fail(AlertsArrive, "%s of %s at %s was never delivered", e.Event.Type, e.Event.Detail.Pipeline, e.Event.Time)
			}
		}
	}
}
