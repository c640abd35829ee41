package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

var trimClaims = []claim{
	{"ZeroRetentionKeepsAll", zeroKeepsAll},
	{"ExactlyAsOldAsItsRetentionStays", exactlyAsOld},
	{"OldEventsGo", oldEventsGo},
	{"EventsThatACursorHasNotPassedStay", cursorKeeps},
	{"OldWritesGo", oldWritesGo},
	{"ReadingsOfOpenPeriodsStay", openPeriodsStay},
	{"ReadingsOfPeriodsToComeStay", periodsToComeStay},
	{"WritesGoWhenNothingNeedsThem", trimmedWrites},
	{"AClockThatWasAheadKeepsNothing", clockAhead},
	{"JobLogsOfOpenRunsStay", jobLogsOfOpenRuns},
	{"SnapshotsThatRunsReferToStay", snapshotsStay},
	{"EndedDryRunsGoAfterAWeek", dryRunsGo},
	{"MarksGoAfterTheirTime", marksGo},
	{"ChangesThatAGroupHasNotPassedStay", changesStay},
	{"ChangesThatAllHavePassedGo", changesGo},
	{"WhatCountsIsNeverTouched", neverTouched},
	{"OldRunsGo", oldRunsGo},
	{"RunsThatSomethingNeedsStay", neededRunsStay},
	{"FitKeepsWhatFits", fitKeeps},
	{"SmallSteps", smallSteps},
	{"PurgeDeletesEverythingOfARemovedPipeline", purgeDeletes},
	{"PurgeDeletesNothingWhileAnythingIsOpen", purgeRefuses},
	{"PurgeWaitsUntilTheLastRunsBatchesAreForgotten", purgeWaits},
}

const keepDay = 24 * time.Hour

var keepADay = store.Retention{Events: keepDay, History: keepDay, JobLog: keepDay}

// trimAll trims until nothing is left to forget.
func (f *fixture) trimAll(keep store.Retention, now time.Time) {
	f.t.Helper()
	for range 1000 {
		n, err := f.s.Trim(f.ctx, keep, now)
		f.check(err)
		if n == 0 {
			return
		}
		if n < 0 || n > store.MaxTrim {
			f.t.Fatalf("one call forgot %d rows", n)
		}
	}
	f.t.Fatal("there is always more to forget")
}

// aged stores one of everything that can grow old, all at noon.
func (f *fixture) aged() {
	f.t.Helper()
	f.schedule(taskFor("c", noon))
	f.commit(full)
	f.commit(func(b *store.Batch) { b.Swap(opened(orders), turned(opened(orders), run.Completed)) })
	f.put(noon, write("2026-03-01", 1), write("2026-03-02", 2), write("2026-03-02", 3))
	f.check(f.s.SetCursor(f.ctx, "hook", 1<<60))
}

func zeroKeepsAll(f *fixture) {
	f.aged()
	before := f.everything()
	f.trimAll(store.Retention{}, after(30*time.Minute))
	f.same("after half an hour", f.everything(), before)
	f.trimAll(store.Retention{}, after(1000*keepDay))
	got := f.everything()
	before.Marked = got.Marked
	f.same("after years", got, before)
}

func exactlyAsOld(f *fixture) {
	f.aged()
	before := f.everything()
	f.trimAll(keepADay, after(keepDay))
	got := f.everything()
	before.Marked = got.Marked // it may go: its own time has passed
	f.same("after exactly a day", got, before)
	f.trimAll(keepADay, after(keepDay+1))
	got = f.everything()
	f.same("events", len(got.Events), 0)
	f.same("log", len(got.Log), 0)
	f.same("reruns", len(got.Reruns), 0)
	f.same("snapshots", len(got.Snapshots), 0)
	f.same("history", counts(got.History), []int64{3})
}

func oldEventsGo(f *fixture) {
	f.emit(newEvent(orders, "old", noon), newEvent(orders, "young", after(time.Hour)))
	f.emit(newEvent(orders, "told late", after(-time.Hour)))
	f.trimAll(keepADay, after(keepDay+time.Minute))
	f.same("events", f.events(store.EventQuery{}), []string{"young"})
	f.emit(newEvent(orders, "old", after(keepDay)))
	f.same("announced again", f.events(store.EventQuery{}), []string{"old", "young"})
	some, err := f.s.EventsAfter(f.ctx, 0, 10)
	f.check(err)
	f.same("in their order", []string{some[0].Event.Detail.Message, some[1].Event.Detail.Message}, []string{"young", "old"})
}

func cursorKeeps(f *fixture) {
	for i := range 4 {
		f.emit(newEvent(orders, fmt.Sprint(i), noon))
	}
	all, err := f.s.EventsAfter(f.ctx, 0, 10)
	f.check(err)
	f.check(f.s.SetCursor(f.ctx, "hook", all[2].Position))
	f.check(f.s.SetCursor(f.ctx, "log", all[1].Position))
	f.trimAll(keepADay, after(2*keepDay))
	f.same("events", f.events(store.EventQuery{Ascending: true}), []string{"2", "3"})
	f.check(f.s.SetCursor(f.ctx, "log", 0))
	f.trimAll(keepADay, after(2*keepDay))
	f.same("with a cursor at the start", len(f.everything().Events), 2)
	f.check(f.s.DropCursor(f.ctx, "log"))
	f.trimAll(keepADay, after(2*keepDay))
	f.same("with that cursor dropped", f.events(store.EventQuery{Ascending: true}), []string{"3"})
}

func oldWritesGo(f *fixture) {
	f.put(noon, write("", 1), write("2026-03-01", 2), write("2026-03-02", 3), write("2026-03-02", 4))
	f.put(after(time.Minute), write("", 5), write("2026-03-01", 6))
	f.put(after(2*time.Hour), write("2026-03-03", 7))
	status := write("2026-03-01", 8)
	status.Reading.Key = "status"
	f.put(noon, status)
	f.trimAll(keepADay, after(keepDay+time.Hour))
	f.same("the standing fact and what is young", counts(f.history("rows")), []int64{7, 5})
	f.same("the last write of another key", counts(f.history("status")), []int64{8})
	f.same("current", f.periods("2026-03-01"), []string{"", "2026-03-03"})
	latest := f.latest("orders")
	f.same("latest", counts(latest), []int64{7, 8})
	put := f.put(after(keepDay+time.Hour), write("2026-03-01", 6))[0]
	f.same("what was forgotten is new", put.Changed, true)
}

func openPeriodsStay(f *fixture) {
	hourly := keyOf("silver", "2026-03-01T10")
	f.create(opened(hourly))
	f.commit(func(b *store.Batch) { b.Swap(run.Run{}, dried(opened(keyOf("gold", "2026-03-04")))) })
	f.put(noon,
		write("2026-03-01T10", 1), write("2026-03-01T10", 2), write("2026-03-01T11", 3), write("2026-03-01", 4),
		write("2026-03-01T10:15", 5), write("2026-03-02", 6), write("2026-03-04T07", 7), write("2026-03-05", 8))
	f.trimAll(keepADay, after(2*keepDay))
	f.same("history", counts(f.history("rows")), []int64{8, 7, 5, 4, 2})
	f.commit(func(b *store.Batch) { b.Swap(opened(hourly), turned(opened(hourly), run.Cancelled)) })
	f.trimAll(keepADay, after(2*keepDay))
	f.same("once it has ended", counts(f.history("rows")), []int64{8, 7})
}

// A reading may be there long before the run that it is for is opened.
func periodsToComeStay(f *fixture) {
	f.put(noon, write("2026-02-01", 1), write("2026-09-01", 2), write("2026-09-02T10", 3), write("", 4))
	f.trimAll(keepADay, after(100*keepDay))
	f.same("long before", counts(f.history("rows")), []int64{4, 3, 2})
	f.same("for the day", f.periods("2026-09-01"), []string{"", "2026-09-01", "2026-09-02T10"})
	over := time.Date(2026, 9, 2, 12, 0, 0, 0, time.UTC)
	f.trimAll(keepADay, over.Add(keepDay))
	f.same("when it is over everywhere", counts(f.history("rows")), []int64{4, 3, 2})
	f.trimAll(keepADay, over.Add(keepDay+1))
	f.same("later", counts(f.history("rows")), []int64{4, 3})
}

// trimModel is what should be left of the writes of one key.
type trimModel struct {
	writes []sensor.Reading // oldest first
	open   map[period.Period]bool
	kept   map[int64]time.Time // when an old write that was needed may be examined again, by version
}

// needed reports whether the write at index i may not go, however old it is; replaced, that it is
// not the current one of its period.
func (m *trimModel) needed(i int) (needed, replaced bool) {
	w := m.writes[i]
	for _, later := range m.writes[i+1:] {
		if later.Period == w.Period {
			return false, true
		}
	}
	return i == len(m.writes)-1 || w.Period.IsZero() || m.open[w.Period], false
}

// trim drops what must go. What may go is gone if the store says so: a replaced write before its
// period is over, and one that was needed when it was more than half as old.
func (m *trimModel) trim(now time.Time, gone func(version int64) bool) {
	cutoff := now.Add(-keepDay)
	var left []sensor.Reading
	for i, w := range m.writes {
		needed, replaced := m.needed(i)
		since := store.AgesFrom(w.UpdatedAt, w.Period)
		old := since.Before(cutoff)
		if needed && old {
			m.kept[w.Version] = now.Add(max(keepDay, now.Sub(since)))
		}
		must := old && !now.Before(m.kept[w.Version])
		may := old || replaced && w.UpdatedAt.Before(cutoff)
		if needed || !must && !(may && gone(w.Version)) {
			left = append(left, w)
		}
	}
	m.writes = left
}

// Writes, runs and rounds of trimming follow one another in any order.
func trimmedWrites(f *fixture) {
	for seed := range uint64(f.rounds(24)) {
		draw := rand.New(rand.NewPCG(seed, 0))
		id := pipeline.ID(fmt.Sprint("orders-", seed))
		m, now, runs := trimModel{open: map[period.Period]bool{}, kept: map[int64]time.Time{}}, noon, map[period.Period]run.Run{}
		any := func() period.Period {
			return on(now.AddDate(0, 0, draw.IntN(9)-4).Format(time.DateOnly))
		}
		for range 60 {
			now = now.Add(time.Duration(draw.IntN(10)) * time.Hour)
			switch p := any(); draw.IntN(8) {
			case 0:
				r, there := runs[p]
				next := opened(run.Key{Pipeline: id, Schedule: pipeline.ByCron, Period: p})
				if there {
					next = turned(r, run.Pending)
				}
				f.commitAt(now, func(b *store.Batch) { b.Swap(r, next) })
				runs[p], m.open[p] = next, true
			case 1:
				for p := range m.open {
					next := turned(runs[p], run.Completed)
					f.commitAt(now, func(b *store.Batch) { b.Swap(runs[p], next) })
					runs[p] = next
				}
				clear(m.open)
			case 2:
				f.trimAll(keepADay, now)
				left := map[int64]bool{}
				var got, want []int64
				for _, r := range f.historyOf(id, "rows") {
					left[r.Version] = true
					got = append(got, r.Version)
				}
				m.trim(now, func(version int64) bool { return !left[version] })
				for _, w := range slices.Backward(m.writes) {
					want = append(want, w.Version)
				}
				f.same(fmt.Sprintf("seed %d: history at %s", seed, now), got, want)
			default:
				w := write("", int64(draw.IntN(3)))
				w.Pipeline = id
				if draw.IntN(3) > 0 {
					w.Reading.Period = p
				}
				put := f.put(now, w)[0]
				m.writes = append(m.writes, sensor.Reading{Period: w.Reading.Period, UpdatedAt: now, Version: put.Version})
			}
		}
		for p := range m.open {
			f.commitAt(now, func(b *store.Batch) { b.Swap(runs[p], turned(runs[p], run.Completed)) })
		}
	}
}

// More than any store looks at in one go is stored a year ahead of time, and then the clock is
// right again.
func clockAhead(f *fixture) {
	const ahead = 365 * keepDay
	key := keyOf("orders", "2026-03-04")
	f.create(turned(opened(key), run.Completed))
	fill := func(name string, n int, at time.Time) {
		for i := range n {
			f.commitAt(at, func(b *store.Batch) {
				for j := range 9 {
					b.Emit(newEvent(orders, fmt.Sprint(name, i, j), at))
				}
				b.Append(store.JobEntry{Key: key, Attempt: 1 + i, Event: store.JobStarted, At: at})
			})
			var writes []store.Write
			for j := range 9 {
				writes = append(writes, write("2026-03-01", int64(10*i+j)))
			}
			f.put(at, writes...)
		}
	}
	fill("ahead ", 60, after(ahead))
	fill("right ", 3, noon)
	f.put(noon, write("", 0))
	f.trimAll(keepADay, after(2*keepDay))
	got := f.everything()
	for _, e := range got.Events {
		if e.Event.Time.Equal(noon) {
			f.t.Errorf("event %q is two days old and still there", e.Event.Detail.Message)
			break
		}
	}
	for _, e := range got.Log {
		if e.At.Equal(noon) {
			f.t.Error("a line of the job log is two days old and still there")
			break
		}
	}
	for _, r := range f.history("rows") {
		if r.UpdatedAt.Equal(noon) && !r.Period.IsZero() {
			f.t.Errorf("write %d is two days old and still there", r.Version)
			break
		}
	}
}

func jobLogsOfOpenRuns(f *fixture) {
	ended := keyOf("orders", "2026-03-04")
	f.create(opened(orders), turned(opened(ended), run.FailedFinal))
	for _, key := range []run.Key{orders, ended} {
		f.commit(func(b *store.Batch) {
			b.Append(store.JobEntry{Key: key, Attempt: 1, Event: store.JobStarted, At: noon})
			b.Append(store.JobEntry{Key: key, Attempt: 2, Event: store.JobStarted, At: after(time.Hour)})
			b.Reruns = append(b.Reruns, store.Rerun{ID: "r1", Key: key, At: noon})
		})
	}
	f.trimAll(keepADay, after(keepDay+time.Minute))
	got := f.everything()
	f.same("log", len(got.Log), 3)
	f.same("reruns", len(got.Reruns), 1)
	f.same("of the open run", got.Reruns[0].Key, orders)
}

func snapshotsStay(f *fixture) {
	r := turned(opened(orders), run.Completed)
	r.Progress.Snapshot = "s2"
	open := keyOf("silver", "2026-03-03")
	f.create(r, opened(open))
	f.commit(func(b *store.Batch) {
		for _, id := range knownSnapshots {
			b.Snapshots = append(b.Snapshots, store.Snapshot{ID: id, Key: orders, At: noon})
		}
		b.Snapshots = append(b.Snapshots, store.Snapshot{ID: "s3", Key: open, At: noon})
	})
	f.trimAll(keepADay, after(2*keepDay))
	got := f.everything().Snapshots
	f.same("snapshots", len(got), 1)
	f.same("the one it started on", got[0].ID, run.SnapshotID("s2"))
	_, err := f.s.Snapshot(f.ctx, "s3")
	f.check(err)
}

func dryRunsGo(f *fixture) {
	open, ended := dried(opened(orders)), dried(turned(opened(keyOf("orders", "2026-03-04")), run.Completed))
	f.commit(func(b *store.Batch) {
		b.Swap(run.Run{}, open)
		b.Swap(run.Run{}, ended)
	})
	f.trimAll(store.Retention{}, after(store.DryRunLife))
	f.same("after a week", len(f.everything().DryRuns), 2)
	f.trimAll(store.Retention{}, after(store.DryRunLife+1))
	f.same("later", f.everything().DryRuns, []run.Run{open})
}

func marksGo(f *fixture) {
	f.commit(func(b *store.Batch) {
		b.SetMark("m", after(time.Hour))
		b.SetMark("n", after(time.Minute))
		b.SetMark("o", time.Time{})
	})
	f.trimAll(store.Retention{}, after(time.Minute))
	f.same("up to its time", f.everything().Marked, map[string]bool{"m": true, "n": true, "o": true})
	f.trimAll(store.Retention{}, after(30*time.Minute))
	f.same("after it", f.everything().Marked, map[string]bool{"m": true, "o": true})
	f.commitAt(after(30*time.Minute), func(b *store.Batch) { b.SetMark("n", after(time.Hour)) })
}

func changesStay(f *fixture) {
	f.put(noon, write("", 1), write("", 2), write("", 3))
	f.trimAll(keepADay, after(100*keepDay))
	f.same("without a group", f.backlog("router"), 3)
	got := f.receive("router", 10)
	f.done("router", got[0], got[2])
	f.same("another group", len(f.receive("archive", 1)), 1)
	f.trimAll(keepADay, after(100*keepDay))
	f.same("router", f.backlog("router"), 1)
	f.same("archive", f.backlog("archive"), 3)
	f.same("the rest", len(f.receive("archive", 10)), 2)
}

func changesGo(f *fixture) {
	for n := range int64(3) {
		f.put(noon, write("", n))
	}
	f.done("router", f.receive("router", 2)...)
	f.same("asked, although nothing follows", f.backlog("archive"), 3)
	f.trimAll(store.Retention{}, noon)
	f.same("of a group that comes later", f.backlog("archive"), 1)
	f.same("of the one that was there", f.backlog("router"), 1)
	f.same("received", len(f.receive("archive", 10)), 1)
}

// Nothing that a promise needs goes, however old it is.
func neverTouched(f *fixture) {
	met := armed(keyOf("orders", "2026-03-04"), store.Absolute, noon)
	met.State = sla.Met
	f.commit(func(b *store.Batch) {
		b.Create(turned(opened(orders), run.Completed))
		b.SwapPipeline(store.Pipeline{}, store.Pipeline{ID: "orders", RemovedAt: noon})
		b.SwapDeadline(store.Deadline{}, armed(orders, store.Absolute, noon))
		b.SwapDeadline(store.Deadline{}, met)
		b.SwapPostRun(store.PostRun{}, store.PostRun{Key: orders, Baseline: map[string]sensor.Fields{"rows": {"n": int64(1)}}})
		b.Configs = append(b.Configs, store.Config{Pipeline: "orders", Version: "v1", At: noon})
		b.Schedule(taskFor("a", noon))
		b.Dead = append(b.Dead, store.DeadLetter{Sink: "hook", Event: newEvent(orders, "dead", noon), At: noon})
	})
	f.put(noon, write("2026-03-01", 1), write("", 2))
	f.check(f.s.SetCursor(f.ctx, "everything", 5))
	before := f.everything()
	f.trimAll(keepADay, after(1000*keepDay))
	got := f.everything()
	before.History, before.Current = got.History, got.Current
	f.same("after years", got, before)
}

func smallSteps(f *fixture) {
	for i := range 2 + store.MaxTrim/f.o.MaxWrites { // more than one call may forget
		var writes []store.Write
		for j := range f.o.MaxWrites {
			writes = append(writes, write("2026-03-01", int64(i*f.o.MaxWrites+j)))
		}
		f.put(noon, writes...)
	}
	f.put(noon, write("", 1))
	n, err := f.s.Trim(f.ctx, keepADay, after(2*keepDay))
	f.check(err)
	if n < 1 || n > store.MaxTrim {
		f.t.Errorf("one call forgot %d rows", n)
	}
	f.trimAll(keepADay, after(2*keepDay))
	f.same("history", counts(f.history("rows")), []int64{1})
}
