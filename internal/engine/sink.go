package engine

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/sink"
)

// deliver brings events to one sink, at that sink's own pace.
func (e *Engine) deliver(ctx, work context.Context, s sink.Sink) {
	var progress notify.Progress
	for ctx.Err() == nil {
		more := e.Store.EventsChanged()
		next, err := e.Notifier.Deliver(work, s, progress, time.Now())
		progress = next
		switch {
		case err != nil && stopped(work, err):
			return
		case err != nil:
			e.tellSink(s, progress.Tries, err)
			pause(ctx, max(progress.Wait, minBackoff))
		case progress.Idle:
			select {
			case <-ctx.Done():
			case <-more:
			}
		}
	}
}

// tellSink logs that a sink does not answer: when it begins, not at every try.
func (e *Engine) tellSink(s sink.Sink, tries int, err error) {
	e.Observer.SinkFailed(s.Name(), err)
	e.health.failed("sink "+s.Name(), err)
	if tries <= 1 {
		e.Logger.Warn("a sink does not take alerts; they wait until it does", "sink", s.Name(), "error", err)
	}
}
