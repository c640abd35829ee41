package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// L1: if the gate is open inside the window, the job starts, or an alert says why not.

// readyIsNotExhausted: a run whose gate was open when the last evaluation began, and still is when
// it is committed, does not end with its window.
func (w *watch) readyIsNotExhausted(before, after run.Run, now time.Time) {
	def := w.definition(after.Pipeline, after.Progress.Opening.ConfigVersion)
	if def == nil || len(def.After) > 0 || w.current(after.Pipeline).Paused() {
		return
	}
	if end := def.StartCloses(after.Period); !end.IsZero() && !now.Before(end) {
		return // its event says that nothing starts by itself any more
	}
	for _, upTo := range []int64{w.began(), w.lastVersion} {
		if !w.wasOpen(after, def, before.Progress.WindowEnd, upTo, now) {
			return
		}
	}
	w.fail(ReadyIsNotForgotten, "%s ended with its window although its gate is open", after.ID())
}

// wasOpen reports whether a run's gate is open on the readings up to a version that were written
// before its window ended.
func (w *watch) wasOpen(r run.Run, def *pipeline.Definition, windowEnd time.Time, upTo int64, now time.Time) bool {
	facts, known := w.facts(r, def, upTo)
	late := func(f *sensor.Seen) bool { return f.Reading != nil && !f.Reading.UpdatedAt.Before(windowEnd) }
	for i := range facts {
		if late(&facts[i]) {
			facts[i] = sensor.Seen{}
		}
		for n := range facts[i].Over {
			if late(&facts[i].Over[n]) {
				facts[i].Over[n].Reading = nil
			}
		}
	}
	return known && w.decides(r, def, facts, now) == rule.Pass
}

// nothingIsForgotten checks, once nothing goes wrong any more, that everything that should have
// opened a run led to a run or an event.
func (w *watch) nothingIsForgotten(settled time.Time) {
	for _, id := range slices.Sorted(maps.Keys(w.pipelines)) {
		all := w.versionsOf(id)
		for i, f := range all {
			if f.def.DryRun {
				continue
			}
			f.hasty = i+2 < len(all) || i+1 < len(all) && all[i+1].removed
			w.firesAreDealtWith(f, settled)
			w.writesAreDealtWith(f, settled)
		}
	}
}

// activeVersion is a version of a pipeline and when it was active.
type activeVersion struct {
	def      *pipeline.Definition
	row      store.Pipeline // as it was accepted
	from, to time.Time      // to is zero if it still is
	removed  bool           // ended by a removal
	hasty    bool           // several versions followed quickly: controllers consider only the latest one
	pauses   []span
}

type span struct{ from, to time.Time }

// versionsOf lists the versions of a pipeline that were active.
func (w *watch) versionsOf(id pipeline.ID) []activeVersion {
	var all []activeVersion
	for _, row := range w.pipelines[id] {
		last := len(all) - 1
		open := last >= 0 && all[last].to.IsZero()
		if open && row.Config != all[last].row.Config {
			all[last].to, all[last].removed = row.AcceptedAt, row.Config == ""
			if row.Config == "" {
				all[last].to = row.RemovedAt
			}
			open = false
		}
		if !open && row.Config != "" {
			if def := w.definition(id, row.Config); def != nil {
				all = append(all, activeVersion{def: def, row: row, from: row.AcceptedAt})
				last = len(all) - 1
			}
		}
		if last >= 0 {
			all[last].notePause(row, w.world.Now())
		}
	}
	return all
}

// notePause records a pause from a stored row.
func (f *activeVersion) notePause(row store.Pipeline, now time.Time) {
	for _, p := range row.Pauses() {
		if !slices.ContainsFunc(f.pauses, func(s span) bool { return s.from.Equal(p.Since) }) {
			f.pauses = append(f.pauses, span{p.Since, now})
		}
	}
}

// endedBy reports whether the version was replaced or removed before an instant.
func (f activeVersion) endedBy(at time.Time) bool { return !f.to.IsZero() && f.to.Before(at) }

// disturbed reports whether an edit, a removal or a pause came so soon after an instant that its
// effect is not defined.
func (f activeVersion) disturbed(at time.Time, within time.Duration) bool {
	if f.endedBy(at.Add(within)) {
		return true
	}
	for _, p := range f.pauses {
		if p.from.Before(at.Add(within)) && p.to.After(at.Add(-within)) {
			return true
		}
	}
	return false
}

// firesAreDealtWith checks that each cron fire has a run or an event.
func (w *watch) firesAreDealtWith(f activeVersion, settled time.Time) {
	if f.def.Opens != pipeline.ByCron {
		return
	}
	from := later(f.from, f.row.Horizon).Add(time.Nanosecond) // a fire at that very instant is in the past
	for slot := range f.def.Schedule.Slots(from) {
		if slot.FireAt.IsZero() || slot.FireAt.After(settled) || !f.to.IsZero() && !slot.FireAt.Before(f.to) {
			return
		}
		key := run.Key{Pipeline: f.def.ID, Schedule: f.def.Opens, Period: slot.Period}
		if slot.Excluded != "" || (f.removed || f.hasty) && f.disturbed(slot.FireAt, absence) {
			continue
		}
		if w.undone(span{slot.FireAt, slot.FireAt}, time.Time{}) && w.undone(span{f.to, f.to}, time.Time{}) {
			continue // by the corrected clock the version was replaced before it fired
		}
		if !w.dealtWith(key) {
			w.fail(ReadyIsNotForgotten, "%s was to open at %s, and there is neither a run nor an event", key, slot.FireAt)
		}
	}
}

// absence is how long all controllers may be down at most, including the time to catch up.
const absence = 3 * time.Hour

// dealtWith reports whether a period has a run, or was reported as suppressed, missed or late.
func (w *watch) dealtWith(key run.Key) bool {
	_, opened := w.runs[key]
	_, missed := w.notes.missed[string(key.Pipeline)+" "+key.Period.String()]
	return opened || missed || w.notes.excluded[key] || w.notes.late[key]
}

// writesAreDealtWith checks that each write that meets a start condition has a run or an event.
func (w *watch) writesAreDealtWith(f activeVersion, settled time.Time) {
	if f.def.Opens != pipeline.ByStream || f.def.Start == nil {
		return
	}
	at := sensorID{f.def.ID, sensor.Key(f.def.Start.Rule.Key)}
	if from := f.def.Start.Rule.From; from != "" {
		at.pipeline = pipeline.ID(from)
	}
	for _, v := range w.bySensor[at] {
		written := w.written[v]
		r := written.Reading
		if r.Deleted || w.deletedSince(written) || r.UpdatedAt.Before(later(f.from, f.row.Horizon)) || r.UpdatedAt.After(settled) || !f.to.IsZero() && !r.UpdatedAt.Before(f.to) || f.disturbed(r.UpdatedAt, absence) {
			continue
		}
		p := r.Period
		if p.IsZero() {
			p = f.def.Schedule.PeriodAt(r.UpdatedAt)
		}
		w.writeIsDealtWith(f, r, p)
	}
}

func (w *watch) writeIsDealtWith(f activeVersion, r sensor.Reading, p period.Period) {
	key := run.Key{Pipeline: f.def.ID, Schedule: f.def.Opens, Period: p}
	if end := f.def.Start.Deadline; end != nil && sla.Close(*end, p, f.def.Schedule).Before(f.row.Horizon) {
		return // its window was closed before the pipeline existed
	}
	met := f.def.Start.Gate.Decide(rule.Snapshot{{Reading: &r, For: p}}, r.UpdatedAt) == rule.Pass
	if met && f.def.Schedule.Excluded(p) == "" && !w.dealtWith(key) {
		w.fail(ReadyIsNotForgotten, "%s was met by version %d of %s, written at %s, and there is neither a run nor an event", key, r.Version, r.Key, r.UpdatedAt)
	}
}
