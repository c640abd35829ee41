package record

import (
	"context"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// oldRuns is how far a pass of Trim over the runs has come. It continues over several calls, from the
// oldest period on, and does not begin anew for keptAgain, so that runs that must stay are not read
// over and over.
type oldRuns struct {
	mu   sync.Mutex
	from string        // the place from which the pass continues; "" at its beginning
	next time.Time     // when the next pass begins
	keep time.Duration // for which the last one was made
}

// runs deletes old runs that have ended.
func (t *trim) runs(ctx context.Context) error {
	at := &t.oldRuns
	at.mu.Lock()
	defer at.mu.Unlock()
	if t.keep.Runs <= 0 || t.keep.Runs == at.keep && t.now.Before(at.next) {
		return nil
	}
	cutoff := t.now.Add(-t.keep.Runs)
	r := row.Range{
		Kind: Runs, Index: row.Ordered, List: listRuns, Backwards: true,
		From: store.LatestFirst(period.At(cutoff, period.Minute, time.UTC)), To: at.from,
	}
	for t.left > 0 {
		r.Limit = min(t.left, store.MaxPage)
		page, err := t.scan(ctx, r)
		if err != nil {
			return err
		}
		if err := t.endedRuns(ctx, page.Rows, cutoff); err != nil {
			return err
		}
		if !page.More || len(page.Rows) == 0 {
			at.from, at.next, at.keep = "", t.now.Add(keptAgain), t.keep.Runs
			return nil
		}
		r = after(r, page.Rows[len(page.Rows)-1])
		at.from = r.To
	}
	return nil
}

// endedRuns deletes those of the runs that nothing needs, each with what belongs to it.
func (t *trim) endedRuns(ctx context.Context, rows []row.Row, cutoff time.Time) error {
	all, err := decodeAll[run.Run](rows)
	if err != nil {
		return err
	}
	open, err := t.openPeriods(ctx)
	if err != nil {
		return err
	}
	latest, err := t.latestRuns(ctx, all)
	if err != nil {
		return err
	}
	var deletions [][]row.Op
	for i, r := range all {
		if r.Status.Open() || r.MayHaveJob() || r.HoldsSlot() || latest[r.Pipeline] == r.Key || open.Touch(r.Period) ||
			!store.AgesFrom(r.UpdatedAt, r.Period).Before(cutoff) {
			continue
		}
		ops, err := t.deletion(ctx, r, rows[i].Version)
		if err != nil {
			return err
		}
		if ops != nil {
			deletions = append(deletions, ops)
		}
	}
	deleted, err := t.apply(ctx, deletions)
	t.left -= len(deleted)
	return err
}

// latestRuns returns the run of the latest period of each pipeline.
func (t *trim) latestRuns(ctx context.Context, of []run.Run) (map[pipeline.ID]run.Key, error) {
	latest := map[pipeline.ID]run.Key{}
	for _, r := range of {
		if _, known := latest[r.Pipeline]; known {
			continue
		}
		page, err := t.scan(ctx, row.Range{Kind: Runs, Part: string(r.Pipeline), Index: row.Ordered, List: listRuns, Limit: 1})
		if err != nil {
			return nil, err
		}
		found, err := decodeAll[run.Run](page.Rows)
		if err != nil {
			return nil, err
		}
		for _, first := range found {
			latest[r.Pipeline] = first.Key
		}
	}
	return latest, nil
}

// deletion returns the ops that delete a run; nil if a deadline of it is armed.
func (t *trim) deletion(ctx context.Context, r run.Run, version int64) ([]row.Op, error) {
	mark := row.Row{Ref: refMark(store.ExcludedMark(r.Key)), Version: 1}
	until := t.now.Add(store.ExcludedLife)
	expiring(&mark, until)
	var err error
	if mark.Body, err = encode(store.Mark{ID: mark.Key, Until: until}); err != nil {
		return nil, err
	}
	ops := []row.Op{
		{Do: row.Delete, If: version, Row: row.Row{Ref: refOf(Runs, r.Key)}},
		{If: row.First, Row: mark},
	}
	remove := func(ref row.Ref, version int64) {
		ops = append(ops, row.Op{Do: row.Delete, If: version, Row: row.Row{Ref: ref}})
	}
	remove(refOf(Baselines, r.Key), row.Any)
	remove(refSnapshot(r.EndSnapshot()), row.Any)
	if r.Progress.Snapshot != "" {
		remove(refSnapshot(r.Progress.Snapshot), row.Any)
	}
	due, err := t.engine.Get(ctx, []row.Ref{
		refOf(Deadlines, r.Key, string(store.Absolute)), refOf(Deadlines, r.Key, string(store.Relative)),
	})
	if err != nil {
		return nil, err
	}
	for _, found := range due {
		if found.Version == 0 {
			continue
		}
		d, err := decode[store.Deadline](found)
		if err != nil || d.State == sla.Armed {
			return nil, err
		}
		remove(found.Ref, found.Version)
	}
	return ops, nil
}
