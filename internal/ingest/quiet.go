package ingest

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/source"
)

// Silent reports that events of a source are missing, unless that was reported, and returns the events to emit.
func Silent(id source.ID, a *source.Activity, now time.Time) []event.Event {
	message := a.Silence(id, now)
	if message == "" || !a.Quiet.IsZero() {
		return nil
	}
	a.Quiet = now.UTC()
	return []event.Event{alarm(id, *a, "ALARM", message, now)}
}

// Removed ends a silence that was reported of a source that is no longer in force.
func Removed(id source.ID, a *source.Activity, now time.Time) []event.Event {
	if a.Quiet.IsZero() {
		return nil
	}
	over := alarm(id, *a, "OK", fmt.Sprintf("source %s was removed; its events are no longer expected", id), now)
	a.Quiet = time.Time{}
	return []event.Event{over}
}

func backEvent(id source.ID, a source.Activity, now time.Time) event.Event {
	return alarm(id, a, "OK", fmt.Sprintf("source %s has an event again, after %s", id, source.Rough(now.Sub(a.LastEvent))), now)
}

func alarm(id source.ID, a source.Activity, state, message string, now time.Time) event.Event {
	name := "source " + string(id)
	which := fmt.Sprintf("%s %s since %s", name, state, a.Quiet.Format(time.RFC3339Nano))
	return event.New(event.InfraAlarm, event.About{Which: which, At: now}, message, event.Alarm{Alarm: name, State: state})
}
