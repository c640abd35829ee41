package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

var taskClaims = []claim{
	{"DueTasksAreGivenLongestDueFirst", dueFirst},
	{"NoMoreThanAskedFor", claimLimit},
	{"ClaimingDoesNotRemoveATask", claimKeeps},
	{"StoringMovesIt", storingMoves},
	{"FinishingTakesItAway", finishing},
	{"TaskForOneReplicaIsClaimedByIt", replicaBound},
	{"NamedTaskIsClaimedDueOrNotByWhoeverAsks", claimByName},
	{"OnlyTasksOfTheGivenKindsAreClaimed", claimKinds},
	{"TasksOfExceptedPipelinesAreNotClaimed", claimExcept},
	{"FailedTaskWaitsUntilItIsTriedAgain", failedWaits},
	{"FailedTaskLeavesWhatOthersAskedFor", failedLeavesMoved},
	{"ChangesBehindOneThatWasSetAsideAreSetAside", asideTogether},
	{"ChangeSetAsideAgainKeepsItsFailuresAndItsHolder", asideAgain},
	{"NextDueIsWhenSomethingCanBeClaimed", nextDue},
	{"NextDueLeavesOutWhatTheQueryCannotClaim", nextDueForQuery},
	{"OverdueListsTasksThatNoReplicaClaimed", overdue},
	{"StoredTaskWakesThoseWhoWait", taskWakes},
	{"AwaitedTaskWakesNoWaiter", awaitedTaskWakesNoWaiter},
}

// ids are the tasks of claims.
func ids(claims []store.Claim) []string {
	var out []string
	for _, c := range claims {
		if c.Lease.Task != c.Task.ID {
			return []string{"the lease on " + c.Lease.Task + " came with " + c.Task.ID}
		}
		out = append(out, c.Task.ID)
	}
	return out
}

func dueFirst(f *fixture) {
	f.schedule(
		taskFor("now", noon), taskFor("soon", after(1)), taskFor("b", after(-time.Second)),
		taskFor("a", after(-time.Second)), taskFor("long ago", after(-time.Hour)),
	)
	f.same("claimed", ids(f.claim(noon)), []string{"long ago", "a", "b", "now"})
	f.same("a nanosecond later", ids(f.claim(after(1))), []string{"soon"})
}

func claimLimit(f *fixture) {
	for i := range 5 {
		f.schedule(taskFor(fmt.Sprint(i), noon))
	}
	q := store.ClaimQuery{Replica: "here", Lease: time.Minute}
	f.same("none asked for", ids(f.claimWith(q, noon)), []string(nil))
	q.Limit = 2
	f.same("first two", ids(f.claimWith(q, noon)), []string{"0", "1"})
	f.same("next two", ids(f.claimWith(q, noon)), []string{"2", "3"})
	f.same("last", ids(f.claimWith(q, noon)), []string{"4"})
	f.same("no more", ids(f.claimWith(q, noon)), []string(nil))
}

func claimByName(f *fixture) {
	later := taskFor("later", after(time.Hour))
	later.Replica = "there"
	f.schedule(taskFor("now", noon), later)
	q := store.ClaimQuery{Replica: "here", Task: "later", Limit: 5, Lease: time.Minute, LostAfter: time.Hour}
	claims := f.claimWith(q, noon)
	f.same("claimed", ids(claims), []string{"later"})
	f.same("held", ids(f.claimWith(q, after(time.Second))), []string(nil))
	f.commit(under(claims[0].Lease))
	f.same("lapsed", ids(f.claimWith(q, after(time.Minute))), []string{"later"})
	f.same("the others", ids(f.claim(noon)), []string{"now"})
	q.Task = "nobody's"
	f.same("one that is not there", ids(f.claimWith(q, noon)), []string(nil))
}

func claimKeeps(f *fixture) {
	f.schedule(taskFor("a", noon))
	f.same("claimed", f.claimOne(noon).Task, taskFor("a", noon))
	f.same("task", f.task("a"), taskFor("a", noon))
}

func storingMoves(f *fixture) {
	f.schedule(taskFor("a", noon))
	moved := store.Task{ID: "a", Kind: store.Fire, Pipeline: "silver", Key: keyOf("silver", "2026-03-04"), Due: after(time.Hour), Replica: "here"}
	f.schedule(moved)
	f.same("task", f.task("a"), moved)
	f.same("claimed at its old time", ids(f.claim(noon)), []string(nil))
	f.same("claimed at its new time", f.claimOne(after(time.Hour)).Task, moved)
	sooner := store.Task{ID: "b", Kind: store.Arm, Pipeline: "silver", Due: after(time.Hour)}
	f.schedule(sooner)
	sooner.Due = noon
	f.schedule(sooner)
	f.same("moved to the front", f.claimOne(noon).Task, sooner)
	f.same("without a run", f.task("b").Key, run.Key{})
}

func finishing(f *fixture) {
	f.schedule(taskFor("a", noon), taskFor("b", noon))
	f.commit(func(b *store.Batch) {
		b.Finish("a")
		b.Finish("never there")
	})
	f.noTask("a")
	f.same("claimed", ids(f.claim(noon)), []string{"b"})
}

func replicaBound(f *fixture) {
	bound, lost := taskFor("a", noon), taskFor("lost", noon)
	bound.Replica, lost.Replica = "there", "there"
	f.schedule(bound, taskFor("b", noon), lost)
	here := store.ClaimQuery{Replica: "here", Limit: 10, Lease: time.Minute, LostAfter: 10 * time.Minute}
	there := store.ClaimQuery{Replica: "there", Limit: 1, Lease: time.Minute, LostAfter: 10 * time.Minute}
	f.same("claimed by another", ids(f.claimWith(here, noon)), []string{"b"})
	f.same("by another, just too early", ids(f.claimWith(here, after(10*time.Minute-1))), []string{"b"})
	f.same("by its own", ids(f.claimWith(there, after(10*time.Minute-1))), []string{"a"})
	f.same("by another, the one that is lost", ids(f.claimWith(here, after(10*time.Minute))), []string{"lost"})
	f.same("by another, once all are", ids(f.claimWith(here, after(11*time.Minute))), []string{"a", "b", "lost"})
	f.schedule(taskFor("a", after(5*time.Minute)))
	here.LostAfter = time.Hour
	f.same("by another, no longer bound", ids(f.claimWith(here, after(12*time.Minute))), []string{"b", "a"})
}

func nextDue(f *fixture) {
	next := func(what string, want time.Time) {
		f.t.Helper()
		got, err := f.s.NextDue(f.ctx, store.ClaimQuery{})
		f.check(err)
		f.same(what, got, want)
	}
	next("without tasks", time.Time{})
	f.schedule(taskFor("b", after(time.Hour)), taskFor("a", noon))
	next("the soonest", noon)
	lease := f.claimOne(noon).Lease
	next("held: when its lease lapses", after(time.Minute))
	_, err := f.s.Renew(f.ctx, []store.Lease{lease}, 2*time.Hour, noon)
	f.check(err)
	next("held for longer than the next is away", after(time.Hour))
	f.schedule(taskFor("a", after(3*time.Hour)))
	f.commit(func(b *store.Batch) { b.Finish("b") })
	next("held, and moved beyond its lease", after(3*time.Hour))
	f.check(f.s.Release(f.ctx, []store.Lease{lease}, noon))
	f.schedule(taskFor("a", after(2*time.Second)))
	next("given back", after(2*time.Second))
	f.commit(func(b *store.Batch) { b.Finish("a") })
	next("all done", time.Time{})
}

func claimKinds(f *fixture) {
	f.schedule(kindOf("a", store.Advance, noon), kindOf("b", store.Fire, noon), kindOf("c", store.Arm, noon), kindOf("d", "never heard of", noon))
	q := store.ClaimQuery{Replica: "here", Limit: 10, Lease: time.Minute}
	q.Kinds = []store.TaskKind{store.Arm, store.Advance}
	f.same("two kinds", ids(f.claimWith(q, noon)), []string{"a", "c"})
	q.Kinds = []store.TaskKind{store.Deliver}
	f.same("a kind without tasks", ids(f.claimWith(q, noon)), []string(nil))
	q.Task = "b"
	f.same("a named task of another kind", ids(f.claimWith(q, noon)), []string{"b"})
	q.Task, q.Kinds = "", nil
	f.same("every kind", ids(f.claimWith(q, noon)), []string{"d"})
}

func claimExcept(f *fixture) {
	of := func(id, pipe string, kind store.TaskKind, due time.Time) store.Task {
		t := kindOf(id, kind, due)
		t.Pipeline = pipeline.ID(pipe)
		return t
	}
	f.schedule(of("a", "flood", store.Advance, noon), of("b", "flood", store.Fire, noon), of("c", "orders", store.Advance, after(time.Second)), of("d", "", store.Arm, noon))
	q := store.ClaimQuery{Replica: "here", Limit: 1, Lease: time.Minute, Except: []pipeline.ID{"flood", "nobody"}}
	next, err := f.s.NextDue(f.ctx, store.ClaimQuery{Replica: "here", Except: q.Except, Kinds: []store.TaskKind{store.Advance}})
	f.check(err)
	f.same("next", next, after(time.Second))
	q.Kinds = []store.TaskKind{store.Advance, store.Fire, store.Arm}
	f.same("another pipeline's, though it is due later", ids(f.claimWith(q, after(time.Minute))), []string{"d"})
	f.same("the next of those", ids(f.claimWith(q, after(time.Minute))), []string{"c"})
	q.Kinds, q.Limit = nil, 10
	f.same("none is left", ids(f.claimWith(q, after(time.Minute))), []string(nil))
	q.Except = nil
	f.same("the rest", ids(f.claimWith(q, after(time.Minute))), []string{"a", "b"})
}

func kindOf(id string, kind store.TaskKind, due time.Time) store.Task {
	t := taskFor(id, due)
	t.Kind = kind
	return t
}

// fail stores a task that was claimed as one that failed.
func (f *fixture) fail(c store.Claim, now time.Time) store.Task {
	f.t.Helper()
	b := store.Postpone(c, errors.New("no"), now)
	f.check(f.s.Commit(f.ctx, b, now))
	return b.Tasks[0]
}

func failedWaits(f *fixture) {
	f.schedule(taskFor("a", noon), taskFor("b", after(time.Second)))
	first := f.claimOne(noon)
	failed := f.fail(first, noon)
	f.conflicts("the lease has ended", noon, under(first.Lease))
	f.same("stored", f.task("a"), failed)
	f.same("failures", failed.Failures, 1)
	f.same("due as before", failed.Due, noon)
	next, err := f.s.NextDue(f.ctx, store.ClaimQuery{Kinds: []store.TaskKind{store.Advance}})
	f.check(err)
	f.same("next due", next, failed.RetryAt)
	f.same("claimed too early", ids(f.claim(failed.RetryAt.Add(-1))), []string(nil))
	again := f.claimOne(failed.RetryAt)
	f.same("claimed again", again.Task, failed)

	for range 20 { // until it waits as long as any
		now := failed.RetryAt
		failed = f.fail(again, now)
		again = f.claimWith(store.ClaimQuery{Task: "a", Limit: 1, Lease: time.Minute}, failed.RetryAt)[0]
	}
	f.same("failures", again.Task.Failures, 21)
	failed = f.fail(again, failed.RetryAt)
	f.same("what waits longer comes later", ids(f.claim(failed.RetryAt)), []string{"b", "a"})
	late, err := f.s.Overdue(f.ctx, failed.RetryAt, 10)
	f.check(err)
	f.same("overdue while it waits", late, []store.Task(nil))
}

// A sensor write asks for an evaluation while one fails that did not see it.
func failedLeavesMoved(f *fixture) {
	f.schedule(taskFor("a", noon))
	c := f.claimOne(noon)
	f.schedule(taskFor("a", noon))
	f.fail(c, noon)
	f.same("task", f.task("a"), taskFor("a", noon))
	f.claimOne(noon)
}

// written are changes of the pipeline orders: readings of these versions.
func written(versions ...int64) (all []store.Change) {
	for _, v := range versions {
		all = append(all, store.Change{Kind: store.ReadingWritten, Pipeline: orders.Pipeline, Sensor: "a", Version: v, At: noon})
	}
	return all
}

// A replica sets a change aside and dies before it acknowledges it. The next one receives it again,
// with others behind it, at the same instant even.
func asideTogether(f *fixture) {
	cause := errors.New("no")
	f.check(f.s.Commit(f.ctx, store.SetAside(written(1), 1, cause, noon), noon))
	f.check(f.s.Commit(f.ctx, store.SetAside(written(1, 2, 3), 1, cause, noon), noon))
	f.same("tasks", ids(f.claim(after(time.Hour))), []string{"change/reading/orders/v1", "change/reading/orders/v2", "change/reading/orders/v3"})
}

func asideAgain(f *fixture) {
	cause := errors.New("no")
	f.check(f.s.Commit(f.ctx, store.SetAside(written(1), 3, cause, noon), noon))
	failed := f.fail(f.claimOne(after(time.Hour)), after(time.Hour))
	f.same("failures", failed.Failures, 4)
	again := func(at time.Time) {
		f.t.Helper()
		f.check(f.s.Commit(f.ctx, store.SetAside(written(1, 2), 1, cause, at), at))
		f.same("stored", f.task(failed.ID), failed)
	}
	again(after(time.Hour))
	f.check(f.s.Commit(f.ctx, store.Batch{ID: "done", Finished: []string{"change/reading/orders/v2"}}, after(time.Hour)))
	held := f.claimOne(after(2 * time.Hour)).Lease
	again(after(2 * time.Hour))
	f.commitAt(after(2*time.Hour), func(b *store.Batch) { // its holder has handled it
		b.Lease = &held
		b.Finish(held.Task)
	})
	f.noTask(held.Task)
}

// A replica that waits for the next task must not wake up for one that it cannot claim.
func nextDueForQuery(f *fixture) {
	here := store.ClaimQuery{Replica: "here", LostAfter: 10 * time.Minute}
	next := func(what string, q store.ClaimQuery, want time.Time) {
		f.t.Helper()
		got, err := f.s.NextDue(f.ctx, q)
		f.check(err)
		f.same(what, got, want)
	}
	var foreign []store.Task
	for i := range 150 { // more than any store reads at once
		t := taskFor(fmt.Sprintf("foreign-%03d", i), noon)
		t.Replica = "there"
		foreign = append(foreign, t)
	}
	for len(foreign) > 0 {
		n := min(5, len(foreign))
		f.schedule(foreign[:n]...)
		foreign = foreign[n:]
	}
	next("only tasks of another replica", here, after(10*time.Minute))
	next("for that replica", store.ClaimQuery{Replica: "there", LostAfter: time.Hour}, noon)
	f.schedule(kindOf("own", store.Fire, after(time.Minute)))
	next("one that any replica may claim", here, after(time.Minute))
	here.Kinds = []store.TaskKind{store.Advance}
	next("only of another kind", here, after(10*time.Minute))
	here.Kinds = []store.TaskKind{store.Fire, store.Arm}
	next("of its kind", here, after(time.Minute))
	here.Kinds = []store.TaskKind{store.Arm}
	next("no such kind", here, time.Time{})
	here.Kinds = nil
	f.claimWith(store.ClaimQuery{Replica: "there", Task: "foreign-000", Limit: 1, Lease: time.Hour}, noon)
	f.claimWith(store.ClaimQuery{Replica: "here", Task: "own", Limit: 1, Lease: 30 * time.Minute}, noon)
	next("its own is held for longer", here, after(10*time.Minute))
}

func overdue(f *fixture) {
	bound := taskFor("bound", after(-time.Minute))
	bound.Replica = "there"
	f.schedule(taskFor("b", after(-time.Hour)), taskFor("a", after(-time.Hour)), taskFor("just", noon), taskFor("later", after(1)), bound)
	late := func(before time.Time, limit int) []string {
		f.t.Helper()
		tasks, err := f.s.Overdue(f.ctx, before, limit)
		f.check(err)
		var out []string
		for _, t := range tasks {
			out = append(out, t.ID)
		}
		return out
	}
	f.same("due since before noon", late(noon, 10), []string{"a", "b", "bound"})
	f.same("two of them", late(noon, 2), []string{"a", "b"})
	f.schedule(kindOf("probe", store.RunProbe, after(-2*time.Hour)))
	steps, err := f.s.Overdue(f.ctx, noon, 1, store.Advance)
	f.check(err)
	f.same("the first step", steps, []store.Task{f.task("a")})
	f.commit(func(b *store.Batch) { b.Finish("probe") })
	f.same("due since before one", late(after(time.Hour), 0), []string{"a", "b", "bound", "just", "later"})
	f.claimWith(store.ClaimQuery{Replica: "here", Limit: 1, Lease: time.Minute}, noon)
	f.same("while one is held", late(after(time.Minute), 10), []string{"b", "bound", "just", "later"})
	f.same("once its lease has lapsed for as long", late(after(time.Minute+1), 10), []string{"a", "b", "bound", "just", "later"})
}

func taskWakes(f *fixture) {
	wakes := func(what string, do func()) {
		f.t.Helper()
		changed := f.s.TasksChanged()
		do()
		f.await(what, changed)
	}
	wakes("a stored task", func() { f.schedule(taskFor("a", noon)) })
	wakes("a moved task", func() { f.schedule(taskFor("a", after(-time.Hour))) })
	lease := f.claimOne(noon).Lease
	wakes("a lease given back", func() { f.check(f.s.Release(f.ctx, []store.Lease{lease}, noon)) })
	f.claimOne(noon)
	wakes("all leases voided", func() { f.check(f.s.VoidLeases(f.ctx)) })
	wakes("a finished task", func() { f.commit(func(b *store.Batch) { b.Finish("a") }) })
}

// awaitedTaskWakesNoWaiter stores a leased task whose holder comes back by itself: that wakes
// others only if one of them has stored the task meanwhile.
func awaitedTaskWakesNoWaiter(f *fixture) {
	f.schedule(taskFor("a", noon))
	move := func(lease store.Lease, due time.Time) {
		f.t.Helper()
		f.commit(func(b *store.Batch) {
			b.Lease, b.Awaited = &lease, true
			b.Schedule(taskFor("a", due))
		})
	}
	lease := f.claimOne(noon).Lease
	changed := f.s.TasksChanged()
	move(lease, after(time.Hour))
	select {
	case <-changed:
		f.t.Error("an awaited task woke others")
	default:
	}
	lease = f.claimOne(after(time.Hour)).Lease
	f.schedule(taskFor("a", noon))
	changed = f.s.TasksChanged()
	move(lease, after(2*time.Hour))
	f.await("an awaited task that others stored", changed)
	f.claimOne(noon) // as they stored it
}

// await waits for a channel to be closed.
func (f *fixture) await(what string, closed <-chan struct{}) {
	f.t.Helper()
	select {
	case <-closed:
	case <-time.After(guard):
		f.t.Fatalf("%s woke no waiter", what)
	}
}
