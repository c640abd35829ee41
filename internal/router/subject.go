package router

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

const (
	// subjectPage is how many runs are read at once in search of a reading's run.
	subjectPage = 50
	// subjectLate is how late a run may complete, beyond the post-run window, and still be found.
	// Of those that complete even later, as in a backfill, only runs on the latest page are found.
	subjectLate = 24 * time.Hour
	// subjectFires is how many fires back dry runs are searched. The store cannot list dry runs.
	subjectFires = 10
)

// subject returns the run that an undated reading of a post-run sensor is about: the latest run
// that it can be about. runs has those of its own period and of the one before. If none of them
// fits, fires are further apart than periods, or the last runs did not complete. A sensor that
// opens runs is about its own period: subject searches no further.
func (h *postRunHandler) subject(ctx context.Context, sw sensorWrite, runs []run.Run) (run.Key, bool, error) {
	near := sw.periods()
	for _, old := range runs {
		if slices.Contains(near, old.Period) && sw.speaksOf(old) {
			return old.Key, true, nil
		}
	}
	switch {
	case sw.start && sw.entry.Opens == pipeline.ByStream:
		return run.Key{}, false, nil
	case sw.entry.DryRun:
		return h.drySubject(ctx, sw)
	}
	return h.farSubject(ctx, sw)
}

// speaksOf reports whether an undated reading of a post-run sensor may be about a run: the run
// existed when the reading was written, its job has started, and it is open or completed within its
// post-run window. A run that ended otherwise, or has not started, has no output to check.
func (sw sensorWrite) speaksOf(old run.Run) bool {
	switch {
	case sw.At.Before(old.OpenedAt):
		return false
	case old.Status == run.Completed:
		return !sw.At.After(old.EndedAt.Add(sw.entry.PostRun.Window))
	}
	return old.Status.Open() && (old.Attempt > 1 || old.Progress.Snapshot != "")
}

// farSubject searches all runs of the pipeline, latest first, as far back as a post-run window can
// be open.
func (h *postRunHandler) farSubject(ctx context.Context, sw sensorWrite) (run.Key, bool, error) {
	e := sw.entry
	oldest := sw.At.Add(-e.PostRun.Window - subjectLate)
	q := store.RunQuery{Pipeline: e.ID, Limit: subjectPage}
	for {
		page, err := h.store.Runs(ctx, q)
		if err != nil {
			return run.Key{}, false, fmt.Errorf("list runs of %s: %w", e.ID, err)
		}
		for _, one := range page.Items {
			if one.Schedule == e.Opens && sw.speaksOf(one) {
				return one.Key, true, nil
			}
		}
		if page.Next == "" || e.Schedule.OpensFrom(page.Items[len(page.Items)-1].Period).Before(oldest) {
			return run.Key{}, false, nil
		}
		q.Cursor = page.Next
	}
}

// drySubject searches the dry runs of the last fires.
func (h *postRunHandler) drySubject(ctx context.Context, sw sensorWrite) (run.Key, bool, error) {
	e, cron := sw.entry, sw.entry.Schedule.Cron()
	if cron == nil {
		return run.Key{}, false, nil
	}
	fire := sw.At.Add(time.Nanosecond)
	for range subjectFires {
		if fire = cron.Prev(fire, e.Schedule.Zone()); fire.IsZero() {
			break
		}
		old, err := h.row(ctx, e, e.Key(e.Schedule.PeriodAt(fire)))
		if err != nil {
			return run.Key{}, false, err
		}
		if sw.speaksOf(old) {
			return old.Key, true, nil
		}
	}
	return run.Key{}, false, nil
}
