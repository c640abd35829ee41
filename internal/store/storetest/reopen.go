package storetest

import (
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

var reopenClaims = []claim{
	{"EverythingSurvives", everythingSurvives},
	{"TakenBatchIsStillRecognised", recognisedAfterReopen},
	{"LeasesSurvive", leasesSurvive},
	{"CountersGoOn", countersGoOn},
	{"ChangesThatWereNotDoneComeAgain", undoneComeAgain},
}

func everythingSurvives(f *fixture) {
	f.schedule(taskFor("c", noon), taskFor("d", after(time.Hour)))
	f.commit(full)
	f.commit(func(b *store.Batch) {
		b.Swap(run.Run{}, dried(opened(keyOf("silver", "2026-03-03"))))
		b.SwapPipeline(store.Pipeline{}, store.Pipeline{ID: "silver", Slots: []run.AttemptID{"x"}})
		b.SwapDeadline(store.Deadline{}, armed(orders, store.Absolute, after(time.Hour)))
		b.SwapPostRun(store.PostRun{}, store.PostRun{Key: orders})
		b.Dead = append(b.Dead, store.DeadLetter{Sink: "hook", Event: newEvent(orders, "dead", noon), At: noon})
		b.SwapNote(store.Note{}, note(store.SilenceNote, "a", "quiet"))
	})
	f.put(noon, write("", 1), write("2026-03-03", 2), write("2026-03-03", 3))
	f.check(f.s.SetCursor(f.ctx, "everything", 7))
	before := f.everything()
	f.reopen()
	f.same("after reopening", f.everything(), before)
	f.reopen()
	f.same("after reopening again", f.everything(), before)
}

func recognisedAfterReopen(f *fixture) {
	f.schedule(taskFor("c", noon))
	b := f.batch()
	full(&b)
	f.check(f.s.Commit(f.ctx, b, noon))
	before := f.everything()
	f.reopen()
	f.check(f.s.Commit(f.ctx, b, noon))
	f.same("after the second time", f.everything(), before)
}

func leasesSurvive(f *fixture) {
	f.schedule(taskFor("a", noon), taskFor("b", noon))
	claims := f.claim(noon)
	f.schedule(taskFor("b", after(time.Second)))
	f.reopen()
	f.same("claimed", ids(f.claim(noon)), []string(nil))
	f.commit(under(claims[0].Lease))
	f.commit(func(b *store.Batch) {
		b.Lease = &claims[1].Lease
		b.Finish("b")
	})
	f.same("what others asked for", f.task("b"), taskFor("b", after(time.Second)))
	f.conflicts("lapsed", after(time.Minute), under(claims[0].Lease))
}

func countersGoOn(f *fixture) {
	f.schedule(taskFor("a", noon))
	token := f.claimOne(noon).Lease.Token
	version := f.put(noon, ordered(write("", 1), 5))[0].Version
	f.emit(newEvent(orders, "one", noon))
	position := f.everything().Events[0].Position
	change := f.receive("router", 1)[0]
	f.done("router", change)
	f.commit(func(b *store.Batch) { b.Finish("a") })
	f.trimAll(keepADay, after(100*keepDay))
	f.reopen()
	f.schedule(taskFor("a", noon))
	f.emit(newEvent(orders, "one", noon))
	for what, pair := range map[string][2]int64{
		"token":    {token, f.claimOne(noon).Lease.Token},
		"version":  {version, f.put(noon, write("", 2))[0].Version},
		"position": {int64(position), int64(f.everything().Events[0].Position)},
		"change":   {int64(change.Position), int64(f.receive("router", 1)[0].Position)},
	} {
		if pair[1] <= pair[0] {
			f.t.Errorf("%s %d came after %d", what, pair[1], pair[0])
		}
	}
	f.same("order", f.put(noon, ordered(write("", 3), 5))[0].Ignored, true)
	f.put(noon, once(write("", 4), "event"))
	f.reopen()
	f.same("mark", f.put(noon, once(write("", 4), "event"))[0].Repeated, true)
}

func undoneComeAgain(f *fixture) {
	f.put(noon, write("", 1), write("", 2), write("", 3))
	got := f.receive("router", 10)
	f.done("router", got[0])
	f.done("router", got[2])
	f.reopen()
	again := f.receiveAs("router", "another", 10)
	f.same("the first of them", again[0], got[1])
	f.done("router", again...)
	f.same("backlog", f.backlog("router"), 0)
	f.nothing("router", "one")
}
