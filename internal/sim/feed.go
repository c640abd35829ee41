package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// lanes are the changes that a controller has received and not handled yet, by the row that changed. Those of one row are
// handled in order; between rows there is none.
type lanes struct {
	rows  []string // in the order in which each got its first change
	queue map[string][]delivery
}

// delivery is a change on its way to the router.
type delivery struct {
	store.Change
	at    time.Time // it arrives then
	again bool      // it has been given out before: nobody waits for it
	done  bool      // it is handled, and that is to be said
	tries int
}

// row is the row that a change is about.
func row(c store.Change) string {
	switch c.Kind {
	case store.ReadingWritten:
		return fmt.Sprintf("reading/%s/%s/%s", c.Pipeline, c.Sensor, c.Period)
	case store.RunMoved:
		return "run/" + c.Run.String()
	default:
		return "pipeline/" + string(c.Pipeline)
	}
}

func (l *lanes) add(lane string, d delivery) {
	if l.queue == nil {
		l.queue = map[string][]delivery{}
	}
	if len(l.queue[lane]) == 0 {
		l.rows = append(l.rows, lane)
	}
	l.queue[lane] = append(l.queue[lane], d)
}

// offer adds the changes that can be handled now to the moves.
func (l *lanes) offer(h *host) {
	w := h.world
	for _, lane := range l.rows {
		if first := l.queue[lane][0]; !first.at.After(w.now) && !h.busy[lane] {
			w.moves = append(w.moves, func() {
				h.once(lane, func(ctx context.Context) { h.handle(ctx, lane) })
			})
		}
	}
}

// next is when the next change arrives.
func (l *lanes) next(h *host) time.Time {
	var next time.Time
	for _, lane := range l.rows {
		if !h.busy[lane] {
			next = sooner(next, l.queue[lane][0].at)
		}
	}
	return next
}

// drop takes the first change of a lane away.
func (l *lanes) drop(lane string) {
	l.queue[lane] = l.queue[lane][1:]
	if len(l.queue[lane]) > 0 {
		return
	}
	delete(l.queue, lane)
	for i, name := range l.rows {
		if name == lane {
			l.rows = append(l.rows[:i:i], l.rows[i+1:]...)
			return
		}
	}
}

// asked is a context that has ended: whoever asks under it does not wait.
func asked() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// receive takes what is new in the feed.
func (h *host) receive(context.Context) {
	w := h.world
	h.fed = false
	changes, err := h.line.Receive(asked(), group, h.name, received)
	if err != nil {
		h.fed = errors.Is(err, errFault)
		return
	}
	h.fed = true // there may be more
	for _, c := range changes {
		d := delivery{Change: c, at: w.now}
		if w.chaos != nil {
			w.chaos.deliver(h, &d)
		}
		h.lanes.add(row(c), d)
	}
}

// handle hands the first change of a lane to the router. One that fails is tried again.
func (h *host) handle(ctx context.Context, lane string) {
	w := h.world
	d := h.lanes.queue[lane][0]
	if d.Kind == store.RunMoved && d.Status == run.Running {
		h.await(d.Run, d.Attempt)
	}
	first := &h.lanes.queue[lane][0]
	err := h.settle(ctx, first)
	if err != nil {
		w.tell("%s cannot handle change %d of %s: %v", h.name, d.Position, lane, err)
		first.tries++
		first.at = w.now.Add(min(backoff<<min(first.tries-1, 7), 30*time.Second))
		return
	}
	h.lanes.drop(lane)
}

// settle has a change handled, and says so.
func (h *host) settle(ctx context.Context, d *delivery) error {
	if !d.done {
		if err := h.change(ctx, d.Change); err != nil {
			return err
		}
		d.done = true
	}
	if d.again {
		return nil
	}
	return h.line.Done(ctx, group, []store.Change{d.Change})
}

// change lets the router react.
func (h *host) change(ctx context.Context, c store.Change) error {
	w := h.world
	handle := func(ctx context.Context, c store.Change, now time.Time) error {
		err := h.router.Handle(ctx, c, now)
		if err == nil {
			w.watch.handled(c)
		}
		return err
	}
	if w.bugs.change != nil {
		handle = w.bugs.change(handle)
	}
	return handle(ctx, c, h.clock())
}
