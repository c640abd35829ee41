package rowtest

import (
	"time"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

var eventClaims = []claim{
	{"EventIsARow", eventIsARow},
	{"AppendedInTheOrderOfCommits", eventsInOrder},
	{"SameIDIsTheSameEvent", sameEvent},
	{"ListedByPartition", eventsByPart},
	{"ListedByType", eventsByType},
	{"ListedByAge", eventsByAge},
	{"DropForgetsTheID", dropForgetsID},
	{"PositionsAreNotUsedAgain", positionsNotUsedAgain},
}

// emit applies a transaction that has nothing but events.
func (f *fixture) emit(events ...row.Event) {
	f.t.Helper()
	f.check(f.e.Apply(f.ctx, row.Tx{Events: events}, noon))
}

func eventIsARow(f *fixture) {
	f.emit(event("orders", "one"))
	got := f.events("")[0]
	if n := len(got.Key); n != row.Width {
		f.t.Errorf("key %q has %d digits", got.Key, n)
	}
	same(f, "row", seen{got.Ref, got.Version, string(got.Body), got.Places[row.Ordered]}, seen{
		row.Ref{Kind: row.Events, Part: "orders", Key: got.Key}, 1, eventBody("one"), row.Place{List: "events", Key: got.Key},
	})
	f.is("row", got)
	same(f, "by key", f.keys(row.Range{Kind: row.Events, Part: "orders"}), []string{got.Key})
	typed := f.all(row.Range{Kind: row.Events, Index: row.Pending, List: "events:job"})
	same(f, "by type", typed[0].Places[row.Pending], row.Place{List: "events:job", Key: got.Key})
	aging := f.all(row.Range{Kind: row.Events, Index: row.Aging, List: "events"})
	same(f, "by age", aging[0].Places[row.Aging], row.Place{List: "events", Key: store.Nanos(noon) + "#" + got.Key})
}

func eventsInOrder(f *fixture) {
	f.emit(event("silver", "one"), event("orders", "two"))
	f.apply(put(at(ref("orders", "a"), 1), 0))
	f.emit(event("", "three"))
	f.emit(event("orders", "four"), event("silver", "five"))
	all := f.events("")
	want := []string{eventBody("one"), eventBody("two"), eventBody("three"), eventBody("four"), eventBody("five")}
	same(f, "events", bodies(all), want)
	for i, e := range all[1:] {
		if e.Key <= all[i].Key {
			f.t.Errorf("position %s came after %s", e.Key, all[i].Key)
		}
	}
	after := row.Range{Kind: row.Events, List: "events", From: all[2].Key + "\x00", Limit: 1}
	same(f, "a page after the third", bodies(f.page(after).Rows), want[3:4])
	before := row.Range{Kind: row.Events, List: "events", To: all[2].Key, Backwards: true}
	same(f, "backwards", bodies(f.all(before)), []string{want[1], want[0]})
}

func sameEvent(f *fixture) {
	f.emit(event("orders", "one"))
	other := event("silver", "one")
	other.Body = []byte(`{"other":true}`)
	f.emit(other, event("orders", "two"), event("orders", "two"))
	f.emit(event("orders", "two"), event("orders", "three"), other)
	same(f, "events", bodies(f.events("")), []string{eventBody("one"), eventBody("two"), eventBody("three")})
	same(f, "silver", len(f.events("silver")), 0)
}

func eventsByPart(f *fixture) {
	f.emit(event("orders", "one"), event("", "two"), event("silver", "three"), event("orders", "four"))
	same(f, "orders", bodies(f.events("orders")), []string{eventBody("one"), eventBody("four")})
	same(f, "silver", bodies(f.events("silver")), []string{eventBody("three")})
	same(f, "all", len(f.events("")), 4)
	same(f, "none", bodies(f.all(row.Range{Kind: row.Events})), []string{eventBody("two")})
	backwards := f.all(row.Range{Kind: row.Events, Part: "orders", Backwards: true})
	same(f, "orders by key", bodies(backwards), []string{eventBody("four"), eventBody("one")})
}

func eventsByType(f *fixture) {
	late := event("orders", "two")
	late.Type = "late"
	other := event("silver", "three")
	other.Type = "late"
	f.emit(event("orders", "one"), late, other, event("orders", "four"))
	typed := func(part, name string) []string {
		return bodies(f.all(row.Range{Kind: row.Events, Part: part, Index: row.Pending, List: "events:" + name}))
	}
	same(f, "jobs", typed("", "job"), []string{eventBody("one"), eventBody("four")})
	same(f, "late", typed("", "late"), []string{eventBody("two"), eventBody("three")})
	same(f, "late ones of silver", typed("silver", "late"), []string{eventBody("three")})
	same(f, "of another type", typed("", "la"), nil)
}

func eventsByAge(f *fixture) {
	old := event("orders", "two")
	old.At = noon.Add(-time.Hour)
	f.emit(event("silver", "one"), old, event("orders", "three"))
	aging := row.Range{Kind: row.Events, Index: row.Aging, List: "events"}
	same(f, "all", bodies(f.all(aging)), []string{eventBody("two"), eventBody("one"), eventBody("three")})
	aging.To = store.Nanos(noon)
	same(f, "old ones", bodies(f.all(aging)), []string{eventBody("two")})
}

func dropForgetsID(f *fixture) {
	f.emit(event("orders", "one"), event("orders", "two"))
	before := f.events("")
	f.drop(1, before[0])
	f.emit(event("orders", "two"), event("orders", "one"))
	after := f.events("")
	same(f, "events", bodies(after), []string{eventBody("two"), eventBody("one")})
	same(f, "lists", len(f.all(row.Range{Kind: row.Events, Index: row.Pending, List: "events:job"})), 2)
	f.isMissing("dropped", before[0].Ref)
}

func positionsNotUsedAgain(f *fixture) {
	f.emit(event("orders", "one"), event("orders", "two"))
	before := f.events("")
	f.drop(2, before...)
	same(f, "events", len(f.events("")), 0)
	f.emit(event("orders", "three"))
	if got := f.events("")[0].Key; got <= before[1].Key {
		f.t.Errorf("position %s came after %s", got, before[1].Key)
	}
}
