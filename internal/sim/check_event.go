package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// oncePerAttempt are events that an attempt has at most once, whatever their ids.
var oncePerAttempt = map[event.Type]bool{
	event.TriggerStarted: true, event.ValidationPassed: true, event.ValidationExhausted: true, event.JobTriggered: true,
	event.JobCompleted: true, event.JobFailed: true, event.JobTimeout: true, event.JobPollExhausted: true,
	event.RetryScheduled: true, event.RetryExhausted: true, event.RunCancelled: true, event.SFNTimeout: true,
}

// oncePerRun are events that a run has at most once.
var oncePerRun = map[event.Type]bool{event.PipelineExcluded: true, event.SensorDeadlineExpired: true, event.TriggerRecovered: true}

// whyItEnded are the events that say why a run ended without being COMPLETED.
var whyItEnded = map[event.Type]bool{
	event.ValidationExhausted: true, event.RetryExhausted: true, event.JobPollExhausted: true, event.SFNTimeout: true,
	event.RunCancelled: true, event.SensorDeadlineExpired: true,
}

// told checks an event and records what other checks need.
func (w *watch) told(e event.Event) {
	n := &w.notes
	d := e.Detail
	key := run.Key{Pipeline: d.Pipeline, Schedule: d.Schedule, Period: d.Date}
	if err := e.Validate(); err != nil {
		w.fail(EventOnce, "%s of %s is no sound event: %v", e.Type, key, err)
	}
	w.once(EventOnce, n.ids, e.ID, "event "+e.ID)
	if oncePerAttempt[e.Type] {
		w.once(EventOnce, n.once, fmt.Sprintf("%s %s", e.Type, key.Attempt(d.Attempt)), "")
	}
	if oncePerRun[e.Type] {
		w.once(EventOnce, n.once, fmt.Sprintf("%s %s", e.Type, key), "")
	}
	if whyItEnded[e.Type] {
		n.why[key.Attempt(d.Attempt)] = true
	}
	switch extra := d.Extra.(type) {
	case event.Missed:
		for _, date := range extra.Dates {
			w.missedIsToldOnce(d.Pipeline, date)
		}
	case event.Sensors:
		if e.Type == event.PostRunSensorMissing {
			for _, s := range extra.Sensors {
				w.once(AbsenceIsBounded, n.missing, missingName(key.Attempt(d.Attempt), s), "")
			}
		}
	case event.Exclusion:
		n.excluded[key] = true
	case event.Late:
		n.late[key] = true
		for _, s := range extra.Sensors {
			name := lateName(key.Attempt(d.Attempt), s)
			if e.Type == event.LateDataArrival && extra.Reason != "window closed" {
				w.once(EventOnce, n.once, "late "+name, "late data of "+name)
			}
			n.lateOn[name] = true
		}
	}
	if e.Type == event.PostRunPassed || e.Type == event.PostRunFailed || e.Type == event.PostRunDrift {
		n.judged[key.Attempt(d.Attempt)] = true
	}
	if e.Type == event.RerunAccepted || e.Type == event.RerunRejected {
		n.answers[d.CausedBy]++
		if n.answers[d.CausedBy] > 1 {
			w.fail(RerunAnsweredOnce, "%s was answered %d times, last with %s", d.CausedBy, n.answers[d.CausedBy], e.Type)
		}
	}
}

// missedIsToldOnce checks that a missed fire is reported once, or again if clocks were set back
// into or before its window meanwhile.
func (w *watch) missedIsToldOnce(id pipeline.ID, date string) {
	name := string(id) + " " + date
	if told, twice := w.notes.missed[name]; twice {
		p, _ := period.Parse(date) // FireFor has no fire for a zero period
		again := slices.ContainsFunc(w.versionsOf(id), func(f activeVersion) bool {
			fire := f.def.Schedule.FireFor(p)
			return w.undone(span{fire, fire.Add(f.def.Window)}, told)
		})
		if !again {
			w.fail(AbsenceIsBounded, "%s was reported twice", name)
		}
	}
	w.notes.missed[name] = w.world.now
}

// setBack is a correction of all clocks.
type setBack struct {
	at       time.Time // real time
	from, to time.Time // clock time
}

// clocksSetBack notes that all clocks were set back to the present time.
func (w *watch) clocksSetBack(from time.Time) {
	w.notes.setBacks = append(w.notes.setBacks, setBack{w.world.now, from, w.world.Now()})
}

// undone reports whether clocks that had passed the beginning of a span were set back to before its
// end. Only corrections after an instant of real time count.
func (w *watch) undone(s span, after time.Time) bool {
	return slices.ContainsFunc(w.notes.setBacks, func(b setBack) bool {
		return b.at.After(after) && s.to.After(b.to) && !s.from.After(b.from)
	})
}

// lost records events that the store lost: they may be emitted again.
func (w *watch) lost(events []store.StoredEvent) {
	n := &w.notes
	for _, e := range events {
		key := run.Key{Pipeline: e.Event.Detail.Pipeline, Schedule: e.Event.Detail.Schedule, Period: e.Event.Detail.Date}
		delete(n.ids, e.Event.ID)
		delete(n.once, fmt.Sprintf("%s %s", e.Event.Type, key.Attempt(e.Event.Detail.Attempt)))
		delete(n.once, fmt.Sprintf("%s %s", e.Event.Type, key))
		if late, is := e.Event.Detail.Extra.(event.Late); is {
			for _, s := range late.Sensors {
				delete(n.once, "late "+lateName(key.Attempt(e.Event.Detail.Attempt), s))
			}
		}
	}
}

func missingName(id run.AttemptID, sensor string) string { return string(id) + " " + sensor }

// once checks that something is reported only once.
func (w *watch) once(invariant string, seen map[string]bool, what, as string) {
	if seen[what] {
		if as == "" {
			as = what
		}
		w.fail(invariant, "%s was reported twice", as)
	}
	seen[what] = true
}

// answered records the answer to a request: there is exactly one, in rows and events.
func (w *watch) answered(a store.Rerun) {
	w.notes.asked[a.ID] = true
	if n := w.notes.answers["request/"+a.ID]; n != 1 {
		w.fail(RerunAnsweredOnce, "request %s for %s was answered, and that was reported %d times", a.ID, a.Key, n)
	}
}

// handled records a change that the router has handled.
func (w *watch) handled(c store.Change) {
	if !w.notes.handled[c.Position] {
		w.handledSoon(c)
	}
	w.notes.handled[c.Position] = true
}

// setAside records a change that became a task.
func (w *watch) setAside(c store.Change) { w.notes.aside[c.Position] = c }

// done checks that changes marked as handled are handled.
func (w *watch) done(changes []store.Change) {
	for _, c := range changes {
		if _, aside := w.notes.aside[c.Position]; !aside && !w.notes.handled[c.Position] {
			w.fail(CursorNeverPasses, "change %d (%s of %s) is passed, but was never handled", c.Position, c.Kind, c.Pipeline)
		}
	}
}

// endIsTold checks that a run without success has an event with the reason.
func (w *watch) endIsTold(r run.Run) {
	if r.Status != run.Completed && !w.notes.why[r.ID()] {
		w.fail(ReadyIsNotForgotten, "%s ended %s and nothing says why", r.ID(), r.Status)
	}
}
