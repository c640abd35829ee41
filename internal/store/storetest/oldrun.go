package storetest

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// keepRuns is long enough that the oldest of these runs go and nothing else.
var keepRuns = store.Retention{Runs: 100 * keepDay}

// ended stores a run that ended at an instant, with everything that belongs to a run.
func (f *fixture) ended(key run.Key, at time.Time) run.Run {
	f.t.Helper()
	r := turned(opened(key), run.Completed)
	r.UpdatedAt = at
	r.Progress.Snapshot = run.SnapshotID(r.ID() + "/1")
	met := armed(key, store.Absolute, noon)
	met.State = sla.Met
	f.commit(func(b *store.Batch) {
		b.Create(r)
		b.SwapDeadline(store.Deadline{}, met)
		b.SwapPostRun(store.PostRun{}, store.PostRun{Key: key, Baseline: map[string]sensor.Fields{"rows": {"n": int64(1)}}})
	})
	f.commit(func(b *store.Batch) {
		b.Snapshots = append(b.Snapshots, store.Snapshot{ID: r.Progress.Snapshot, Key: key, At: at}, store.Snapshot{ID: r.EndSnapshot(), Key: key, At: at})
	})
	return r
}

func (f *fixture) runsOf(id pipeline.ID) (dates []string) {
	f.t.Helper()
	page, err := f.s.Runs(f.ctx, store.RunQuery{Pipeline: id, Limit: store.MaxPage})
	f.check(err)
	for _, r := range page.Items {
		dates = append(dates, r.Period.String())
	}
	return dates
}

func oldRunsGo(f *fixture) {
	old, lately, last := keyOf("orders", "2026-03-01"), keyOf("orders", "2026-03-02"), keyOf("orders", "2026-03-03")
	r := f.ended(old, noon)
	f.ended(lately, after(keepDay*90)) // a backfill
	f.ended(last, noon)
	f.ended(keyOf("silver", "2026-03-01"), noon)
	over := after(keepDay / 2) // 2026-03-01 has ended everywhere, and noon is later
	f.trimAll(store.Retention{}, after(1000*keepDay))
	f.trimAll(keepRuns, over.Add(keepRuns.Runs-keepDay))
	f.same("not yet", f.runsOf("orders"), []string{"2026-03-03", "2026-03-02", "2026-03-01"})
	now := over.Add(keepRuns.Runs + keepDay)
	f.trimAll(keepRuns, now)
	f.same("the old one", f.runsOf("orders"), []string{"2026-03-03", "2026-03-02"})
	f.same("the only run of its pipeline", f.runsOf("silver"), []string{"2026-03-01"})
	_, err := f.s.Run(f.ctx, old)
	f.wantErr("run", err, store.ErrNotFound)
	_, err = f.s.PostRun(f.ctx, old)
	f.wantErr("post-run", err, store.ErrNotFound)
	for _, id := range []run.SnapshotID{r.Progress.Snapshot, r.EndSnapshot()} {
		_, err = f.s.Snapshot(f.ctx, id)
		f.wantErr("snapshot", err, store.ErrNotFound)
	}
	page, err := f.s.Deadlines(f.ctx, store.DeadlineQuery{Pipeline: "orders"})
	f.check(err)
	f.same("deadlines", len(page.Items), 2)
	marks := []string{store.ExcludedMark(old), store.ExcludedMark(lately), store.ExcludedMark(last)}
	marked, err := f.s.Marked(f.ctx, marks)
	f.check(err)
	f.same("what no late write opens again", marked, map[string]bool{marks[0]: true})
	f.trimAll(keepRuns, after(1000*keepDay))
	f.same("years later", f.runsOf("orders"), []string{"2026-03-03"})
}

func neededRunsStay(f *fixture) {
	key := func(day int) run.Key { return keyOf("orders", fmt.Sprintf("2026-03-%02d", day)) }
	f.create(opened(key(1)))
	mayRun := f.ended(key(2), noon)
	left := turned(mayRun, run.Completed)
	left.Progress.Left, left.Progress.Report, left.Version = run.JobStopping, run.Report{}, mayRun.Version+1
	f.commit(func(b *store.Batch) { b.Swap(mayRun, left) })
	f.ended(key(3), noon)
	f.create(opened(keyOf("silver", "2026-03-03T10")))
	f.ended(key(4), noon)
	f.commit(func(b *store.Batch) { b.SwapDeadline(store.Deadline{}, armed(key(4), store.Relative, noon)) })
	f.ended(key(5), noon)
	f.ended(key(6), noon)
	f.trimAll(keepRuns, after(1000*keepDay))
	f.same("runs", f.runsOf("orders"), []string{"2026-03-06", "2026-03-04", "2026-03-03", "2026-03-02", "2026-03-01"})
}
