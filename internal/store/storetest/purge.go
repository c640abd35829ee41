package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// filled stores one of everything about a pipeline that has ended and was removed.
func (f *fixture) filled(id pipeline.ID) {
	f.t.Helper()
	key := keyOf(id, "2026-03-03")
	r := turned(opened(key), run.Completed)
	r.Progress.Snapshot = run.SnapshotID(r.ID() + "/1")
	met := armed(key, store.Absolute, noon)
	met.State = sla.Met
	f.commit(func(b *store.Batch) {
		b.Create(r)
		b.Swap(run.Run{}, dried(turned(opened(key), run.Completed)))
		b.SwapDeadline(store.Deadline{}, met)
		b.SwapPostRun(store.PostRun{}, store.PostRun{Key: key, Baseline: map[string]sensor.Fields{"rows": {"n": int64(1)}}})
		b.Append(store.JobEntry{Key: key, Attempt: 1, Event: store.JobSuccess, At: noon})
		b.Reruns = append(b.Reruns, store.Rerun{ID: "r", Key: key, At: noon})
		b.Configs = append(b.Configs, store.Config{Pipeline: id, Version: "v1", At: noon})
		b.SetMark("excluded/"+key.String(), noon.AddDate(5, 0, 0))
	})
	f.commit(func(b *store.Batch) {
		b.Snapshots = append(b.Snapshots, store.Snapshot{ID: r.Progress.Snapshot, Key: key, At: noon})
		b.SwapNote(store.Note{}, store.Note{Kind: store.OutputNote, Key: string(r.ID()), Until: after(time.Hour)})
		b.SwapPipeline(store.Pipeline{}, store.Pipeline{ID: id, RemovedAt: noon})
		b.Schedule(store.PipelineTask(store.Arm, id, noon))
	})
	for i := range 150 { // more than one transaction deletes
		w := write("2026-03-03", int64(i))
		w.Pipeline, w.Reading.Key = id, sensor.Key(fmt.Sprint("k", i%120))
		f.put(noon, w)
	}
}

// of returns what is stored about a pipeline that was filled.
func (f *fixture) of(id pipeline.ID) []string {
	f.t.Helper()
	key := keyOf(id, "2026-03-03")
	snapshot := run.SnapshotID(key.Attempt(1)) + "/1"
	var found []string
	has := func(what string, there bool, err error) {
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			f.check(err)
		}
		if there && err == nil {
			found = append(found, what)
		}
	}
	_, err := f.s.Pipeline(f.ctx, id)
	has("row", true, err)
	_, err = f.s.Run(f.ctx, key)
	has("run", true, err)
	_, err = f.s.DryRun(f.ctx, key)
	has("dry run", true, err)
	_, err = f.s.PostRun(f.ctx, key)
	has("post-run", true, err)
	_, err = f.s.Snapshot(f.ctx, snapshot)
	has("snapshot", true, err)
	_, err = f.s.Note(f.ctx, store.OutputNote, string(key.Attempt(1)))
	has("output", true, err)
	_, err = f.s.Config(f.ctx, id, "v1")
	has("config", true, err)
	marked, err := f.s.Marked(f.ctx, []string{"excluded/" + key.String()})
	has("mark", len(marked) > 0, err)
	logs, err := f.s.JobLogs(f.ctx, []run.Key{key})
	has("log", len(logs) > 0, err)
	reruns, err := f.s.Reruns(f.ctx, []run.Key{key})
	has("rerun", len(reruns) > 0, err)
	page, err := f.s.Deadlines(f.ctx, store.DeadlineQuery{Pipeline: id})
	has("deadline", len(page.Items) > 0, err)
	history, err := f.s.History(f.ctx, store.HistoryQuery{Pipeline: id, Key: "k1"})
	has("history", len(history.Items) > 0, err)
	latest, err := f.s.LatestReadings(f.ctx, store.LatestQuery{Pipeline: id})
	has("readings", len(latest.Items) > 0, err)
	current, err := f.s.Readings(f.ctx, []store.ReadingQuery{{Pipeline: id, Key: "k1", Period: key.Period}})
	has("current", len(current[0]) > 0, err)
	return found
}

// late is when a pipeline that was removed at noon may be purged.
var late = after(store.PurgeAfter)

func purgeDeletes(f *fixture) {
	f.emit(newEvent(keyOf("orders", "2026-03-03"), "old", noon))
	f.filled("orders")
	f.filled("orders-2")
	f.filled("cron") // the name of a schedule
	all, other := f.of("orders"), f.of("orders-2")
	early, err := f.s.Purge(f.ctx, "orders", false, late.Add(-1))
	f.check(err)
	f.same("too early", early.NotBefore, late)
	f.same("before", len(all), 14)
	would, err := f.s.Purge(f.ctx, "orders", true, late)
	f.check(err)
	f.same("a dry run deletes nothing", f.of("orders"), all)
	did, err := f.s.Purge(f.ctx, "orders", false, late)
	f.check(err)
	f.same("what it deleted and what it would have", did, would)
	f.same("writes, runs and events", []int{did.Rows["writes"], did.Rows["runs"], did.Rows["events"]}, []int{150, 1, 1})
	f.same("after", f.of("orders"), []string(nil))
	f.same("tasks", did.Rows["tasks"], 1)
	_, err = f.s.Purge(f.ctx, "cron", false, late)
	f.check(err)
	f.same("of another pipeline", f.of("orders-2"), other)
	_, err = f.s.Purge(f.ctx, "orders", false, late)
	f.wantErr("again", err, store.ErrNotFound)
	f.filled("orders")
	f.same("a new pipeline of that name", f.of("orders"), all)
}

func purgeWaits(f *fixture) {
	f.filled("orders")
	last := turned(opened(keyOf("orders", "2026-03-04")), run.Completed)
	last.UpdatedAt = late.Add(-time.Minute) // it was open when the pipeline was removed
	f.create(last)
	all := f.of("orders")
	rested := last.UpdatedAt.Add(store.PurgeAfter)
	got, err := f.s.Purge(f.ctx, "orders", false, rested.Add(-1))
	f.check(err)
	f.same("too early", got.NotBefore, rested)
	f.same("nothing is deleted", f.of("orders"), all)
	got, err = f.s.Purge(f.ctx, "orders", false, rested)
	f.check(err)
	f.same("at rest", got.Rows["runs"], 2)
}

func purgeRefuses(f *fixture) {
	f.filled("orders")
	all := f.of("orders")
	row, err := f.s.Pipeline(f.ctx, "orders")
	f.check(err)
	active := row
	active.Config, active.RemovedAt = "v1", time.Time{}
	f.commit(func(b *store.Batch) { b.SwapPipeline(row, active) })
	got, err := f.s.Purge(f.ctx, "orders", false, late)
	f.check(err)
	f.same("active", got.Active, true)
	active.Version = row.Version + 1
	f.commit(func(b *store.Batch) { b.SwapPipeline(active, row) })

	open := keyOf("orders", "2026-03-04")
	f.create(opened(open))
	f.commit(func(b *store.Batch) {
		b.SwapDeadline(store.Deadline{}, armed(open, store.Relative, noon))
		b.Schedule(store.Task{ID: "advance/x", Kind: store.Advance, Pipeline: "orders", Key: open, Due: noon})
	})
	got, err = f.s.Purge(f.ctx, "orders", false, late)
	f.check(err)
	f.same("open", got.Open, []string{"run orders/" + string(open.Schedule) + "/2026-03-04", "deadline orders/" + string(open.Schedule) + "/2026-03-04/relative", "task advance/x"})
	f.same("rows", len(got.Rows), 0)
	f.same("nothing is deleted", f.of("orders"), all)
}
