package sim

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/slamonitor"
	"github.com/interlock-go/interlock/internal/store"
)

// S4: each armed deadline ends in exactly one of MET, BREACHED and CANCELLED, at the instant that
// its file and period define; and no run counts as successful unless its target or a person
// reported success.

// deadlineMoved checks a deadline that was created or changed, with the events of the same commit.
func (w *watch) deadlineMoved(before, after store.Deadline, told []event.Event) {
	name := fmt.Sprintf("%s deadline of %s", after.Kind, after.Key)
	moved := before.State != after.State || !before.BreachAt.Equal(after.BreachAt)
	switch {
	case before.State == "" && after.State == "":
	case !moved:
		return // a warning, or the time of a late completion
	case before.State == sla.Breached || before.State == sla.Met || before.State == sla.Cancelled && !mayReturn[before.Reason]:
		w.fail(SilenceIsNeverSuccess, "the %s was %s and is %s", name, before.State, after.State)
	case before.State == sla.Armed && !before.BreachAt.Equal(after.BreachAt):
		w.endIsToldOnce(before, sla.Cancelled, name, told) // it was replaced by another instant
	}
	if before.State != sla.Armed || !before.BreachAt.Equal(after.BreachAt) {
		w.instantIsRight(after, name)
	}
	if after.State != sla.Armed {
		w.endIsToldOnce(after, after.State, name, told)
		w.endIsTrue(after, name)
	}
}

// mayReturn are the reasons after which a deadline may be armed again: the file, or the pipeline,
// came back.
var mayReturn = map[string]bool{slamonitor.Replaced: true, slamonitor.Removed: true, slamonitor.Paused: true, slamonitor.Excluded: true}

// instantIsRight compares an armed instant with file and period.
func (w *watch) instantIsRight(d store.Deadline, name string) {
	def := w.definition(d.Key.Pipeline, d.Config)
	if def == nil {
		w.fail(SilenceIsNeverSuccess, "the %s rests on config %s, which was never stored", name, d.Config)
		return
	}
	if d.Kind == store.Absolute {
		fire := def.Schedule.FireFor(d.Key.Period)
		if want := def.SLA.For(d.Key.Period, fire, def.Schedule); !want.Breach.Equal(d.BreachAt) {
			w.fail(SilenceIsNeverSuccess, "the %s is armed for %s, and file and period say %s", name, d.BreachAt, want.Breach)
		}
		return
	}
	for _, v := range w.written {
		if def.SLA.Relative(v.UpdatedAt).Breach.Equal(d.BreachAt) {
			return
		}
	}
	w.fail(SilenceIsNeverSuccess, "the %s is armed for %s, which counts from no reading", name, d.BreachAt)
}

// ending are the events that report a deadline's end.
var ending = map[event.Type]sla.State{
	event.SLAMet: sla.Met, event.SLABreach: sla.Breached, event.RelativeSLABreach: sla.Breached, event.SLACancelled: sla.Cancelled,
}

// endIsToldOnce checks that the commit that ends a deadline also emits its event. One that was
// armed again and ends the same way was reported before.
func (w *watch) endIsToldOnce(d store.Deadline, as sla.State, name string, told []event.Event) {
	again := fmt.Sprintf("%s %s %s", name, as, d.BreachAt)
	n := 0
	if w.notes.ends[again] {
		n++
	}
	w.notes.ends[again] = true
	for _, e := range told {
		extra, is := e.Detail.Extra.(event.Deadline)
		about := run.Key{Pipeline: e.Detail.Pipeline, Schedule: e.Detail.Schedule, Period: e.Detail.Date}
		if is && ending[e.Type] == as && about == d.Key && extra.Deadline.Equal(d.BreachAt) {
			n++
		}
	}
	if n == 0 {
		w.fail(SilenceIsNeverSuccess, "the %s for %s became %s and nothing was told", name, d.BreachAt, as)
	}
}

// endIsTrue checks that the end agrees with the run.
func (w *watch) endIsTrue(d store.Deadline, name string) {
	r := w.runs[d.Key]
	switch d.State {
	case sla.Met:
		if d.DoneAt.After(d.BreachAt) || r.Status == "" {
			w.fail(SilenceIsNeverSuccess, "the %s for %s is MET by a run that is %q and was done at %s", name, d.BreachAt, r.Status, d.DoneAt)
		}
	case sla.Breached:
		if d.ClosedAt.Before(d.BreachAt) {
			w.fail(SilenceIsNeverSuccess, "the %s was breached at %s, before %s", name, d.ClosedAt, d.BreachAt)
		}
		w.breachIsDue(d, name)
	case sla.Cancelled:
		if d.Reason == "" {
			w.fail(SilenceIsNeverSuccess, "the %s was cancelled without a reason", name)
		}
	case sla.Armed:
	}
}

// breachIsDue checks that a deadline was not breached during a pause that holds it, or after the
// removal of its pipeline.
func (w *watch) breachIsDue(d store.Deadline, name string) {
	row := w.current(d.Key.Pipeline)
	if row.Config == "" && !row.RemovedAt.After(d.BreachAt) {
		w.fail(SilenceIsNeverSuccess, "the %s for %s is BREACHED, and its pipeline was removed at %s", name, d.BreachAt, row.RemovedAt)
	}
	for _, p := range row.Pauses() {
		if p.HoldSLA && !p.Since.After(d.BreachAt) {
			w.fail(SilenceIsNeverSuccess, "the %s for %s is BREACHED, and a pause has held it since %s", name, d.BreachAt, p.Since)
		}
	}
}

// said records the result of an attempt that a target or a person reported.
func (w *watch) said(id run.AttemptID, result run.Result) {
	if w.notes.said[id] == nil {
		w.notes.said[id] = map[run.Result]bool{}
	}
	w.notes.said[id][result] = true
}

// completedWithSuccess checks that a success was reported for this very attempt.
func (w *watch) completedWithSuccess(r run.Run) {
	w.notes.completed[r.Key] = true
	if !w.notes.said[r.ID()][run.ResultSuccess] {
		w.fail(SilenceIsNeverSuccess, "%s is COMPLETED, and nobody said that this attempt succeeded", r.ID())
	}
}

// deadlinesAreClosed checks that no armed deadline is long past, in a world in which nothing goes
// wrong any more.
func (w *watch) deadlinesAreClosed(settled time.Time) {
	for _, d := range w.deadlines {
		if d.State == sla.Armed && d.BreachAt.Before(settled) {
			w.fail(Liveness, "the %s deadline of %s is still armed for %s", d.Kind, d.Key, d.BreachAt)
		}
	}
}
