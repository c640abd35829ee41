package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// lanes are the changes that a controller has received and not handled yet, by row. Changes of one
// row are handled in order; there is no order between rows.
type lanes struct {
	names   []string // in the order in which each got its first change
	queue   map[string][]delivery
	failing map[string]bool // lanes whose last change failed or was set aside: the next failure is set aside at once
}

// delivery is a change on its way to the router.
type delivery struct {
	store.Change
	at    time.Time // when it can be handled: on arrival, or at the next retry
	again bool      // it is a redelivery: the feed does not wait for it
	done  bool      // handled, but not acknowledged yet
	tries int
	since time.Time // since when it has failed
	aside bool      // it became a task
}

// setAsideAfter is how long a failing change is retried before it becomes a task.
const setAsideAfter = 10 * time.Second

// laneOf returns the lane of a change: the row that it is about.
func laneOf(c store.Change) string {
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
		l.queue, l.failing = map[string][]delivery{}, map[string]bool{}
	}
	if len(l.queue[lane]) == 0 {
		l.names = append(l.names, lane)
	}
	l.queue[lane] = append(l.queue[lane], d)
}

// moving counts the waiting changes that are not behind a failing one; with all, those too. A
// redelivery does not count: the feed has passed it.
func (l *lanes) moving(all bool) int {
	n := 0
	for _, lane := range l.names {
		if queue := l.queue[lane]; !queue[0].again && (all || !l.failing[lane]) {
			n += len(queue)
		}
	}
	return n
}

// offer adds the changes that can be handled now to the moves.
func (l *lanes) offer(h *host) {
	w := h.world
	for _, lane := range l.names {
		if first := l.queue[lane][0]; !first.at.After(w.now) && !h.busy[lane] {
			w.moves = append(w.moves, func() {
				h.once(lane, func(ctx context.Context) { h.handle(ctx, lane) })
			})
		}
	}
}

// next returns when the next change arrives.
func (l *lanes) next(h *host) time.Time {
	var next time.Time
	for _, lane := range l.names {
		if !h.busy[lane] {
			next = sooner(next, l.queue[lane][0].at)
		}
	}
	return next
}

// drop removes the first change of a lane.
func (l *lanes) drop(lane string) {
	l.queue[lane] = l.queue[lane][1:]
	if len(l.queue[lane]) > 0 {
		return
	}
	delete(l.queue, lane)
	for i, name := range l.names {
		if name == lane {
			l.names = append(l.names[:i:i], l.names[i+1:]...)
			return
		}
	}
}

// expired returns a cancelled context: calls with it do not block.
func expired() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// receive reads new changes from the feed.
func (h *host) receive(context.Context) {
	w := h.world
	h.fed = false
	changes, err := h.line.Receive(expired(), controller.Group, h.name, received)
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
		h.lanes.add(laneOf(c), d)
	}
}

// handle passes the first change of a lane to the router. One that fails is retried.
func (h *host) handle(ctx context.Context, lane string) {
	w := h.world
	d := h.lanes.queue[lane][0]
	if d.Kind == store.RunMoved && d.Status == run.Running {
		h.await(d.Run, d.Attempt)
	}
	first := &h.lanes.queue[lane][0]
	failed, aside := h.lanes.failing[lane], first.aside
	err := h.handleAndAck(ctx, first)
	h.lanes.failing[lane] = err != nil || aside
	if err != nil {
		w.tracef("%s cannot handle change %d of %s: %v", h.name, d.Position, lane, err)
		if first.tries++; first.tries == 1 {
			first.since = w.now
		}
		first.at = w.now.Add(min(backoff<<min(first.tries-1, 7), 30*time.Second))
		// Behind a change that was set aside, the first failure is enough.
		if failed && first.tries == 1 || w.now.Sub(first.since) >= setAsideAfter {
			h.setAside(ctx, first, err)
		}
		return
	}
	h.lanes.drop(lane)
}

// setAside stores a change that has failed for a while as a task, so that it blocks neither its row
// nor the feed. A change that fails because the store is unavailable is not set aside.
func (h *host) setAside(ctx context.Context, d *delivery, cause error) {
	w := h.world
	if d.done || d.again || errors.Is(cause, store.ErrAway) || w.bugs.insists {
		return
	}
	if err := h.line.Commit(ctx, store.SetAside([]store.Change{d.Change}, d.tries, cause, h.clock()), h.clock()); err == nil {
		w.watch.setAside(d.Change)
		d.done, d.aside, d.at = true, true, w.now
	}
}

// handleAndAck has a change handled and acknowledges it.
func (h *host) handleAndAck(ctx context.Context, d *delivery) error {
	if !d.done {
		if err := h.change(ctx, d.Change); err != nil {
			return err
		}
		d.done = true
	}
	if d.again {
		return nil
	}
	return h.line.Done(ctx, controller.Group, []store.Change{d.Change})
}

// clogged is the pipeline whose changes fail for a while.
const clogged = "clogged"

// change passes a change to the router.
func (h *host) change(ctx context.Context, c store.Change) error {
	w := h.world
	if c.Pipeline == clogged && w.clogged.After(w.now) {
		return errors.New("it cannot be handled")
	}
	handle := func(ctx context.Context, c store.Change, now time.Time) error {
		err := h.Router.Handle(ctx, c, now)
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
