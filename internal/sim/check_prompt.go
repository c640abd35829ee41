package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// While the store, the controllers and the clocks work, a due task is performed and a change is
// handled soon, whatever other tasks, changes and targets do (NothingStarves), and a run is woken
// by the event that it waits for, not by its interval (WakeUpsArrive).

const (
	// settling is how long a world has after its start, or after a storm, before it must be prompt:
	// a controller may be down for most of it.
	settling = 50 * time.Minute
	// promptly is the limit. It is shorter than every evaluation interval, so that no interval
	// hides a lost wake-up.
	promptly = 110 * time.Second
	// patrol is how often the watch checks.
	patrol = 30 * time.Second
)

// expectPrompt has the watch check from an instant on that nothing starves and wake-ups arrive.
func (w *watch) expectPrompt(from time.Time) {
	if w.prompt.IsZero() {
		w.prompt = from
		w.patrol(from)
	}
}

func (w *watch) patrol(at time.Time) {
	w.world.chaos.plan(&errand{at: at, again: true, do: func(world *World) {
		w.tasksAreClaimed()
		w.waitsEnd()
		w.patrol(at.Add(patrol))
	}})
}

// isPrompt reports whether changes of an instant, by the clock, must be handled soon.
func (w *watch) isPrompt(at time.Time) bool {
	return !w.prompt.IsZero() && !at.Before(w.prompt.Add(w.world.skew))
}

// tasksAreClaimed checks that no task stays due for long. A task may be stored with a due time in
// the past, so the time counts from when it was first seen.
func (w *watch) tasksAreClaimed() {
	late, err := w.rows.Overdue(context.Background(), w.world.Now(), store.MaxPage)
	if err != nil {
		w.fail(NothingStarves, "the tasks cannot be read: %v", err)
		return
	}
	before := w.notes.due
	w.notes.due = map[string]time.Time{}
	for _, t := range late {
		if strings.HasPrefix(t.ID, cursed) || t.Kind == store.HandleChange || t.Kind == store.Advance && calls(w.definition(t.Pipeline, w.runs[t.Key].Progress.Opening.ConfigVersion)) {
			continue
		}
		name := fmt.Sprintf("%s, due at %s", t.ID, t.Ready())
		since, known := before[name]
		if !known {
			since = w.world.now
		}
		w.notes.due[name] = since
		if w.world.now.Sub(since) > promptly {
			w.fail(NothingStarves, "nothing performs task %s", name)
		}
	}
}

// calls reports whether the start call of a pipeline's job takes as long as the job: its tasks wait
// for one another.
func calls(def *pipeline.Definition) bool {
	return def != nil && def.Job != nil && def.Job.Type == "http"
}

// handledSoon checks that a handled change was written recently.
func (w *watch) handledSoon(c store.Change) {
	if waited := w.world.Now().Sub(c.At); w.isPrompt(c.At) && waited > promptly && c.Pipeline != clogged {
		w.fail(NothingStarves, "change %d (%s of %s) was handled %s after it was written", c.Position, c.Kind, c.Pipeline, waited)
	}
}

// waitsEnd checks that no pending run waits long although it could continue.
func (w *watch) waitsEnd() {
	before := w.notes.waits
	w.notes.waits = map[run.AttemptID]time.Time{}
	for _, key := range w.order {
		r := w.runs[key]
		if r.Status != run.Pending {
			continue
		}
		why := w.waitsInVain(r)
		if why == "" {
			continue
		}
		since, known := before[r.ID()]
		if !known {
			since = w.world.now
		}
		w.notes.waits[r.ID()] = since
		if w.world.now.Sub(since) > promptly {
			w.fail(WakeUpsArrive, "%s waits although %s", r.ID(), why)
		}
	}
}

// waitsInVain returns why a pending run could continue; "" if it could not.
func (w *watch) waitsInVain(r run.Run) string {
	now, p := w.world.Now(), r.Progress
	row := w.current(r.Pipeline)
	def := w.definition(r.Pipeline, p.Opening.ConfigVersion)
	if def == nil || row.Config == "" || row.Paused() || now.Before(p.WindowStart) || calls(def) {
		return ""
	}
	if !p.WaitingSince.IsZero() {
		if w.slotIsFree(r, def, row) {
			return "a slot is free"
		}
		return ""
	}
	if w.gateWasOpened(r, def, now) {
		return "its gate is open"
	}
	return ""
}

// slotIsFree reports whether the pipeline has a slot that no job uses and no older run waits for.
func (w *watch) slotIsFree(r run.Run, def *pipeline.Definition, row store.Pipeline) bool {
	free := def.MaxActive
	for _, key := range w.order {
		other := w.runs[key]
		waits := other.Status == run.Pending && !other.Progress.WaitingSince.IsZero() && other.Period.Compare(r.Period) < 0
		if key.Pipeline == r.Pipeline && (waits || slices.Contains(row.Slots, other.ID()) && other.HoldsSlot()) {
			free--
		}
	}
	return free > 0
}

// gateWasOpened reports whether a write has opened the gate, or whether the passage of time has in
// a way that wakes a run: settled data, or the end of a preference. A gate that opens by the age of
// data is noticed at the next evaluation.
func (w *watch) gateWasOpened(r run.Run, def *pipeline.Definition, now time.Time) bool {
	if len(def.After) > 0 {
		return false
	}
	facts, known := w.facts(r, def, w.lastVersion)
	if !known || w.decides(r, def, facts, now) != rule.Pass {
		return false
	}
	instants := []time.Time{r.Progress.WindowStart, def.PreferUntil(r.Period, r.Progress.WindowStart)}
	for _, f := range facts {
		for _, one := range append([]sensor.Seen{f}, f.Over...) {
			if one.Reading != nil {
				instants = append(instants, later(instants[0], one.Reading.UpdatedAt))
			}
		}
	}
	for _, l := range def.Gate.Explain(facts, slices.MaxFunc(instants, time.Time.Compare)).Leaves {
		instants = append(instants, l.PassesAt)
	}
	return slices.ContainsFunc(instants, func(at time.Time) bool {
		return !at.Before(r.Progress.WindowStart) && !at.After(now) && w.decides(r, def, facts, at) == rule.Pass
	})
}

// decides returns the outcome of a run's gate on facts at an instant.
func (w *watch) decides(r run.Run, def *pipeline.Definition, facts rule.Snapshot, at time.Time) rule.Outcome {
	if def.Gate.Prefers() && !at.Before(def.PreferUntil(r.Period, r.Progress.WindowStart)) {
		return def.Gate.DecideRequired(facts, at)
	}
	return def.Gate.Decide(facts, at)
}

// facts returns the readings up to a version as a run's gate sees them. It returns false for a gate
// with a start condition, which has its own rules for what counts.
func (w *watch) facts(r run.Run, def *pipeline.Definition, upTo int64) (rule.Snapshot, bool) {
	refs := def.Gate.Refs()
	facts := make(rule.Snapshot, len(refs))
	for i, ref := range refs {
		if ref.Start {
			return nil, false
		}
		at := sensorID{r.Pipeline, ref.Key}
		if ref.From != "" {
			at.pipeline = pipeline.ID(ref.From)
		}
		if ref.Over == (rule.Range{}) {
			best, there := w.best(at, r.Period, upTo)
			facts[i] = w.fact(best, there, r.Period)
			continue
		}
		facts[i].For = r.Period
		for _, slice := range gate.Slices(def.Schedule, ref.Over, r.Period) {
			best, there := w.dated(at, slice, upTo)
			facts[i].Over = append(facts[i].Over, w.fact(best, there, slice))
		}
	}
	return facts, true
}

// fact returns a reading as a rule sees it for a period.
func (w *watch) fact(r write, there bool, p period.Period) sensor.Seen {
	if !there {
		return sensor.Seen{For: p}
	}
	r.ChangedAt = w.unchangedSince(sensorID{r.pipeline, r.Key}, r)
	return sensor.Seen{Reading: &r.Reading, For: p}
}
