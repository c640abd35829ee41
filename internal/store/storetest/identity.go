package storetest

import (
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

var identityClaims = []claim{
	{"SameBatchAgainChangesNothing", sameBatchAgain},
	{"SameBatchAgainAfterOtherChanges", sameBatchAfterOthers},
	{"SameIDIsTheSameBatch", sameID},
	{"SameIDUnderAnotherLeaseIsAnother", sameIDOtherLease},
	{"SentAgainUnderALapsedLeaseItWasTaken", sentAgainUnderLapsedLease},
	{"ItIsRecognisedForAnHour", recognisedForAnHour},
}

func told3() []event.Event {
	return []event.Event{newEvent(orders, "one", noon), newEvent(orders, "two", noon), newEvent(orders, "three", noon)}
}

func sameBatchAgain(f *fixture) {
	f.schedule(taskFor("c", noon))
	b := f.batch()
	full(&b)
	f.check(f.s.Commit(f.ctx, b, noon))
	before := f.everything()
	f.check(f.s.Commit(f.ctx, b, after(time.Minute)))
	f.same("after the second time", f.everything(), before)
}

func sameBatchAfterOthers(f *fixture) {
	f.schedule(taskFor("c", noon))
	b := f.batch()
	full(&b)
	f.check(f.s.Commit(f.ctx, b, noon))
	f.commit(func(b *store.Batch) {
		b.Swap(opened(orders), turned(opened(orders), run.Running))
		b.Finish("a")
		b.Schedule(taskFor("c", noon))
	})
	before := f.everything()
	f.check(f.s.Commit(f.ctx, b, after(time.Minute)))
	f.same("after the second time", f.everything(), before)
}

// The content of a Batch is not compared: its id identifies the decision.
func sameID(f *fixture) {
	f.check(f.s.Commit(f.ctx, store.Batch{ID: "x", Marks: []store.Mark{{ID: "m"}}}, noon))
	before := f.everything()
	f.check(f.s.Commit(f.ctx, store.Batch{ID: "x", Marks: []store.Mark{{ID: "n"}}}, noon))
	f.same("after another with its id", f.everything(), before)
}

// Two workers decide on the same version, the second after it took over the task of the first. If
// the second were told that its commit succeeded, both would start the job.
func sameIDOtherLease(f *fixture) {
	f.create(opened(orders))
	f.schedule(taskFor("a", noon))
	slow := f.claimOne(noon).Lease
	start := func(lease store.Lease) store.Batch {
		b := store.Batch{ID: "advance/v1", Lease: &lease}
		b.Swap(opened(orders), turned(opened(orders), run.Triggering))
		return b
	}
	f.check(f.s.Commit(f.ctx, start(slow), after(59*time.Second)))
	quick := f.claimOne(after(time.Minute)).Lease
	f.wantErr("second worker", f.s.Commit(f.ctx, start(quick), after(time.Minute)), store.ErrConflict)
	f.check(f.s.Commit(f.ctx, start(slow), after(time.Minute)))
	f.same("version", f.run(orders).Version, int64(2))
}

func sentAgainUnderLapsedLease(f *fixture) {
	f.schedule(taskFor("a", noon))
	lease := f.claimOne(noon).Lease
	b := f.batch()
	b.Lease = &lease
	b.Finish("a")
	b.Emit(told3()...)
	f.check(f.s.Commit(f.ctx, b, noon))
	f.check(f.s.Commit(f.ctx, b, after(time.Hour)))
	f.same("events", len(f.everything().Events), 3)
}

func recognisedForAnHour(f *fixture) {
	b := f.batch()
	b.SetMark("m", time.Time{})
	f.check(f.s.Commit(f.ctx, b, noon))
	now := after(store.CommitLife)
	f.trimAll(store.Retention{}, now)
	f.check(f.s.Commit(f.ctx, b, now))
}
