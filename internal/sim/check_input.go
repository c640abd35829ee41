package sim

import (
	"cmp"
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// inputsAreNotLost checks the completed runs once the world is idle: no write for a period, during
// its job or after it, is missed between two evaluations. Data that differs from the snapshot of
// the last attempt leads to another attempt, or is reported; a post-run reading after the
// completion has an outcome.
func (w *watch) inputsAreNotLost(settled time.Time) {
	for _, key := range w.order {
		r := w.runs[key]
		f, there := w.currentVersion(key.Pipeline)
		if r.Status != run.Completed || !there || f.def.DryRun || r.Schedule != f.def.Opens || r.Progress.Opening.ConfigVersion != f.row.Config {
			continue
		}
		if w.notes.excluded[key] || f.def.Schedule.Excluded(key.Period) != "" {
			continue
		}
		w.startedOnTheLatest(r, f, settled)
		w.changedInputsAreReported(r, f, settled)
		w.postRunIsJudged(r, f, settled)
	}
}

// currentVersion returns the active version of a pipeline.
func (w *watch) currentVersion(id pipeline.ID) (activeVersion, bool) {
	all := w.versionsOf(id)
	if len(all) == 0 || !all[len(all)-1].to.IsZero() {
		return activeVersion{}, false
	}
	return all[len(all)-1], true
}

// startedOnTheLatest checks that the last attempt started on the latest reading of the start
// condition for the period, or that this was reported as late data.
func (w *watch) startedOnTheLatest(r run.Run, f activeVersion, settled time.Time) {
	if f.def.Start == nil || r.Progress.Snapshot == "" {
		return
	}
	at := sensorID{f.def.ID, sensor.Key(f.def.Start.Rule.Key)}
	if from := f.def.Start.Rule.From; from != "" {
		at.pipeline = pipeline.ID(from)
	}
	latest, there := w.best(at, r.Period, w.lastVersion)
	if w.notes.lateOn[lateName(r.ID(), at.String())] {
		return
	}
	if !there || latest.Period != r.Period || !f.undisturbed(latest.UpdatedAt, settled) {
		return
	}
	if w.undone(span{latest.UpdatedAt, latest.UpdatedAt}, time.Time{}) {
		return // dated by a fast clock: it may have come before the version was active
	}
	s, err := w.rows.Snapshot(context.Background(), r.Progress.Snapshot)
	if err != nil {
		w.fail(InputsAreNotLost, "%s has no stored snapshot: %v", r.ID(), err)
		return
	}
	met := f.def.Start.Gate.Decide(rule.Snapshot{{Reading: &latest.Reading, For: r.Period}}, latest.UpdatedAt) == rule.Pass
	seen := seenIn(s, at)
	if met && seen.Version < latest.Version && seen.Content != gate.Content(latest.Facts()) {
		w.fail(InputsAreNotLost, "%s started on version %d of %s and completed at %s; version %d, written at %s, differs, and led to nothing",
			r.ID(), seen.Version, at.key, r.EndedAt, latest.Version, latest.UpdatedAt)
	}
}

// changedInputsAreReported checks that each dated input of the last attempt's rules whose data has
// changed since was reported as late data.
func (w *watch) changedInputsAreReported(r run.Run, f activeVersion, settled time.Time) {
	if r.Progress.Snapshot == "" || f.def.LateData == pipeline.LateIgnore {
		return
	}
	s, err := w.rows.Snapshot(context.Background(), r.Progress.Snapshot)
	if err != nil {
		return // reported where the start condition is checked
	}
	for _, seen := range s.Sensors {
		at := sensorID{seen.Pipeline, seen.Key}
		latest, there := w.best(at, r.Period, w.lastVersion)
		if seen.Start || seen.Key.Engine() || seen.Version == 0 || !there || latest.Period.IsZero() || latest.Period != seen.Period || latest.Version <= seen.Version {
			continue
		}
		if !f.undisturbed(latest.UpdatedAt, settled) || w.undone(span{latest.UpdatedAt, latest.UpdatedAt}, time.Time{}) || w.notes.lateOn[lateName(r.ID(), at.String())] {
			continue
		}
		for _, leaf := range s.Leaves {
			of := sensorID{cmp.Or(pipeline.ID(leaf.From), r.Pipeline), sensor.Key(leaf.Key)}
			if of == at && !leaf.Advisory && !leaf.Over && leaf.Field != "" &&
				!sensor.SameData(sensor.Fields{"": seen.Fields.At(leaf.Field)}, sensor.Fields{"": latest.Fields.At(leaf.Field)}) {
				w.fail(InputsAreNotLost, "%s started on version %d of %s and completed at %s; %s differs in version %d, written at %s, and that was not reported",
					r.ID(), seen.Version, at, r.EndedAt, leaf.Field, latest.Version, latest.UpdatedAt)
			}
		}
	}
}

// lateName names a sensor whose late data is reported after an attempt.
func lateName(id run.AttemptID, sensor string) string { return string(id) + " " + sensor }

// seenIn returns what a snapshot recorded of a sensor; zero if nothing.
func seenIn(s store.Snapshot, at sensorID) store.SeenSensor {
	for _, seen := range s.Sensors {
		if seen.Pipeline == at.pipeline && seen.Key == at.key {
			return seen
		}
	}
	return store.SeenSensor{}
}

// undisturbed reports whether only this version can have handled a write at that instant: it was
// active, and no edit followed within absence. A pause does not count: the latest write takes
// effect when it ends.
func (f activeVersion) undisturbed(at, settled time.Time) bool {
	return !at.Before(later(f.from, f.row.Horizon)) && !at.After(settled) && !f.endedBy(at.Add(absence))
}

// postRunIsJudged checks that the post-run rules have an outcome if a reading for the period came
// after the completion.
func (w *watch) postRunIsJudged(r run.Run, f activeVersion, settled time.Time) {
	if f.def.PostRun == nil || w.notes.judged[r.ID()] {
		return
	}
	for _, ref := range f.def.PostRun.Gate.Refs() {
		for _, v := range w.bySensor[sensorID{r.Pipeline, ref.Key}] {
			got := w.written[v]
			if w.undone(span{got.UpdatedAt, got.UpdatedAt}, time.Time{}) {
				continue // dated by a fast clock: it may have come before the completion
			}
			if !got.Deleted && got.Period == r.Period && within(r, f.def, got.UpdatedAt) && f.undisturbed(got.UpdatedAt, settled) {
				w.fail(InputsAreNotLost, "%s completed at %s; version %d of %s, written at %s, has no outcome", r.ID(), r.EndedAt, v, ref.Key, got.UpdatedAt)
			}
		}
	}
}

// within reports whether a reading came after the completion and inside the post-run window.
func within(r run.Run, def *pipeline.Definition, at time.Time) bool {
	return at.After(r.EndedAt) && at.Before(r.EndedAt.Add(def.PostRun.Window))
}
