package sim

import (
	"context"
	"slices"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// versionsGrow: every change of a run has a higher version than all before it.
func (w *watch) versionsGrow(before, after run.Run) {
	if after.Version <= before.Version {
		w.fail(VersionsGrow, "%s goes from version %d to %d", after.Key, before.Version, after.Version)
	}
	stored, err := w.rows.Run(context.Background(), after.Key)
	if err != nil || stored.Version < after.Version {
		w.fail(VersionsGrow, "%s was stored in version %d and is in version %d", after.Key, after.Version, stored.Version)
	}
}

// endedStaysEnded: an ended run changes only by an accepted rerun or a reopening, and the reopening
// has its evidence.
func (w *watch) endedStaysEnded(before, after run.Run, b store.Batch) {
	if !before.Status.Ended() {
		return
	}
	turnedUp := before.Progress.StartedAt.IsZero() && after.Progress.Left == run.JobStopping // its start was answered late
	if (before.Progress.Left.MayRun() || turnedUp) && onlyLeft(before, after) {
		if after.Progress.Left == run.NothingLeft && len(w.notes.said[before.ID()]) == 0 && !before.Progress.StartedAt.IsZero() {
			w.fail(EndedStaysEnded, "%s was %s and has nothing left, and no result was reported", after.ID(), before.Progress.Left)
		}
		return
	}
	if after.Attempt != before.Attempt+1 || after.Status != run.Pending {
		w.fail(EndedStaysEnded, "%s was %s in attempt %d and became %s in attempt %d", after.Key, before.Status, before.Attempt, after.Status, after.Attempt)
		return
	}
	o := after.Progress.Opening
	switch o.Cause {
	case run.CauseManual:
		if o.By == "" {
			w.fail(EndedStaysEnded, "%s was opened again without a request", after.ID())
		}
	case run.CauseReopened:
		if before.Status != run.ValidationExhausted || before.StartDeadlinePassed {
			w.fail(EndedStaysEnded, "%s was reopened from %s", after.ID(), before.Status)
		}
	case run.CauseDrift:
		w.mustEmit(after, b, event.PostRunDrift)
	case run.CauseLateData, run.CauseUpstream:
		w.mustEmit(after, b, event.LateDataArrival)
		if before.Status != run.Completed {
			w.fail(EndedStaysEnded, "%s has late data although it was %s", after.ID(), before.Status)
		}
		w.lateDataIsNew(before, after)
	default:
		w.fail(EndedStaysEnded, "%s was opened for %q from %s", after.ID(), o.Cause, before.Status)
	}
}

// onlyLeft reports whether only the state of the abandoned job has changed.
func onlyLeft(before, after run.Run) bool {
	before.Version, before.UpdatedAt = after.Version, after.UpdatedAt
	before.Progress.Left, before.Progress.Handle, before.Progress.StartedAt = after.Progress.Left, after.Progress.Handle, after.Progress.StartedAt
	before.Progress.AskedAt, before.Progress.CalledAt = after.Progress.AskedAt, after.Progress.CalledAt // moved if the clock was set back
	return before == after
}

func (w *watch) mustEmit(after run.Run, b store.Batch, t event.Type) {
	if !slices.ContainsFunc(b.Events, func(e event.Event) bool { return e.Type == t }) {
		w.fail(EndedStaysEnded, "%s was opened for %q without %s", after.ID(), after.Progress.Opening.Cause, t)
	}
}

// lateDataIsNew: late data differs from the snapshot of the last start. Rewriting the same data is
// not late data.
func (w *watch) lateDataIsNew(before, after run.Run) {
	s, err := w.rows.Snapshot(context.Background(), before.Progress.Snapshot)
	if err != nil {
		w.fail(EndedStaysEnded, "%s has late data, compared with nothing: %v", after.ID(), err)
		return
	}
	for _, seen := range s.Sensors {
		if seen.Key[:min(4, len(seen.Key))] == "run/" {
			return // an upstream's new completion counts by itself
		}
		for _, v := range w.bySensor[sensorID{seen.Pipeline, seen.Key}] {
			r := w.written[v]
			inSlice := func(s store.SeenSlice) bool { return r.Period.Holds(s.Date) }
			fits := r.Period.IsZero() || r.Period == after.Period || r.Period.Holds(after.Period) || slices.ContainsFunc(seen.Slices, inSlice)
			if v > seen.Version && fits && gate.Content(r.Facts()) != seen.Content {
				return
			}
		}
	}
	w.fail(EndedStaysEnded, "%s was opened for late data, and all that was written since its last start is what it was", after.ID())
}

// S3: budgets hold, each cause with its own counter.

func (w *watch) budgetsHold(before, after run.Run) {
	o := after.Progress.Opening
	if o.Forced {
		w.notes.forced[after.Key] = after.Attempt
	}
	if before.Attempt == 0 || o.Forced { // the first attempt uses no budget, even if a rerun opens it
		return
	}
	counter := o.Cause.Counter()
	if w.notes.spent[after.Key] == nil {
		w.notes.spent[after.Key] = map[run.Counter]int{}
	}
	w.notes.spent[after.Key][counter]++
	if used, most := w.notes.spent[after.Key][counter], w.budget(after, counter); used > most {
		w.fail(BudgetsHold, "%s is further attempt %d on %s, of which there are %d", after.ID(), used, counter, most)
	}
}

// budget returns the limit of a counter in a run's file.
func (w *watch) budget(r run.Run, c run.Counter) int {
	j := &pipeline.Job{MaxCodeRetries: 1, MaxDriftReruns: 1, MaxManualReruns: 1}
	if def := w.definition(r.Pipeline, r.Progress.Opening.ConfigVersion); def != nil && def.Job != nil {
		j = def.Job
	}
	const reopenings = 5
	return map[run.Counter]int{
		run.Retries: j.MaxRetries, run.CodeRetries: j.MaxCodeRetries, run.DriftReruns: j.MaxDriftReruns,
		run.ManualReruns: j.MaxManualReruns, run.Reopenings: reopenings,
	}[c]
}

// S5: only a forced rerun opens a period that the calendar excludes.

func (w *watch) excludedStaysDormant(after run.Run) {
	o := after.Progress.Opening
	if o.Forced || after.Attempt > 1 && retried(o.Cause) {
		return // a retry belongs to a run that the calendar allowed, or that was forced
	}
	if w.notes.excluded[after.Key] {
		w.fail(ExcludedMeansDormant, "%s was suppressed, and opens for %q", after.ID(), o.Cause)
	}
	def := w.definition(after.Pipeline, o.ConfigVersion)
	if def == nil {
		return
	}
	if why := def.Schedule.Excluded(after.Period); why != "" {
		w.fail(ExcludedMeansDormant, "%s opens for %q, and the calendar excludes it: %s", after.ID(), o.Cause, why)
	}
}

func retried(c run.Cause) bool {
	return c.Counter() == run.Retries || c.Counter() == run.CodeRetries
}
