package storetest

import (
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

var leaseClaims = []claim{
	{"HeldTaskIsNotGivenAgain", heldNotGiven},
	{"LapsedLeaseIsFree", lapsedIsFree},
	{"LapsedLeaseCommitsNothing", lapsedCommitsNothing},
	{"TakenOverLeaseCommitsNothing", takenOverCommitsNothing},
	{"HeldLeaseCommitsAsOftenAsItLikes", heldCommits},
	{"TokensGrow", tokensGrow},
	{"LeaseOfAnEarlierTaskOfThatNameIsLost", earlierTask},
	{"RenewedLeaseIsHeldLonger", renewed},
	{"LostLeaseIsNotRenewed", lostNotRenewed},
	{"ReleasedTaskIsFree", released},
	{"ReleasingWhatOthersHoldIsPassedOver", releasedLate},
	{"VoidedLeasesAreLost", voided},
	{"StoringTheLeasedTaskEndsTheLease", ownStoreEnds},
	{"SettlingOtherTasksKeepsTheLease", otherTasksKeep},
	{"MovedTaskStaysWithItsHolder", movedStaysHeld},
	{"FinishingLeavesWhatOthersAskedFor", finishLeavesMoved},
	{"StoringLeavesWhicheverIsSooner", storeLeavesSooner},
	{"WhatWasAskedBeforeTheClaimIsDoneByIt", movedBeforeClaim},
	{"TaskFinishedByAnotherIsLostToItsHolder", finishedByAnother},
}

// under fills a Batch that depends only on its lease.
func under(l store.Lease) func(b *store.Batch) {
	return func(b *store.Batch) { b.Lease = &l }
}

func heldNotGiven(f *fixture) {
	f.schedule(taskFor("a", noon))
	f.claimOne(noon)
	f.same("at once", ids(f.claim(noon)), []string(nil))
	f.same("just before it lapses", ids(f.claim(after(time.Minute-1))), []string(nil))
}

func lapsedIsFree(f *fixture) {
	f.schedule(taskFor("a", noon))
	f.claimOne(noon)
	f.claimOne(after(time.Minute))
}

func lapsedCommitsNothing(f *fixture) {
	f.schedule(taskFor("a", noon))
	lease := f.claimOne(noon).Lease
	f.commitAt(after(time.Minute-1), under(lease))
	before := f.everything()
	f.conflicts("the instant it lapses", after(time.Minute), func(b *store.Batch) {
		b.Lease = &lease
		b.Finish("a")
		b.SetMark("m", time.Time{})
	})
	f.same("after that", f.everything(), before)
}

func takenOverCommitsNothing(f *fixture) {
	f.schedule(taskFor("a", noon))
	old := f.claimOne(noon).Lease
	young := f.claimOne(after(time.Minute)).Lease
	f.conflicts("the old lease, by a clock that is behind", noon, under(old))
	f.conflicts("the old lease", after(time.Minute), under(old))
	f.commitAt(after(time.Minute), under(young))
}

func heldCommits(f *fixture) {
	f.schedule(taskFor("a", noon))
	lease := f.claimOne(noon).Lease
	for range 3 {
		f.commit(under(lease))
	}
	f.commit(func(b *store.Batch) {
		b.Lease = &lease
		b.Finish("a")
	})
	f.noTask("a")
	f.conflicts("once its task is done", noon, under(lease))
}

func tokensGrow(f *fixture) {
	f.schedule(taskFor("a", noon), taskFor("b", noon))
	last := int64(0)
	for i := range 4 {
		for _, c := range f.claim(after(time.Duration(i) * time.Minute)) {
			if c.Lease.Token <= last {
				f.t.Errorf("token %d came after %d", c.Lease.Token, last)
			}
			last = c.Lease.Token
		}
	}
}

func earlierTask(f *fixture) {
	f.schedule(taskFor("a", noon))
	old := f.claimOne(noon).Lease
	f.commit(func(b *store.Batch) { b.Finish("a") })
	f.schedule(taskFor("a", noon))
	f.conflicts("before the new one is claimed", noon, under(old))
	young := f.claimOne(noon).Lease
	f.conflicts("after it", noon, under(old))
	f.commit(under(young))
	if young.Token <= old.Token {
		f.t.Errorf("token %d came after %d", young.Token, old.Token)
	}
}

func (f *fixture) renew(now time.Time, leases ...store.Lease) []store.Lease {
	f.t.Helper()
	held, err := f.s.Renew(f.ctx, leases, time.Minute, now)
	f.check(err)
	return held
}

func renewed(f *fixture) {
	f.schedule(taskFor("a", noon))
	lease := f.claimOne(noon).Lease
	f.same("renewed", f.renew(after(30*time.Second), lease), []store.Lease{lease})
	f.same("claimed when the first lease ends", ids(f.claim(after(time.Minute))), []string(nil))
	f.commitAt(after(89*time.Second), under(lease))
	f.conflicts("when the second ends", after(90*time.Second), under(lease))
	f.claimOne(after(90 * time.Second))
}

func lostNotRenewed(f *fixture) {
	f.schedule(taskFor("a", noon), taskFor("b", noon), taskFor("c", noon), taskFor("d", noon))
	var leases []store.Lease
	for _, c := range f.claim(noon) {
		leases = append(leases, c.Lease)
	}
	f.commit(func(b *store.Batch) { b.Finish("b") })
	f.check(f.s.Release(f.ctx, leases[2:3], noon))
	f.same("held", f.renew(noon, leases...), []store.Lease{leases[0], leases[3]})
	f.same("held, asked the other way round", f.renew(noon, leases[3], leases[2], leases[0]), []store.Lease{leases[3], leases[0]})
	f.same("lapsed", f.renew(after(time.Minute), leases...), []store.Lease(nil))
	young := f.claim(after(time.Minute))
	f.same("taken over", f.renew(after(time.Minute), leases...), []store.Lease(nil))
	f.same("of those who took over", len(f.renew(after(time.Minute), young[0].Lease, young[1].Lease, young[2].Lease)), 3)
}

func released(f *fixture) {
	f.schedule(taskFor("a", noon))
	lease := f.claimOne(noon).Lease
	f.check(f.s.Release(f.ctx, []store.Lease{lease}, noon))
	f.conflicts("given back", noon, under(lease))
	f.claimOne(noon)
}

func releasedLate(f *fixture) {
	f.schedule(taskFor("a", noon))
	old := f.claimOne(noon).Lease
	young := f.claimOne(after(time.Minute)).Lease
	f.check(f.s.Release(f.ctx, []store.Lease{old, {Task: "never there", Token: 1}}, after(time.Minute)))
	f.same("claimed", ids(f.claim(after(time.Minute))), []string(nil))
	f.commitAt(after(time.Minute), under(young))
}

func voided(f *fixture) {
	f.schedule(taskFor("a", noon), taskFor("b", noon))
	claims := f.claim(noon)
	f.check(f.s.VoidLeases(f.ctx))
	for _, c := range claims {
		f.conflicts("voided", noon, under(c.Lease))
	}
	f.same("claimed again", ids(f.claim(noon)), []string{"a", "b"})
}

func ownStoreEnds(f *fixture) {
	f.schedule(taskFor("a", noon))
	lease := f.claimOne(noon).Lease
	f.commit(func(b *store.Batch) {
		b.Lease = &lease
		b.Schedule(taskFor("a", after(time.Second)))
	})
	f.conflicts("after that", noon, under(lease))
	f.same("not due yet", ids(f.claim(noon)), []string(nil))
	f.same("due, though the lease would still run", f.claimOne(after(time.Second)).Task, taskFor("a", after(time.Second)))
}

func otherTasksKeep(f *fixture) {
	f.schedule(taskFor("a", noon), taskFor("b", after(time.Hour)))
	lease := f.claimOne(noon).Lease
	f.commit(func(b *store.Batch) {
		b.Lease = &lease
		b.Schedule(taskFor("c", after(time.Hour)))
		b.Finish("b")
	})
	f.commit(under(lease))
	f.same("claimed", ids(f.claim(noon)), []string(nil))
}

func movedStaysHeld(f *fixture) {
	f.schedule(taskFor("a", noon))
	lease := f.claimOne(noon).Lease
	f.schedule(taskFor("a", after(-time.Hour)))
	f.same("claimed by another", ids(f.claim(noon)), []string(nil))
	f.commit(under(lease))
	f.same("renewed", f.renew(noon, lease), []store.Lease{lease})
	f.same("task", f.task("a"), taskFor("a", after(-time.Hour)))
}

// A sensor write requests an evaluation while one is under way that did not see it.
func finishLeavesMoved(f *fixture) {
	f.schedule(taskFor("a", noon))
	lease := f.claimOne(noon).Lease
	f.schedule(taskFor("a", after(time.Second)))
	f.commit(func(b *store.Batch) {
		b.Lease = &lease
		b.Finish("a")
	})
	f.conflicts("the lease has ended", noon, under(lease))
	f.same("the task is there", f.task("a"), taskFor("a", after(time.Second)))
	next := f.claimOne(after(time.Second)).Lease
	f.commit(func(b *store.Batch) {
		b.Lease = &next
		b.Finish("a")
	})
	f.noTask("a")
}

func storeLeavesSooner(f *fixture) {
	const mine, theirs = store.Advance, store.Fire
	for name, c := range map[string]struct {
		mine, theirs time.Duration
		want         store.TaskKind
	}{
		"theirs is sooner": {time.Hour, time.Second, theirs},
		"mine is sooner":   {time.Second, time.Hour, mine},
		"both at once":     {time.Second, time.Second, theirs},
	} {
		task := taskFor(name, noon)
		f.schedule(task)
		lease := f.claimOne(noon).Lease
		task.Kind, task.Due = theirs, after(c.theirs)
		f.schedule(task)
		task.Kind, task.Due = mine, after(c.mine)
		f.commit(func(b *store.Batch) {
			b.Lease = &lease
			b.Schedule(task)
		})
		task.Kind, task.Due = c.want, after(min(c.mine, c.theirs))
		f.same(name, f.task(name), task)
		f.conflicts(name+": the lease has ended", noon, under(lease))
		f.commit(func(b *store.Batch) { b.Finish(name) })
	}
}

func movedBeforeClaim(f *fixture) {
	f.schedule(taskFor("a", noon))
	f.claimOne(noon)
	f.schedule(taskFor("a", after(time.Second)))
	second := f.claimOne(after(time.Minute)).Lease
	f.commitAt(after(time.Minute), func(b *store.Batch) {
		b.Lease = &second
		b.Finish("a")
	})
	f.noTask("a")
}

func finishedByAnother(f *fixture) {
	f.schedule(taskFor("a", noon))
	lease := f.claimOne(noon).Lease
	f.commit(func(b *store.Batch) { b.Finish("a") })
	f.noTask("a")
	f.conflicts("its holder", noon, func(b *store.Batch) {
		b.Lease = &lease
		b.Schedule(taskFor("a", after(time.Minute)))
	})
	f.noTask("a")
}
