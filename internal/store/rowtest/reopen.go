package rowtest

import (
	"fmt"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

var reopenClaims = []claim{
	{"RowsAndPlacesSurvive", rowsSurvive},
	{"EventsSurvive", eventsSurvive},
	{"AppliedIDIsStillRecognised", recognisedAfterReopen},
	{"NumbersGoOn", numbersGoOn},
	{"ProcessHasAnotherName", anotherName},
}

func rowsSurvive(f *fixture) {
	fill(f)
	f.apply(del(ref("orders", "a"), 1), put(placed(at(ref("orders", "b"), 2), row.Ordered, "m", "1"), 1))
	f.drop(1, at(ref("orders", "c"), 1))
	f.apply(put(at(ref("orders", "last"), 1), 0))
	lists := func() (all []string) {
		for _, r := range append(ranges(), row.Range{Kind: kind, List: "m"}) {
			all = append(all, fmt.Sprint(f.keys(r), bodies(f.all(r))))
		}
		return all
	}
	before := lists()
	for range 2 {
		f.reopen()
		same(f, "lists", lists(), before)
		f.is("replaced", at(ref("orders", "b"), 2))
		f.isMissing("deleted", ref("orders", "a"), ref("orders", "c"))
	}
	f.conflicts("create what exists", row.Tx{Ops: []row.Op{put(at(ref("orders", "b"), 1), 0)}}, 0)
	f.apply(put(at(ref("orders", "b"), 3), 2))
}

func eventsSurvive(f *fixture) {
	f.emit(event("orders", "one"), event("silver", "two"), event("orders", "three"))
	last := f.events("")[2]
	f.drop(1, last)
	f.reopen()
	f.emit(event("orders", "one"), event("orders", "three"), event("orders", "four"))
	got := f.events("")
	same(f, "events", bodies(got), []string{eventBody("one"), eventBody("two"), eventBody("three"), eventBody("four")})
	if len(got) > 2 && got[2].Key <= last.Key {
		f.t.Errorf("position %s came after %s", got[2].Key, last.Key)
	}
}

func recognisedAfterReopen(f *fixture) {
	f.check(f.e.Apply(f.ctx, full("x"), noon))
	f.reopen()
	f.check(f.e.Apply(f.ctx, full("x"), noon.Add(store.CommitLife)))
	looksFull(f, "x")
}

func numbersGoOn(f *fixture) {
	last := int64(0)
	for range 3 {
		first, err := f.e.Next(f.ctx, 5)
		f.check(err)
		if first <= last {
			f.t.Errorf("number %d came after %d", first, last)
		}
		last = first + 4
		f.reopen()
	}
}

func anotherName(f *fixture) {
	before := f.e.Peers().Self
	f.reopen()
	if after := f.e.Peers().Self; after == before {
		f.t.Errorf("two processes are called %q", after)
	}
}

var reopenChangeClaims = []claim{
	{"HeldChangesAreReceivedAgain", heldAgain},
	{"AckedChangesAreNot", ackedNotAgain},
	{"GroupsStay", groupsStay},
	{"PositionsGoOn", positionsGoOn},
}

func heldAgain(f *fixture) {
	f.write("a", "b", "c", "d")
	before := f.receiveAll("router", 3)
	f.ack("router", before[0])
	f.reopen()
	same(f, "backlog", f.backlog("router"), 3)
	again := f.receiveAll("router", 3)
	same(f, "the first of them", again[:2], before[1:])
	same(f, "the last", string(again[2].Body), "d")
	f.ack("router", again...)
	same(f, "backlog", f.backlog("router"), 0)
}

func ackedNotAgain(f *fixture) {
	f.write("a", "b", "c")
	got := f.receiveAll("router", 3)
	f.ack("router", got[1], got[2])
	f.reopen()
	same(f, "received", changed(f.receive("router", 10)), []string{"a"})
	f.ack("router", got[0])
	f.reopen()
	same(f, "backlog", f.backlog("router"), 0)
	f.receivesNothing("router", "one")
}

func groupsStay(f *fixture) {
	f.write("a", "b")
	f.ack("router", f.receiveAll("router", 2)...)
	f.receive("archive", 1)
	f.reopen()
	f.trim(noon)
	same(f, "what archive needs", changed(f.receiveAll("archive", 2)), []string{"a", "b"})
}

func positionsGoOn(f *fixture) {
	f.write("a")
	last := f.receive("router", 1)
	f.ack("router", last...)
	f.trim(noon)
	f.reopen()
	f.write("b")
	if next := f.receive("router", 1); next[0].Position <= last[0].Position {
		f.t.Errorf("position %d came after %d", next[0].Position, last[0].Position)
	}
}
