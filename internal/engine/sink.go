package engine

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
)

// sendLimit is the timeout of one call to a sink.
const sendLimit = time.Minute

// deliver sends events to one sink, at the sink's own pace, while this process holds the sink's
// lease.
func (e *Engine) deliver(ctx, work context.Context, s sink.Sink) {
	for tried := (trials{engine: e, part: "sink " + s.Name()}); ctx.Err() == nil; {
		outbox, lease, err := e.Notifier.Claim(ctx, s, notify.Holder{Replica: e.Replica, Lease: e.Lease}, time.Now())
		if err == nil && outbox == nil { // another process delivers and reports its health
			tried.failures = 0
			e.health.mended(tried.part)
			pause(ctx, standBy)
			continue
		}
		if err == nil {
			d := &dispatcher{engine: e, sink: s.Name(), outbox: outbox, failed: tried.failures > 0}
			err = e.under(work, lease, func(held context.Context) error { return e.safely(func() error { return d.run(ctx, held) }) })
		}
		if errors.Is(err, notify.ErrTakenOver) {
			pause(ctx, standBy)
			err = nil
		}
		switch {
		case err == nil:
			tried.failures = 0
		case stopped(ctx, err) || stopped(work, err):
			return
		default:
			tried.failed(ctx, err, "cannot store the progress of a sink; retrying", "sink", s.Name())
		}
	}
}

// abandon drops a sink that has had no deliveries for long, so that no events are kept for it.
func (e *Engine) abandon(ctx context.Context, c store.Claim) error {
	gone, err := e.Notifier.Abandon(ctx, c, time.Now())
	if gone != "" {
		e.Logger.Warn("events are no longer kept for a sink that was removed from the server's file", "sink", gone)
	}
	return err
}

// dispatcher sends letters and collects the results. Only its goroutine uses the outbox.
type dispatcher struct {
	engine   *Engine
	sink     string
	outbox   *notify.Outbox
	answers  chan answer
	underWay int
	failed   bool // the previous dispatcher failed to store its progress
}

// answer is a sink's result for a letter.
type answer struct {
	letter *notify.Letter
	err    error
}

// run delivers until ctx ends or the lease is lost, waits for letters in flight, and stores its
// progress.
func (d *dispatcher) run(ctx, held context.Context) error {
	d.answers = make(chan answer, d.engine.Notifier.Concurrency())
	err := d.work(ctx, held)
	for d.underWay > 0 {
		if failed := d.recordResult(context.WithoutCancel(held), <-d.answers); err == nil {
			err = failed
		}
	}
	if err != nil || held.Err() != nil {
		return err
	}
	return d.outbox.Save(context.WithoutCancel(held), true, time.Now())
}

func (d *dispatcher) work(ctx, held context.Context) error {
	for ctx.Err() == nil && held.Err() == nil {
		more := d.engine.Store.EventsChanged()
		if err := d.outbox.Fill(held, time.Now()); err != nil {
			return err
		}
		for l := d.outbox.Next(time.Now()); l != nil; l = d.outbox.Next(time.Now()) {
			d.send(held, l)
		}
		if err := d.outbox.Save(held, false, time.Now()); err != nil {
			return err
		}
		if d.failed {
			d.failed = false
			d.engine.health.mended("sink " + d.sink)
		}
		if err := d.await(ctx, held, more); err != nil {
			return err
		}
	}
	return nil
}

func (d *dispatcher) send(held context.Context, l *notify.Letter) {
	d.underWay++
	go func() {
		call, cancel := context.WithTimeout(held, sendLimit)
		defer cancel()
		d.answers <- answer{l, d.engine.safely(func() error { return d.outbox.Send(call, l) })}
	}()
}

// await waits until there may be something to do, and settles a result if one arrives.
func (d *dispatcher) await(ctx, held context.Context, more <-chan struct{}) error {
	now := time.Now()
	wake := time.NewTimer(d.outbox.Wake(now).Sub(now))
	defer wake.Stop()
	select {
	case <-ctx.Done():
	case <-held.Done():
	case <-more:
	case <-wake.C:
	case a := <-d.answers:
		return d.recordResult(held, a)
	}
	return nil
}

// recordResult records a result, and logs a failure.
func (d *dispatcher) recordResult(ctx context.Context, a answer) error {
	d.underWay--
	s, err := d.outbox.Record(ctx, a.letter, a.err, time.Now())
	e, part := d.engine, "sink "+d.sink
	if s.Sent {
		e.health.mended(part)
	}
	if s.Back {
		e.Logger.Info("a sink accepts alerts again", "sink", d.sink)
	}
	if s.Err == nil || ctx.Err() != nil {
		return err
	}
	e.Observer.SinkFailed(d.sink, s.Err)
	e.health.failed(part, s.Err)
	message := "a sink does not accept alerts; they wait until it does"
	if s.Buried > 0 {
		message = "a sink rejected an alert; `interlock alerts dead` lists it"
	}
	e.Logger.Warn(message, "sink", d.sink, "error", s.Err)
	return err
}
