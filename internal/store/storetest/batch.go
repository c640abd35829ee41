package storetest

import (
	"errors"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

var batchClaims = []claim{
	{"EverythingInItHappens", everythingHappens},
	{"OneConflictUndoesAll", oneConflictUndoesAll},
	{"RefusedBatchMayBeTakenLater", refusedIsNotRemembered},
	{"CreateConflictsWithWhatIsThere", createConflicts},
	{"SwapConflictsWithAnotherVersion", swapConflicts},
	{"ExpectedPipelineStaysAsItIs", expectedStays},
	{"SwapMayMoveOnByMoreThanOne", swapByMore},
	{"SecondMarkConflicts", secondMarkConflicts},
	{"ImpossibleBatchChangesNothing", impossibleBatch},
	{"EmptyBatchIsFine", emptyBatch},
	{"TenRowsFit", tenRows},
}

// full fills b with nine rows: one of almost every kind. Task "c" must exist.
func full(b *store.Batch) {
	b.Create(opened(orders))
	b.Configs = append(b.Configs, store.Config{Pipeline: "orders", Version: "v1", At: noon})
	b.Append(store.JobEntry{Key: orders, Attempt: 1, At: noon, Event: store.JobStarted, Try: 1})
	b.Snapshots = append(b.Snapshots, store.Snapshot{ID: "s1", Key: orders, Attempt: 1, At: noon})
	b.Reruns = append(b.Reruns, store.Rerun{ID: "r1", Key: orders, At: noon})
	b.SetMark("m", after(time.Hour))
	b.Schedule(taskFor("a", after(time.Minute)))
	b.Finish("c")
	b.Emit(newEvent(orders, "one", noon), newEvent(orders, "two", noon))
}

func everythingHappens(f *fixture) {
	f.schedule(taskFor("c", noon))
	dead := store.DeadLetter{Sink: "hook", Event: newEvent(orders, "dead", noon), Reason: "no", Tries: 3, At: noon}
	f.commit(full)
	f.commit(func(b *store.Batch) {
		b.Swap(run.Run{}, dried(opened(keyOf("silver", "2026-03-03"))))
		b.SwapPipeline(store.Pipeline{}, store.Pipeline{ID: "silver", Config: "v1"})
		b.SwapDeadline(store.Deadline{}, armed(orders, store.Absolute, after(time.Hour)))
		b.SwapPostRun(store.PostRun{}, store.PostRun{Key: orders, Attempt: 1})
		b.Dead = append(b.Dead, dead)
	})
	got := f.everything()
	for i := range got.Events {
		got.Events[i].Position = 0
	}
	f.same("all", got, everything{
		Runs:      []run.Run{opened(orders)},
		DryRuns:   []run.Run{dried(opened(keyOf("silver", "2026-03-03")))},
		Pipelines: []store.Pipeline{{ID: "silver", Version: 1, Config: "v1"}},
		Configs:   []store.Config{{Pipeline: "orders", Version: "v1", At: noon}},
		Deadlines: []store.Deadline{armed(orders, store.Absolute, after(time.Hour))},
		Log:       []store.JobEntry{{Key: orders, Attempt: 1, At: noon, Event: store.JobStarted, Try: 1}},
		Snapshots: []store.Snapshot{{ID: "s1", Key: orders, Attempt: 1, At: noon}},
		PostRuns:  []store.PostRun{{Key: orders, Version: 1, Attempt: 1}},
		Reruns:    []store.Rerun{{ID: "r1", Key: orders, At: noon}},
		Events:    []store.StoredEvent{{Event: newEvent(orders, "one", noon)}, {Event: newEvent(orders, "two", noon)}},
		Marked:    map[string]bool{"m": true},
		Dead:      []store.DeadLetter{dead},
		Tasks:     []store.Task{taskFor("a", after(time.Minute))},
		NextDue:   after(time.Minute),
		Current:   got.Current,
		Backlog:   2, Oldest: noon,
	})
}

// conflicting lists one way each in which a Batch can be out of date. It expects the rows of
// standing.
var conflicting = []struct {
	name string
	part func(b *store.Batch)
}{
	{"a run that is there", func(b *store.Batch) { b.Create(opened(knownRuns[2])) }},
	{"a run at another version", func(b *store.Batch) {
		read := touched(touched(opened(knownRuns[2])))
		b.Swap(read, turned(read, run.Running))
	}},
	{"a run that is not there", func(b *store.Batch) { b.Swap(opened(knownRuns[1]), touched(opened(knownRuns[1]))) }},
	{"a dry run that is there", func(b *store.Batch) { b.Swap(run.Run{}, dried(opened(knownRuns[2]))) }},
	{"a pipeline at another version", func(b *store.Batch) {
		b.SwapPipeline(store.Pipeline{Version: 7}, store.Pipeline{ID: "silver"})
	}},
	{"a pipeline expected at another version", func(b *store.Batch) { b.ExpectPipeline("silver", store.Pipeline{Version: 7}) }},
	{"a pipeline expected that is not there", func(b *store.Batch) { b.ExpectPipeline("tin", store.Pipeline{Version: 1}) }},
	{"a pipeline expected not to be there", func(b *store.Batch) { b.ExpectPipeline("silver", store.Pipeline{}) }},
	{"a deadline that is there", func(b *store.Batch) {
		b.SwapDeadline(store.Deadline{}, armed(knownRuns[2], store.Relative, noon))
	}},
	{"what is remembered after a run, at another version", func(b *store.Batch) {
		b.SwapPostRun(store.PostRun{Version: 3}, store.PostRun{Key: knownRuns[2]})
	}},
	{"a mark that is set", func(b *store.Batch) { b.SetMark("n", after(time.Hour)) }},
	{"a lease that is lost", func(b *store.Batch) { b.Lease = &store.Lease{Task: "d", Token: 1 << 40} }},
	{"a lease on no task", func(b *store.Batch) { b.Lease = &store.Lease{Task: "none", Token: 1} }},
}

// standing writes the rows that conflicting conflicts with, and task "c".
func (f *fixture) standing() {
	f.t.Helper()
	there := knownRuns[2]
	f.commit(func(b *store.Batch) {
		b.Create(opened(there))
		b.Swap(run.Run{}, dried(opened(there)))
		b.SwapPipeline(store.Pipeline{}, store.Pipeline{ID: "silver"})
		b.SwapDeadline(store.Deadline{}, armed(there, store.Relative, noon))
		b.SwapPostRun(store.PostRun{}, store.PostRun{Key: there})
		b.SetMark("n", after(time.Hour))
		b.Schedule(taskFor("c", after(time.Hour)))
		b.Schedule(taskFor("d", noon))
		b.Emit(newEvent(there, "zero", noon))
	})
}

func oneConflictUndoesAll(f *fixture) {
	f.standing()
	f.claim(noon)
	before := f.everything()
	for _, c := range conflicting {
		for _, first := range []bool{true, false} {
			f.conflicts(c.name, noon, func(b *store.Batch) {
				if first {
					c.part(b)
				}
				full(b)
				if !first {
					c.part(b)
				}
			})
		}
		f.same("after batches that begin and end with "+c.name, f.everything(), before)
	}
}

func refusedIsNotRemembered(f *fixture) {
	b := f.batch()
	b.Swap(opened(orders), touched(opened(orders)))
	b.Emit(newEvent(orders, "one", noon))
	f.wantErr("swap of nothing", f.s.Commit(f.ctx, b, noon), store.ErrConflict)
	f.create(opened(orders))
	f.check(f.s.Commit(f.ctx, b, noon))
	f.same("run", f.run(orders), touched(opened(orders)))
	f.same("events", len(f.everything().Events), 1)
}

func createConflicts(f *fixture) {
	f.create(opened(orders))
	f.conflicts("create again", noon, func(b *store.Batch) { b.Create(opened(orders)) })
	f.create(opened(keyOf("orders", "2026-03-04")), opened(keyOf("orders-2", "2026-03-03")))
	other := orders
	other.Schedule = "stream"
	f.create(opened(other))
}

func swapConflicts(f *fixture) {
	first := opened(orders)
	second := turned(first, run.Triggering)
	third := turned(second, run.Running)
	f.create(first)
	f.commit(func(b *store.Batch) { b.Swap(first, second) })
	f.conflicts("swap of version 1", noon, func(b *store.Batch) { b.Swap(first, third) })
	f.conflicts("swap of version 3", noon, func(b *store.Batch) { b.Swap(third, touched(third)) })
	f.same("run", f.run(orders), second)
}

func expectedStays(f *fixture) {
	f.commit(func(b *store.Batch) { b.SwapPipeline(store.Pipeline{}, store.Pipeline{ID: "silver", Config: "v1"}) })
	read, err := f.s.Pipeline(f.ctx, "silver")
	f.check(err)
	before, _, err := f.s.Backlog(f.ctx, "expecting")
	f.check(err)
	f.commit(func(b *store.Batch) {
		b.ExpectPipeline("silver", read)
		b.ExpectPipeline("tin", store.Pipeline{})
		b.SetMark("m", after(time.Hour))
	})
	now, err := f.s.Pipeline(f.ctx, "silver")
	f.check(err)
	f.same("the row", now, read)
	behind, _, err := f.s.Backlog(f.ctx, "expecting")
	f.check(err)
	f.same("changes", behind, before)
	f.commit(func(b *store.Batch) { b.SwapPipeline(read, read) })
	f.conflicts("once it has moved", noon, func(b *store.Batch) {
		b.ExpectPipeline("silver", read)
		b.SetMark("n", after(time.Hour))
	})
}

// One commit may make several swaps at once, each of which counts.
func swapByMore(f *fixture) {
	first := opened(orders)
	third := turned(turned(first, run.Triggering), run.Completed)
	f.create(first)
	f.commit(func(b *store.Batch) { b.Swap(first, third) })
	f.commit(func(b *store.Batch) { b.Swap(third, touched(third)) })
	f.same("version", f.run(orders).Version, int64(4))
}

func secondMarkConflicts(f *fixture) {
	f.commit(func(b *store.Batch) { b.SetMark("m", after(time.Hour)) })
	f.conflicts("the same mark", noon, func(b *store.Batch) { b.SetMark("m", after(2*time.Hour)) })
	f.commit(func(b *store.Batch) { b.SetMark("n", time.Time{}) })
	got, err := f.s.Marked(f.ctx, []string{"m", "n", "o"})
	f.check(err)
	f.same("marks", got, map[string]bool{"m": true, "n": true})
}

func impossibleBatch(f *fixture) {
	before := f.everything()
	impossible := map[string]store.Batch{
		"without an id":             {Events: told3()},
		"with a task twice":         {ID: "x", Tasks: []store.Task{taskFor("a", noon)}, Finished: []string{"a"}},
		"with a version that stays": {ID: "x", Runs: []store.Swap[run.Run]{{Read: 1, Next: opened(orders)}}},
	}
	for name, b := range impossible {
		if err := f.s.Commit(f.ctx, b, noon); err == nil || errors.Is(err, store.ErrConflict) {
			f.t.Errorf("a batch %s: error %v", name, err)
		}
	}
	large := f.batch()
	for i := range store.MaxRows {
		large.SetMark(strconv.Itoa(i), noon)
	}
	f.wantErr("a batch of eleven rows", f.s.Commit(f.ctx, large, noon), store.ErrTooLarge)
	f.same("after impossible batches", f.everything(), before)
}

func emptyBatch(f *fixture) {
	before := f.everything()
	f.commit(func(*store.Batch) {})
	f.same("after an empty batch", f.everything(), before)
}

// The largest real commit: a run completes, with slots, both deadlines, a baseline and three tasks.
func tenRows(f *fixture) {
	f.commit(func(b *store.Batch) {
		b.Create(opened(orders))
		b.SwapPipeline(store.Pipeline{}, store.Pipeline{ID: "orders", Slots: []run.AttemptID{orders.Attempt(1)}})
		b.SwapDeadline(store.Deadline{}, armed(orders, store.Absolute, noon))
		b.SwapDeadline(store.Deadline{}, armed(orders, store.Relative, noon))
		b.Schedule(taskFor("a", noon))
		b.Schedule(taskFor("b", after(time.Hour)))
	})
	lease := f.claimOne(noon).Lease
	met := armed(orders, store.Absolute, noon)
	met.State = sla.Met
	f.commit(func(b *store.Batch) {
		b.Lease = &lease
		b.Swap(opened(orders), turned(opened(orders), run.Completed))
		b.SwapPipeline(store.Pipeline{Version: 1}, store.Pipeline{ID: "orders"})
		b.SwapDeadline(armed(orders, store.Absolute, noon), met)
		b.SwapDeadline(armed(orders, store.Relative, noon), armed(orders, store.Relative, noon))
		b.SwapPostRun(store.PostRun{}, store.PostRun{Key: orders})
		b.Append(store.JobEntry{Key: orders, Attempt: 1, At: noon, Event: store.JobSuccess})
		b.Finish("a")
		b.Finish("b")
		b.Schedule(taskFor("c", after(time.Hour)))
		b.Emit(told3()...)
	})
	f.same("status", f.run(orders).Status, run.Completed)
	f.same("tasks", f.everything().Tasks, []store.Task{taskFor("c", after(time.Hour))})
}
