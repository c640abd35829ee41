package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/source"
)

// watcher is the part of the store that CheckSilence uses.
type watcher interface {
	notes
	changer
}

// CheckSilence reports each active source whose events are missing, once, with INFRA_ALARM. For a
// source that is no longer active it reports the end of the silence. It returns how many events it
// emitted.
func CheckSilence(ctx context.Context, s watcher, active *source.Set, now time.Time) (int, error) {
	all, err := Stored(ctx, s)
	if err != nil {
		return 0, err
	}
	found := 0
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(all)) {
		judge := silent
		if active.Get(id) == nil {
			judge = removed
		}
		a := all[id]
		if judge(id, &a, now) == nil {
			continue
		}
		if err := Change(ctx, s, id, now, func(a *source.Activity) []event.Event { return judge(id, a, now) }); err != nil {
			errs = append(errs, err)
			continue
		}
		found++
	}
	return found, errors.Join(errs...)
}

// silent reports missing events of a source, unless already reported.
func silent(id source.ID, a *source.Activity, now time.Time) []event.Event {
	message := a.Silence(id, now)
	if message == "" || !a.Quiet.IsZero() {
		return nil
	}
	a.Quiet = now.UTC()
	return []event.Event{alarm(id, *a, "ALARM", message, now)}
}

// removed ends a reported silence of a source that is no longer active.
func removed(id source.ID, a *source.Activity, now time.Time) []event.Event {
	return over(id, a, fmt.Sprintf("source %s was removed; its events are no longer expected", id), now)
}

// back ends a reported silence of a source that has an event again.
func back(id source.ID, a *source.Activity, now time.Time) []event.Event {
	return over(id, a, fmt.Sprintf("source %s has an event again, after %s", id, source.Rough(now.Sub(a.LastEvent))), now)
}

// over ends the silence of a source, if one was reported.
func over(id source.ID, a *source.Activity, message string, now time.Time) []event.Event {
	if a.Quiet.IsZero() {
		return nil
	}
	end := alarm(id, *a, "OK", message, now)
	a.Quiet = time.Time{}
	return []event.Event{end}
}

func alarm(id source.ID, a source.Activity, state, message string, now time.Time) event.Event {
	name := "source " + string(id)
	which := fmt.Sprintf("%s %s since %s", name, state, a.Quiet.Format(time.RFC3339Nano))
	return event.New(event.InfraAlarm, event.About{Which: which, At: now}, message, event.Alarm{Alarm: name, State: state})
}
