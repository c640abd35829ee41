package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

const (
	received = 256  // changes taken at once
	inFlight = 4096 // changes taken and not handled yet
)

// follow hands every change to the router: those of one pipeline in order, those of different ones side by side. A change
// whose handling fails is tried again until it succeeds; meanwhile only its own pipeline waits.
func (e *Engine) follow(ctx, work context.Context) {
	l := &lanes{engine: e, work: work, queues: map[pipeline.ID][]store.Change{}, slots: make(chan struct{}, e.Workers), crew: newCrew()}
	l.room = sync.NewCond(&l.mu)
	for failures := 0; ctx.Err() == nil; {
		changes, err := e.Store.Receive(ctx, Group, e.Replica, received)
		if err != nil {
			if ctx.Err() != nil {
				break
			}
			failures++
			e.health.failed("feed", err)
			e.Logger.Error("cannot read the feed", "error", err)
			pause(ctx, backoff(failures))
			continue
		}
		if failures > 0 {
			e.health.mended("feed")
		}
		failures = 0
		l.add(changes)
	}
	l.wait()
}

// lanes are the changes that wait to be handled, by pipeline. A pipeline has a goroutine while it has changes.
type lanes struct {
	engine *Engine
	work   context.Context
	slots  chan struct{} // held while a change is being handled

	mu     sync.Mutex
	room   *sync.Cond // signalled when changes were handled
	queues map[pipeline.ID][]store.Change
	count  int
	crew   *crew
}

// add queues changes, and waits while there are too many.
func (l *lanes) add(changes []store.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range changes {
		queue, running := l.queues[c.Pipeline]
		l.queues[c.Pipeline] = append(queue, c)
		l.count++
		if !running {
			l.crew.begin(func() { l.drain(c.Pipeline) })
		}
	}
	for l.count > inFlight && l.work.Err() == nil {
		l.room.Wait()
	}
}

// wait lets the lanes finish what they can.
func (l *lanes) wait() {
	unblock := context.AfterFunc(l.work, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.room.Broadcast()
	})
	defer unblock()
	l.crew.end()
}

// drain handles the changes of one pipeline until there are none.
func (l *lanes) drain(id pipeline.ID) {
	for {
		l.mu.Lock()
		queue := l.queues[id]
		if len(queue) == 0 {
			delete(l.queues, id)
			l.mu.Unlock()
			return
		}
		l.queues[id] = nil
		l.mu.Unlock()

		finished := l.handle(queue)

		l.mu.Lock()
		l.count -= len(queue)
		l.room.Broadcast()
		if !finished { // the work ends: what was not handled comes again at the next start
			delete(l.queues, id)
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
	}
}

// handle handles changes in order, and says whether it came to the end of them.
func (l *lanes) handle(queue []store.Change) bool {
	handled := 0
	for ; handled < len(queue); handled++ {
		if !l.handleOne(queue[handled]) {
			break
		}
	}
	l.finish(queue[:handled])
	return handled == len(queue)
}

func (l *lanes) handleOne(c store.Change) bool {
	e := l.engine
	e.awaits.saw(c)
	for failures := 0; l.work.Err() == nil; {
		l.slots <- struct{}{}
		began := time.Now()
		err := e.Handlers.Change(l.work, c, began)
		<-l.slots
		e.Observer.ChangeDone(began.Sub(c.At), time.Since(began), err)
		if err == nil {
			return true
		}
		if stopped(l.work, err) {
			return false
		}
		failures++
		e.health.failed("feed", err)
		e.Logger.Error("cannot handle a change; it will be tried again",
			slog.String("pipeline", string(c.Pipeline)), slog.String("kind", string(c.Kind)), slog.Int64("position", int64(c.Position)), slog.Any("error", err))
		if !pause(l.work, backoff(failures)) {
			return false
		}
	}
	return false
}

// finish says that changes were handled, until it is heard: as long as it is not, the feed seems to lag behind them, and who
// waits for it to have passed something waits for ever.
func (l *lanes) finish(changes []store.Change) {
	if len(changes) == 0 {
		return
	}
	e := l.engine
	for failures := 0; ; {
		err := e.Store.Done(l.work, Group, changes)
		if err == nil || stopped(l.work, err) {
			return // those that were not heard of come again at the next start, which is harmless
		}
		failures++
		e.health.failed("feed", err)
		e.Logger.Error("cannot mark changes as handled; it will be tried again", slog.Any("error", err))
		if !pause(l.work, backoff(failures)) {
			return
		}
	}
}
