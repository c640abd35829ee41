package sim

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/gate/gatetest"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// S1: every start has a stored snapshot on which the gate is open, or a bypass with who and why.

// startIsAnnounced is called by the target before a start: the decision to start must be in the
// store by then.
func (w *watch) startIsAnnounced(a job.Attempt) {
	key := run.Key{Pipeline: a.Pipeline, Schedule: a.Schedule, Period: a.Period}
	r, err := w.rows.Run(context.Background(), key)
	switch {
	case err != nil:
		w.fail(NoUnsafeStart, "start of %s, of which the store knows no run: %v", a.ID, err)
	case r.ID() != a.ID:
		// A start that outlived its attempt was checked when it was announced.
	case r.Progress.Snapshot == "" || r.Status == run.Pending:
		w.fail(NoUnsafeStart, "start of %s while the run is %s with snapshot %q", a.ID, r.Status, r.Progress.Snapshot)
	default:
		if _, err := w.rows.Snapshot(context.Background(), r.Progress.Snapshot); err != nil {
			w.fail(NoUnsafeStart, "start of %s has no stored snapshot: %v", a.ID, err)
		}
	}
}

// startIsSafe checks the snapshot with which a start is announced.
func (w *watch) startIsSafe(r run.Run, b store.Batch) {
	s, err := w.rows.Snapshot(context.Background(), r.Progress.Snapshot)
	if err != nil {
		w.fail(NoUnsafeStart, "%s is to start on snapshot %s: %v", r.ID(), r.Progress.Snapshot, err)
		return
	}
	o := r.Progress.Opening
	if s.Config != o.ConfigVersion || s.Attempt != r.Attempt || s.Key != r.Key || s.At.IsZero() {
		w.fail(NoUnsafeStart, "snapshot %s of %s is of attempt %d, config %s, instant %s", s.ID, r.ID(), s.Attempt, s.Config, s.At)
	}
	if s.Bypassed && o.GateBypassed && o.By != "" && o.Reason != "" {
		return
	}
	def := w.definition(r.Pipeline, s.Config)
	if def == nil {
		w.fail(NoUnsafeStart, "snapshot %s rests on config %s, which was never stored", s.ID, s.Config)
		return
	}
	if until := def.PreferUntil(r.Period, r.Progress.WindowStart); def.Gate.Prefers() && !s.PreferUntil.Equal(until) {
		w.fail(NoUnsafeStart, "snapshot %s prefers rules until %s, its file until %s", s.ID, s.PreferUntil, until)
	}
	if got := verdict(def, s); got != rule.Pass {
		w.fail(NoUnsafeStart, "start of %s rests on a gate that is %s", r.ID(), got)
	}
	bare := s
	bare.PreferUntil = time.Time{}
	if complete := verdict(def, bare) == rule.Pass; complete != (len(s.Degraded) == 0) {
		w.fail(NoUnsafeStart, "start of %s misses %q, and that all of its rules pass is %t", r.ID(), s.Degraded, complete)
	}
	w.rulesHold(r, s)
	w.factsAreRight(def, s)
}

// orderedBy notes who asked for an attempt: a retry continues what was asked for before.
func (w *watch) orderedBy(r run.Run) {
	switch r.Progress.Opening.Cause.Counter() {
	case run.Retries, run.CodeRetries:
	case run.ManualReruns, run.DriftReruns:
		w.notes.ordered[r.Key] = r.Attempt > 1 || r.Progress.Opening.Cause == run.CauseManual
	default:
		w.notes.ordered[r.Key] = false
	}
}

// startIsInTime checks that nothing starts by itself after the deadline of its start condition.
func (w *watch) startIsInTime(r run.Run) {
	def := w.definition(r.Pipeline, r.Progress.Opening.ConfigVersion)
	if def == nil || w.notes.ordered[r.Key] {
		return
	}
	if end := def.StartCloses(r.Period); !end.IsZero() && !r.UpdatedAt.Before(end) {
		w.fail(NoUnsafeStart, "%s starts at %s, after the deadline of its start condition, %s", r.ID(), r.UpdatedAt, end)
	}
}

// verdict evaluates the gate only on the facts of a snapshot.
func verdict(def *pipeline.Definition, s store.Snapshot) rule.Outcome {
	return gatetest.Judge(def.Gate, s)
}

// factsAreRight compares a snapshot with the readings that were written: the fact is true, belongs
// to the period, and was the best one when the evaluation began.
func (w *watch) factsAreRight(def *pipeline.Definition, s store.Snapshot) {
	for i, ref := range def.Gate.Refs() {
		seen := s.Sensors[i]
		if strings.HasPrefix(string(seen.Key), "run/") {
			continue // answered from runs
		}
		if ref.Over != (rule.Range{}) {
			w.slicesAreRight(def, s, ref.Over, seen)
			continue
		}
		if seen.Version != 0 {
			w.factIsTrue(s, seen)
			w.changeIsTrue(s, sensorID{seen.Pipeline, seen.Key}, seen.Version, seen.ChangedAt)
		}
		if ref.Start && def.Opens == pipeline.ByCron {
			w.startFactIsOfThePeriod(def, s, seen)
			continue
		}
		w.factIsTheBest(s, seen)
	}
}

// slicesAreRight checks that a rule over several slices has each slice in the snapshot, with the
// best reading that was written for it.
func (w *watch) slicesAreRight(def *pipeline.Definition, s store.Snapshot, r rule.Range, seen store.SeenSensor) {
	zone, p := def.Schedule.Zone(), s.Key.Period
	count := r.Last
	for at := p.Start(zone); r.Last == 0 && at.Before(p.End(zone)); {
		slice := period.At(at, r.Size, zone)
		if def.Schedule.Excluded(slice) == "" {
			count++
		}
		at = slice.End(zone)
	}
	if n := len(seen.Slices); n != count {
		w.fail(NoUnsafeStart, "snapshot %s counts %d slices of %s, there are %d", s.ID, n, p, count)
	}
	for _, one := range seen.Slices {
		at := sensorID{seen.Pipeline, seen.Key}
		if best, there := w.dated(at, one.Date, w.began()); there && one.Version < best.Version {
			w.fail(NoUnsafeStart, "snapshot %s saw version %d of %s for %s although version %d was there", s.ID, one.Version, seen.Key, one.Date, best.Version)
		}
		if one.Version == 0 {
			continue
		}
		written, there := w.written[one.Version]
		if !there || written.pipeline != seen.Pipeline || written.Key != seen.Key || !written.Period.Holds(one.Date) {
			w.fail(NoUnsafeStart, "snapshot %s saw %s for %s in version %d, which was never written", s.ID, seen.Key, one.Date, one.Version)
		}
		w.changeIsTrue(s, at, one.Version, one.ChangedAt)
		for name, value := range one.Fields {
			if !sensor.SameData(sensor.Fields{name: value}, sensor.Fields{name: written.Fields[name]}) {
				w.fail(NoUnsafeStart, "snapshot %s saw %s of %s as %v, written was %v", s.ID, name, one.Date, value, written.Fields[name])
			}
		}
	}
}

// changeIsTrue checks the recorded time of the last change of data against the writes.
func (w *watch) changeIsTrue(s store.Snapshot, at sensorID, version int64, changed time.Time) {
	last := w.written[version]
	if changed.IsZero() {
		changed = last.UpdatedAt
	}
	if since := w.unchangedSince(at, last); !changed.Equal(since) {
		w.fail(NoUnsafeStart, "snapshot %s saw version %d of %s unchanged since %s; it was written first at %s", s.ID, version, at.key, changed, since)
	}
}

// unchangedSince returns when the data of a reading was first written, without other data for the
// period in between.
func (w *watch) unchangedSince(at sensorID, last write) time.Time {
	since := last.UpdatedAt
	for _, v := range slices.Backward(w.bySensor[at]) {
		earlier := w.written[v]
		if v >= last.Version || earlier.Period != last.Period {
			continue
		}
		if earlier.Deleted || !last.SameFacts(&earlier.Reading) {
			break
		}
		since = earlier.UpdatedAt
	}
	return since
}

func (w *watch) factIsTrue(s store.Snapshot, seen store.SeenSensor) {
	written, there := w.written[seen.Version]
	if !there || written.pipeline != seen.Pipeline || written.Key != seen.Key || written.Period != seen.Period || !sensor.SameData(written.Fields, seen.Fields) {
		w.fail(NoUnsafeStart, "snapshot %s saw %s in version %d, which was never written: %v", s.ID, seen.Key, seen.Version, seen.Fields)
	}
	if p := s.Key.Period; !seen.Period.IsZero() && seen.Period != p && !seen.Period.Holds(p) {
		w.fail(NoUnsafeStart, "snapshot %s of %s rests on a reading of %s for %s", s.ID, p, seen.Key, seen.Period)
	}
}

// startFactIsOfThePeriod rejects yesterday's "ready": an undated start condition counts from the
// first instant of the slice that holds the fire.
func (w *watch) startFactIsOfThePeriod(def *pipeline.Definition, s store.Snapshot, seen store.SeenSensor) {
	if seen.Version == 0 || !seen.Period.IsZero() {
		return
	}
	fire := def.Schedule.FireFor(s.Key.Period)
	if fire.IsZero() {
		return
	}
	zone := def.Schedule.Zone()
	since := period.At(fire, def.Schedule.Size(), zone).Start(zone)
	if written := w.written[seen.Version]; written.UpdatedAt.Before(since) {
		w.fail(NoUnsafeStart, "snapshot %s takes %s of %s as a start condition, which counts from %s on", s.ID, seen.Key, written.UpdatedAt, since)
	}
}

// factIsTheBest rejects an evaluation that missed a reading which existed when it began.
func (w *watch) factIsTheBest(s store.Snapshot, seen store.SeenSensor) {
	began := w.began()
	best, there := w.best(sensorID{seen.Pipeline, seen.Key}, s.Key.Period, began)
	switch {
	case seen.Version > began || !there && seen.Version == 0:
	case seen.Version != best.Version:
		w.fail(NoUnsafeStart, "snapshot %s saw version %d of %s although version %d was there", s.ID, seen.Version, seen.Key, best.Version)
	}
}

// began returns the version of the latest reading when the current act began.
func (w *watch) began() int64 {
	if a := w.world.current; a != nil {
		return a.seen
	}
	return w.lastVersion
}

// PausedMeansIdle: once a pause is stored in the pipeline's row, no attempt opens or starts.

func (w *watch) isNotPaused(r run.Run, does string) {
	if row := w.current(r.Pipeline); row.Paused() {
		w.fail(PausedMeansIdle, "%s %s while the pipeline is %s", r.ID(), does, row.PauseText())
	}
}

// S2: at most one start per attempt. A file with onUnknown: retry accepts the risk of a second one.

func (w *watch) startsOnce(a job.Attempt, n int) {
	w.notes.jobs[a.ID] = n
	if n > 1 && !takesTheRisk(a) {
		w.fail(AtMostOneStart, "attempt %s has %d jobs", a.ID, n)
	}
}

func takesTheRisk(a job.Attempt) bool {
	risk, ok := a.Config.(interface{ RetriesUnanswered() bool })
	return ok && risk.RetriesUnanswered()
}

// AttemptsDoNotOverlap: an attempt does not start while the job of an earlier one runs, unless the
// target or a person said that this job had ended or does not exist, or a person forced this
// attempt or one in between.

func (w *watch) startsAlone(a job.Attempt) {
	key := run.Key{Pipeline: a.Pipeline, Schedule: a.Schedule, Period: a.Period}
	if w.runs[key].Progress.Opening.Forced || takesTheRisk(a) {
		return
	}
	for n := max(w.notes.forced[key], 1); n < a.Number; n++ {
		for _, earlier := range w.world.target.jobs[key.Attempt(n)] {
			if !earlier.over(w.world.now) && len(w.notes.said[earlier.id]) == 0 {
				w.fail(AttemptsDoNotOverlap, "%s starts while the job of %s runs", a.ID, earlier.id)
			}
		}
	}
}
