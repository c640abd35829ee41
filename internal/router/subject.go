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
	// subjectPage is how many runs are read at once where the one that a reading is about is looked for.
	subjectPage = 50
	// subjectLate is how long after its turn a run is sure to be found, on top of the post-run window. Of those that
	// complete later still, as in a backfill, the ones of the latest page are.
	subjectLate = 24 * time.Hour
	// subjectFires is how many fires of a dry run are gone back. Dry runs are in no list.
	subjectFires = 10
)

// subject gives the run that an undated reading of a post-run sensor is about: the latest that it speaks of. Those of its own
// slice and of the one before were read already. Where none of them is it, fires are further apart than slices, or the last
// runs came to nothing. What opens runs belongs to its own slice: nothing further back is looked for.
func (h *postRunHandler) subject(ctx context.Context, n news, runs []run.Run) (run.Key, bool, error) {
	near := n.periods()
	for _, old := range runs {
		if slices.Contains(near, old.Period) && n.speaksOf(old) {
			return old.Key, true, nil
		}
	}
	switch {
	case n.start && n.entry.Opens == pipeline.ByStream:
		return run.Key{}, false, nil
	case n.entry.DryRun:
		return h.drySubject(ctx, n)
	}
	return h.farSubject(ctx, n)
}

// speaksOf says whether an undated reading of a post-run sensor may be about a run: it was there when the reading was written,
// its job has begun, and it is still open or has completed with its post-run window not over. One that has ended otherwise, or
// has done nothing yet, has no data to tell of.
func (n news) speaksOf(old run.Run) bool {
	switch {
	case n.At.Before(old.OpenedAt):
		return false
	case old.Status == run.Completed:
		return !n.At.After(old.EndedAt.Add(n.entry.PostRun.Window))
	}
	return old.Status.Open() && (old.Attempt > 1 || old.Progress.Snapshot != "")
}

// farSubject looks for the subject among all runs of the pipeline, latest first, as far back as a post-run window can be open.
func (h *postRunHandler) farSubject(ctx context.Context, n news) (run.Key, bool, error) {
	e := n.entry
	oldest := n.At.Add(-e.PostRun.Window - subjectLate)
	q := store.RunQuery{Pipeline: e.ID, Limit: subjectPage}
	for {
		page, err := h.store.Runs(ctx, q)
		if err != nil {
			return run.Key{}, false, fmt.Errorf("list runs of %s: %w", e.ID, err)
		}
		for _, one := range page.Items {
			if one.Schedule == e.Opens && n.speaksOf(one) {
				return one.Key, true, nil
			}
		}
		if page.Next == "" || e.Schedule.OpensFrom(page.Items[len(page.Items)-1].Period).Before(oldest) {
			return run.Key{}, false, nil
		}
		q.Cursor = page.Next
	}
}

// drySubject looks for the subject among the dry runs of the last fires.
func (h *postRunHandler) drySubject(ctx context.Context, n news) (run.Key, bool, error) {
	e, cron := n.entry, n.entry.Schedule.Cron()
	if cron == nil {
		return run.Key{}, false, nil
	}
	fire := n.At.Add(time.Nanosecond)
	for range subjectFires {
		if fire = cron.Prev(fire, e.Schedule.Zone()); fire.IsZero() {
			break
		}
		old, err := h.row(ctx, e, e.Key(e.Schedule.PeriodAt(fire)))
		if err != nil {
			return run.Key{}, false, err
		}
		if n.speaksOf(old) {
			return old.Key, true, nil
		}
	}
	return run.Key{}, false, nil
}
