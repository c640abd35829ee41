package sim

import (
	"context"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// The checks at the end of the calm.

// settled checks a world in which nothing has gone wrong since the calm began, and all work had
// time to finish.
func (w *watch) settled(calm, end time.Time) {
	w.rowsAreAsSeen()
	w.nothingIsForgotten(calm)
	w.inputsAreNotLost(calm)
	lately := end.Add(-2 * w.world.Watchdog)
	w.feedIsHandled(lately)
	w.runsHaveEnded(calm, lately)
	w.deadlinesAreClosed(lately)
	w.absenceIsTold(lately)
	w.alertsArrive(lately)
}

// rowsAreAsSeen compares the store's rows with the commits that were observed.
func (w *watch) rowsAreAsSeen() {
	ctx := context.Background()
	for _, key := range w.order {
		seen := w.runs[key]
		stored, err := w.rows.Run(ctx, key)
		switch {
		case err != nil || stored.Version < seen.Version:
			w.fail(VersionsGrow, "%s was stored in version %d and is in version %d: %v", key, seen.Version, stored.Version, err)
		case stored != seen:
			w.fail(EndedStaysEnded, "%s was stored as %s and is %s", key, seen.Status, stored.Status)
		}
	}
	q := store.DeadlineQuery{Limit: store.MaxPage}
	page, err := w.rows.Deadlines(ctx, q)
	if err != nil {
		w.fail(SilenceIsNeverSuccess, "the ledger cannot be read: %v", err)
		return
	}
	for _, d := range page.Items {
		if seen := w.deadlines[ledgerKey{d.Key, d.Kind}]; seen.State != d.State {
			w.fail(SilenceIsNeverSuccess, "the %s deadline of %s was stored as %s and is %s", d.Kind, d.Key, seen.State, d.State)
		}
	}
}

// runsHaveEnded checks that no run is open that was opened before the calm and whose time limit has
// passed. The limit of a run that waits for a slot is suspended: other runs may hold all slots, or
// may have freed one only recently.
func (w *watch) runsHaveEnded(calm, end time.Time) {
	for _, key := range w.order {
		r := w.runs[key]
		if !r.Status.Open() || !r.Progress.Opening.At.Before(calm) || !r.Progress.LimitAt.Before(end) {
			continue
		}
		if !r.Progress.WaitingSince.IsZero() && (r.UpdatedAt.After(end) || slices.ContainsFunc(w.current(key.Pipeline).Slots, w.isOpen)) {
			continue
		}
		w.fail(Liveness, "%s has been %s since %s: %s", r.ID(), r.Status, r.UpdatedAt, r.Reason)
	}
}

func (w *watch) isOpen(id run.AttemptID) bool {
	key, _, err := run.ParseAttemptID(string(id))
	return err == nil && w.runs[key].Status.Open()
}

// feedIsHandled checks that the feed contains only recent changes.
func (w *watch) feedIsHandled(lately time.Time) {
	for at, c := range w.notes.aside {
		if !w.notes.handled[at] {
			w.fail(Liveness, "change %d (%s of %s) was set aside and never handled", at, c.Kind, c.Pipeline)
		}
	}
	n, oldest, err := w.rows.Backlog(context.Background(), controller.Group)
	if err != nil || n > 0 && oldest.Before(lately) {
		w.fail(Liveness, "%d changes are not handled, the oldest from %s: %v", n, oldest, err)
	}
}

// L2: a missing sensor is reported, once, within two watchdog passes.

// followed reports whether a reading of a post-run sensor was written after the run completed. If
// the clock was set back since, the reading may be dated before the end: then the completion has
// not read it.
func (w *watch) followed(r run.Run, key sensor.Key, written write) bool {
	if written.UpdatedAt.After(r.EndedAt) {
		return true
	}
	end, err := w.rows.Snapshot(context.Background(), r.EndSnapshot())
	return err == nil && end.Missed(store.ReadVersion{Pipeline: r.Pipeline, Key: key, Period: written.Period, Version: written.Version})
}

// absenceIsTold checks that every missing post-run sensor is reported.
func (w *watch) absenceIsTold(at time.Time) {
	for _, key := range w.order {
		r := w.runs[key]
		row := w.current(r.Pipeline)
		if r.Status != run.Completed || row.Config == "" {
			continue
		}
		def := w.definition(r.Pipeline, row.Config)
		if def == nil || def.PostRun == nil || def.DryRun || r.EndedAt.Add(def.PostRun.SensorTimeout).After(at) || row.AcceptedAt.After(r.EndedAt) {
			continue
		}
		for _, ref := range def.PostRun.Gate.Refs() {
			best, there := w.best(sensorID{r.Pipeline, ref.Key}, r.Period, w.lastVersion)
			if there && w.followed(r, ref.Key, best) {
				continue
			}
			if !w.notes.missing[missingName(r.ID(), string(ref.Key))] {
				w.fail(AbsenceIsBounded, "%s completed at %s, %s was not written since, and nothing was told", r.ID(), r.EndedAt, ref.Key)
			}
		}
	}
}
