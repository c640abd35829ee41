package awslambdatest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda"
)

// AdvanceTo advances the time to an instant and does all that becomes due on the way.
func (w *World) AdvanceTo(at time.Time) {
	for w.running {
		w.Settle()
		next := at
		for _, other := range []time.Time{w.cloud.next(), w.watched, w.pulsed} {
			if !other.IsZero() && other.Before(next) {
				next = other
			}
		}
		if next.After(w.now) {
			w.now = next
		}
		w.tick()
		w.Settle()
		if !w.now.Before(w.pulsed) {
			w.pulse()
		}
		if !w.now.Before(w.watched) {
			w.runWatchdog()
		}
		if !w.now.Before(at) {
			return
		}
	}
	if at.After(w.now) {
		w.now = at
	}
}

// tick fires the timers of executions and the schedules that are due.
func (w *World) tick() {
	w.cloud.mu.Lock()
	err := w.cloud.machine.move(w.now)
	w.cloud.mu.Unlock()
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range w.cloud.due(w.now) {
		w.cloud.count("fire")
		switch _, err := w.invoke(e.target, []byte(e.input)); {
		case err == nil:
		case e.tries < 5:
			w.cloud.again(e, w.now.Add(time.Minute))
		default:
			w.dead["scheduler"]++
		}
	}
}

// carry delivers published events to the event-sink, as the bus does.
func (w *World) carry() {
	for _, e := range w.cloud.takeBus() {
		w.Events = append(w.Events, e)
		d := awslambda.Delivered{
			ID: "7bf73129-1428-4cd3-a780-95db273d1602", Source: e.Source, Type: e.DetailType, Resources: e.Resources, Detail: json.RawMessage(e.Detail),
			Time: time.Unix(int64(e.Time), 0).UTC().Format(time.RFC3339),
		}
		w.kept(d)
		w.alert(d)
	}
	w.dispatch()
}

// kept calls the event-sink up to three times, as Lambda does for asynchronous calls. Then the event
// goes to the dead-letter queue.
func (w *World) kept(d awslambda.Delivered) {
	for range 3 {
		err := w.invoked(awslambda.EventSink, func() error {
			if w.sink == nil {
				return nil // the tables list events by themselves
			}
			return w.sink.Keep(context.Background(), d)
		})
		if err == nil {
			return
		}
		w.o.Wrong("event-sink", err)
		w.buried()
	}
	w.dead["alert"]++
}

// Settle does everything that is due at this instant.
func (w *World) Settle() {
	for n := 0; w.running && (w.streamed() || w.sent() || w.called()); n++ {
		if n == restless {
			w.Fatalf("work at %s never ends; the last calls were:\n%s", w.now.Format(time.DateTime), strings.Join(w.trace, "\n"))
		}
	}
}

// restless limits the number of calls at one instant; traced is how many of them are remembered.
const (
	restless = 2000
	traced   = 20
)

// note remembers a call and forgets the oldest one.
func (w *World) note(function string, payload, answer []byte, err error) {
	name := function[strings.LastIndex(function, ":")+1:]
	w.cloud.count("call " + name)
	line := fmt.Sprintf("%s %s → %s %v", name, payload, answer, err)
	w.trace = append(w.trace, line[:min(len(line), 1000)])
	w.trace = w.trace[max(0, len(w.trace)-traced):]
}

// Watch runs a pass of the watchdog now, before the streams deliver what was just written.
func (w *World) Watch() { w.runWatchdog() }

// runWatchdog runs a pass of the watchdog, and handles what follows from it.
func (w *World) runWatchdog() {
	w.watched = w.now.Add(w.o.Watch)
	w.watchdog(awslambda.WatchRequest{})
}

// pulse runs a pulse of the watchdog.
func (w *World) pulse() {
	w.pulsed = w.now.Add(w.o.Pulse)
	w.watchdog(awslambda.WatchRequest{Mode: awslambda.Pulse})
	w.dispatch()
	w.gauge()
}

func (w *World) watchdog(in awslambda.WatchRequest) {
	err := w.invoked(awslambda.Watchdog, func() error {
		_, err := w.watch.Call(context.Background(), in)
		return err
	})
	if err != nil {
		w.o.Wrong("watchdog", err)
	}
	w.buried()
	w.carry()
	w.Settle()
}

// buried rebuilds the functions if any were killed, and reports whether it did.
func (w *World) buried() bool {
	mortal, is := w.Tables.(interface{ Died() bool })
	if !is || !mortal.Died() {
		return false
	}
	w.Restart()
	return true
}
