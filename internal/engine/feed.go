package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

const (
	received = 256  // changes received at once
	inFlight = 4096 // changes received and not yet handled, not counting stuck pipelines
	// share is how many changes of one pipeline count towards inFlight, so that one busy pipeline
	// does not delay others. maxTaken bounds memory regardless.
	share    = 1024
	maxTaken = 65536
	// perLane is how many changes of a failing pipeline may wait. Above that, changes are set aside
	// without being tried.
	perLane = 1024
	// setAsideAfter is how long a failing change is retried before it is set aside.
	setAsideAfter = 10 * time.Second
	// stuckAfter is how long a change may be in progress before its pipeline counts as stuck.
	// changeLimit is the timeout of a change.
	stuckAfter  = 10 * time.Second
	changeLimit = 5 * time.Minute
	asideAtOnce = store.MaxRows - 1 // changes set aside in one commit, leaving room for an event
)

// follow passes every change to the router: changes of one pipeline in order, those of different
// pipelines concurrently. A change that keeps failing is set aside after a while: it becomes a task
// in the store, retried like any other failing task. So the feed moves past it, and neither its
// pipeline nor the others wait for it.
func (e *Engine) follow(ctx, work context.Context) {
	l := &lanes{engine: e, work: work, all: map[pipeline.ID]*lane{}, slots: make(chan struct{}, e.Workers), crew: newCrew()}
	l.room = sync.NewCond(&l.mu)
	defer context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.room.Broadcast()
	})()
	for tried := (trials{engine: e, part: "feed"}); ctx.Err() == nil; {
		changes, err := e.Store.Receive(ctx, controller.Group, e.Replica, received)
		if err == nil {
			tried.succeeded()
			l.add(ctx, changes)
		} else if ctx.Err() == nil {
			tried.failed(ctx, err, "cannot read the feed")
		}
	}
	l.crew.end()
}

// lanes holds the changes waiting to be handled, by pipeline. A pipeline has a lane, and a
// goroutine, while it has changes.
type lanes struct {
	engine *Engine
	work   context.Context
	slots  chan struct{} // one per change being handled

	mu    sync.Mutex
	room  *sync.Cond // signalled when changes have been handled
	all   map[pipeline.ID]*lane
	count int // changes in all lanes
	crew  *crew
}

// lane holds the changes of one pipeline.
type lane struct {
	id      pipeline.ID
	waiting []store.Change
	taken   int       // changes removed from waiting, being handled in order
	began   time.Time // when handling of the current change began; zero between changes
	failing bool      // the last change failed
}

// stuck reports whether the lane makes no progress.
func (n *lane) stuck(now time.Time) bool {
	return n.failing || !n.began.IsZero() && now.Sub(n.began) > stuckAfter
}

// add queues changes, and blocks while too many wait. Changes of stuck pipelines do not count, so
// that they do not block others.
func (l *lanes) add(ctx context.Context, changes []store.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range changes {
		n := l.all[c.Pipeline]
		if n == nil {
			n = &lane{id: c.Pipeline}
			l.all[c.Pipeline] = n
			l.crew.start(func() { l.drain(n) })
		}
		n.waiting = append(n.waiting, c)
		l.count++
	}
	for l.crowded() && ctx.Err() == nil {
		wake := time.AfterFunc(time.Second, l.room.Broadcast) // a lane may become stuck with no signal
		l.room.Wait()
		wake.Stop()
	}
}

// crowded reports whether too many changes wait, not counting stuck lanes.
func (l *lanes) crowded() bool {
	if l.count <= inFlight {
		return false
	}
	now, moving, all := time.Now(), 0, 0
	for _, n := range l.all {
		if !n.stuck(now) {
			moving += min(len(n.waiting)+n.taken, share)
			all += len(n.waiting) + n.taken
		}
	}
	return moving > inFlight || all > maxTaken
}

// drain handles the changes of one pipeline until none are left.
func (l *lanes) drain(n *lane) {
	for {
		l.mu.Lock()
		queue := n.waiting
		if len(queue) == 0 {
			delete(l.all, n.id)
			l.mu.Unlock()
			return
		}
		n.waiting, n.taken = nil, len(queue)
		l.mu.Unlock()

		finished := l.handle(n, queue)

		l.mu.Lock()
		l.count -= len(queue)
		n.taken = 0
		if !finished { // shutting down: unhandled changes are received again at the next start
			l.count -= len(n.waiting)
			delete(l.all, n.id)
		}
		l.room.Broadcast()
		l.mu.Unlock()
		if !finished {
			return
		}
	}
}

// handle handles changes in order. It returns false if the engine stopped before the last one.
func (l *lanes) handle(n *lane, queue []store.Change) bool {
	handled := 0
	defer func() { l.finish(queue[:handled]) }()
	for _, c := range queue {
		l.engine.awaits.saw(c)
	}
	for handled < len(queue) {
		if most := queue[handled:min(handled+asideAtOnce, len(queue))]; n.failing && len(queue)-handled > perLane {
			if l.setAside(most, 1, errors.New("a change before it could not be handled")) == nil {
				handled += len(most)
				continue
			}
		}
		c, failing := queue[handled], n.failing
		err := l.once(n, c)
		if err != nil && !stopped(l.work, err) {
			l.finish(queue[:handled]) // retries may take a while: acknowledge what is done
			queue, handled = queue[handled:], 0
			err = l.insist(n, c, err, failing)
		}
		if err != nil {
			return false
		}
		handled++
	}
	return true
}

// insist retries a change that failed, and sets it aside after a while, or at once if the change
// before it failed too. It returns an error only on shutdown.
func (l *lanes) insist(n *lane, c store.Change, err error, atOnce bool) error {
	e, since := l.engine, time.Now()
	for failures := 1; ; failures++ {
		e.health.failed("feed", err)
		e.Logger.Error("cannot handle a change; it will be tried again",
			slog.String("pipeline", string(c.Pipeline)), slog.String("kind", string(c.Kind)), slog.Int64("position", int64(c.Position)), slog.Any("error", err))
		enough := atOnce || time.Since(since) >= setAsideAfter
		if enough && !errors.Is(err, store.ErrAway) && l.setAside([]store.Change{c}, failures, err) == nil {
			return nil
		}
		if !pause(l.work, retries.After(failures)) {
			return l.work.Err()
		}
		if err = l.once(n, c); err == nil || stopped(l.work, err) {
			return err
		}
	}
}

// once handles a change one time.
func (l *lanes) once(n *lane, c store.Change) error {
	e := l.engine
	l.slots <- struct{}{}
	defer func() { <-l.slots }()
	began := time.Now()
	l.set(n, began, n.failing)
	err := e.handleChange(l.work, c, began)
	l.set(n, time.Time{}, err != nil)
	e.Observer.ChangeDone(began.Sub(c.At), time.Since(began), err)
	return err
}

func (l *lanes) set(n *lane, began time.Time, failing bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n.began, n.failing = began, failing
	if failing {
		l.room.Broadcast() // a failing lane no longer counts
	}
}

// handleChange calls the router, with a timeout.
func (e *Engine) handleChange(ctx context.Context, c store.Change, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, changeLimit)
	defer cancel()
	return e.safely(func() error { return e.Handlers.Change(ctx, c, now) })
}

// setAside stores changes as tasks, which are retried like any other failing task.
func (l *lanes) setAside(changes []store.Change, failures int, cause error) error {
	e := l.engine
	b := store.SetAside(changes, failures, cause, time.Now())
	if err := e.Store.Commit(l.work, b, time.Now()); err != nil {
		e.Logger.Error("cannot set changes aside; they will be tried again", slog.Any("error", err))
		return err
	}
	for _, t := range b.Tasks {
		e.health.taskFailed(t, cause)
	}
	return nil
}

// changeAgain handles a change that was set aside.
func (e *Engine) changeAgain(ctx context.Context, c store.Claim) error {
	if err := e.handleChange(ctx, c.Task.Change, time.Now()); err != nil {
		return err
	}
	b := store.Batch{ID: fmt.Sprintf("handled/%s/%d", c.Task.ID, c.Lease.Token), Lease: &c.Lease}
	b.Finish(c.Task.ID)
	return e.Store.Commit(ctx, b, time.Now())
}

// finish acknowledges changes, and retries until the store accepts: until then the feed appears to
// lag behind them, and anything that waits for the feed to pass a position would wait forever.
func (l *lanes) finish(changes []store.Change) {
	if len(changes) == 0 {
		return
	}
	for tried := (trials{engine: l.engine, part: "feed"}); ; {
		err := l.engine.Store.Done(l.work, controller.Group, changes)
		if err == nil || l.work.Err() != nil {
			return // unacknowledged changes are received again at the next start, which is harmless
		}
		tried.failed(l.work, err, "cannot mark changes as handled; it will be tried again")
	}
}
