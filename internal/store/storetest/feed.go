package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

var feedClaims = []claim{
	{"ChangesSayWhatWasWritten", changesSay},
	{"WhatOthersNeedNotKnowIsNoChange", noChange},
	{"ChangesAndStepsCarryTheirTrace", carriesTrace},
	{"GivenOldestFirst", oldestFirst},
	{"HeldByOneConsumer", heldByOne},
	{"EachGroupHasItsOwnPlace", ownPlace},
	{"GroupBeginsAtTheOldestChange", beginsAtOldest},
	{"DoneOutOfOrderPassesNothing", doneOutOfOrder},
	{"DoneTwiceIsFine", doneTwice},
	{"BacklogCountsWhatIsNotFinished", backlog},
	{"ReceiveWaitsForAChange", receiveWaits},
	{"ReceiveEndsWithItsContext", receiveEnds},
	{"CloseEndsWhatWaits", closeEnds},
	{"ClosedStoreRefusesAll", closedRefuses},
}

// receive receives changes as the consumer "one" of a group.
func (f *fixture) receive(group string, limit int) []store.Change {
	f.t.Helper()
	return f.receiveAs(group, "one", limit)
}

func (f *fixture) receiveAs(group, consumer string, limit int) []store.Change {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.ctx, guard)
	defer cancel()
	changes, err := f.s.Receive(ctx, group, consumer, limit)
	f.check(err)
	if len(changes) == 0 {
		f.t.Fatal("received nothing, without an error")
	}
	return changes
}

// nothing checks that a consumer receives nothing more: it receives only what is written now.
func (f *fixture) nothing(group, consumer string) {
	f.t.Helper()
	w := write("", 0)
	w.Reading.Key = "probe"
	version := f.put(noon, w)[0].Version
	got := f.receiveAs(group, consumer, 10)
	f.same(consumer+" of "+group+" received", versions(got), []int64{version})
	f.done(group, got...)
}

func (f *fixture) done(group string, changes ...store.Change) {
	f.t.Helper()
	f.check(f.s.Done(f.ctx, group, changes))
}

func (f *fixture) backlog(group string) int {
	f.t.Helper()
	n, _, err := f.s.Backlog(f.ctx, group)
	f.check(err)
	return n
}

// versions returns the versions of changes, since tests write in a known order.
func versions(changes []store.Change) []int64 {
	var out []int64
	for _, c := range changes {
		out = append(out, c.Version)
	}
	return out
}

func changesSay(f *fixture) {
	put := f.put(noon, write("2026-03-03", 1))[0]
	f.commitAt(after(time.Second), func(b *store.Batch) { b.Create(opened(orders)) })
	f.commitAt(after(time.Minute), func(b *store.Batch) {
		b.Swap(opened(orders), turned(opened(orders), run.Triggering))
		b.SwapPipeline(store.Pipeline{}, store.Pipeline{ID: "orders"})
	})
	next := turned(opened(orders), run.Triggering)
	next.Version, next.Attempt = 7, 2
	f.commitAt(after(time.Hour), func(b *store.Batch) { b.Swap(turned(opened(orders), run.Triggering), next) })
	got := f.receive("router", 10)
	last := store.Position(0)
	for i := range got {
		if got[i].Position <= last {
			f.t.Errorf("position %d came after %d", got[i].Position, last)
		}
		last, got[i].Position = got[i].Position, 0
	}
	f.same("changes", got, []store.Change{
		{Kind: store.ReadingWritten, At: noon, Pipeline: "orders", Sensor: "rows", Period: on("2026-03-03"), Version: put.Version, Changed: true},
		{Kind: store.RunMoved, At: after(time.Second), Pipeline: "orders", Run: orders, Status: run.Pending, Attempt: 1, Version: 1},
		{Kind: store.RunMoved, At: after(time.Minute), Pipeline: "orders", Run: orders, Status: run.Triggering, Attempt: 1, Version: 2},
		{Kind: store.PipelineMoved, At: after(time.Minute), Pipeline: "orders", Version: 1},
		{Kind: store.RunMoved, At: after(time.Hour), Pipeline: "orders", Run: orders, Status: run.Triggering, Attempt: 2, Version: 7},
	})
}

func noChange(f *fixture) {
	f.create(opened(orders))
	f.done("router", f.receive("router", 10)...)
	f.commit(func(b *store.Batch) {
		b.Swap(opened(orders), touched(opened(orders)))
		b.Swap(run.Run{}, dried(opened(orders)))
		b.SwapDeadline(store.Deadline{}, armed(orders, store.Absolute, noon))
		b.SwapPostRun(store.PostRun{}, store.PostRun{Key: orders})
		b.Schedule(taskFor("a", noon))
		b.SetMark("m", time.Time{})
		b.Emit(newEvent(orders, "one", noon))
	})
	f.same("backlog", f.backlog("router"), 0)
	f.nothing("router", "one")
}

func oldestFirst(f *fixture) {
	var want []int64
	for i := range int64(7) {
		want = append(want, f.put(noon, write("", i))[0].Version)
	}
	var got []int64
	for _, limit := range []int{1, 2, 3, 10} {
		some := f.receive("router", limit)
		if len(some) > limit {
			f.t.Errorf("asked for %d changes, got %d", limit, len(some))
		}
		got = append(got, versions(some)...)
	}
	f.same("changes", got, want)
}

func heldByOne(f *fixture) {
	f.put(noon, write("", 1), write("", 2), write("", 3))
	first := f.receiveAs("router", "one", 2)
	second := f.receiveAs("router", "two", 2)
	f.same("received", []int{len(first), len(second)}, []int{2, 1})
	f.nothing("router", "one")
	f.nothing("router", "two")
	f.nothing("router", "three")
	f.done("router", second...)
	f.nothing("router", "two")
	f.same("backlog", f.backlog("router"), 2)
}

func ownPlace(f *fixture) {
	f.put(noon, write("", 1), write("", 2))
	first := f.receive("router", 10)
	f.done("router", first...)
	f.same("another group", versions(f.receive("archive", 10)), versions(first))
	f.same("backlogs", []int{f.backlog("router"), f.backlog("archive")}, []int{0, 2})
	f.nothing("router", "one")
}

func beginsAtOldest(f *fixture) {
	f.put(noon, write("", 1))
	f.done("router", f.receive("router", 1)...)
	f.put(noon, write("", 2))
	f.same("before it was asked for", f.backlog("archive"), 2)
	f.same("a group that came later", len(f.receive("archive", 10)), 2)
}

func doneOutOfOrder(f *fixture) {
	f.put(noon, write("", 1), write("", 2), write("", 3))
	got := f.receive("router", 10)
	f.done("router", got[2])
	f.same("after the last", f.backlog("router"), 2)
	f.done("router", got[1])
	n, oldest, err := f.s.Backlog(f.ctx, "router")
	f.check(err)
	f.same("after the one before", n, 1)
	f.same("oldest", oldest, noon)
	f.put(after(time.Hour), write("", 4))
	next := f.receive("router", 10)
	f.same("received", len(next), 1)
	f.done("router", next...)
	f.same("backlog", f.backlog("router"), 1)
	f.done("router", got[0])
	f.same("backlog at last", f.backlog("router"), 0)
}

func doneTwice(f *fixture) {
	f.put(noon, write("", 1), write("", 2), write("", 3))
	got := f.receive("router", 2)
	f.done("router", got[1])
	f.done("router", got[1], got[1])
	f.done("router", got[0])
	f.done("router", got...)
	f.done("router")
	f.same("backlog", f.backlog("router"), 1)
	f.same("the third", len(f.receive("router", 10)), 1)
}

func backlog(f *fixture) {
	look := func(n int, oldest time.Time) {
		f.t.Helper()
		got, since, err := f.s.Backlog(f.ctx, "router")
		f.check(err)
		f.same("backlog", got, n)
		f.same("oldest", since, oldest)
	}
	look(0, time.Time{})
	f.put(noon, write("", 1))
	f.put(after(time.Hour), write("", 2))
	look(2, noon)
	got := f.receive("router", 1)
	look(2, noon)
	f.done("router", got...)
	look(1, after(time.Hour))
	f.done("router", f.receive("router", 1)...)
	look(0, time.Time{})
}

// receiveWaits writes only once the change before was received, so that the consumer usually waits
// first.
func receiveWaits(f *fixture) {
	rounds := f.rounds(100)
	got := make(chan error)
	go func() {
		for range rounds {
			ctx, cancel := context.WithTimeout(f.ctx, guard)
			changes, err := f.s.Receive(ctx, "router", "one", 10)
			cancel()
			if err == nil && len(changes) != 1 {
				err = fmt.Errorf("received %d changes, want 1", len(changes))
			}
			got <- err
		}
	}()
	for n := range int64(rounds) {
		for range 10 {
			runtime.Gosched()
		}
		f.put(noon, write("", n))
		f.check(<-got)
	}
}

func receiveEnds(f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := f.s.Receive(ctx, "router", "one", 10)
		ended <- err
	}()
	cancel()
	select {
	case err := <-ended:
		f.wantErr("receive", err, context.Canceled)
	case <-time.After(guard):
		f.t.Fatal("receive went on after its context had ended")
	}
}

func closeEnds(f *fixture) {
	ended := make(chan error, 1)
	go func() {
		_, err := f.s.Receive(f.ctx, "router", "one", 10)
		ended <- err
	}()
	f.check(f.s.Close())
	select {
	case err := <-ended:
		if err == nil {
			f.t.Error("receive ended without an error when the store was closed")
		}
	case <-time.After(guard):
		f.t.Fatal("receive went on after the store was closed")
	}
}

func closedRefuses(f *fixture) {
	f.create(opened(orders))
	f.check(f.s.Close())
	f.check(f.s.Close())
	_, put := f.s.PutReadings(f.ctx, []store.Write{write("", 1)}, noon)
	_, read := f.s.Run(f.ctx, orders)
	_, claim := f.s.Claim(f.ctx, store.ClaimQuery{Limit: 1}, noon)
	_, receive := f.s.Receive(f.ctx, "router", "one", 1)
	for name, err := range map[string]error{
		"commit": f.s.Commit(f.ctx, f.batch(), noon), "put": put, "read": read, "claim": claim, "receive": receive,
	} {
		if err == nil || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
			f.t.Errorf("%s after close: error %v", name, err)
		}
	}
}

// carriesTrace follows a trace from a write to the step of an attempt. A step that is stored again
// without a trace keeps it, and a timer has none.
func carriesTrace(f *fixture) {
	const first, second = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
	_, err := f.s.PutReadings(store.WithTrace(f.ctx, first), []store.Write{write("2026-03-03", 1)}, noon)
	f.check(err)
	b := f.batch()
	r := opened(orders)
	b.Create(r)
	b.Schedule(kindOf("step", store.Advance, noon))
	b.Schedule(kindOf("timer", store.Fire, noon))
	f.check(f.s.Commit(store.WithTrace(f.ctx, second), b, noon))
	var traces []string
	for len(traces) < 2 {
		got := f.receive("router", 10)
		f.done("router", got...)
		for _, c := range got {
			traces = append(traces, c.Trace)
		}
	}
	slices.Sort(traces) // they are separate rows, so that either may come first
	f.same("traces of the changes", traces, []string{second, first})
	f.schedule(kindOf("step", store.Advance, after(1)))
	f.same("trace of a step", f.task("step").Trace, second)
	f.same("trace of a timer", f.task("timer").Trace, "")
	b = f.batch()
	b.Schedule(kindOf("step", store.Advance, noon))
	f.check(f.s.Commit(store.WithTrace(f.ctx, first), b, noon))
	f.same("trace of a step that another write woke", f.task("step").Trace, first)
}
