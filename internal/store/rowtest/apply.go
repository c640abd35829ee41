package rowtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

var applyClaims = []claim{
	{"PutCreatesAndReplaces", putCreates},
	{"DeleteDeletes", deleteDeletes},
	{"CheckChangesNothing", checkChangesNothing},
	{"RowsComeInTheOrderOfRefs", rowsInOrder},
	{"VersionMustMatch", versionMustMatch},
	{"AnyHoldsAlways", anyHolds},
	{"FirstLeavesARowThatExists", firstLeaves},
	{"NeverIsAConflict", neverHolds},
	{"ConflictNamesTheFirstOp", conflictNamesFirst},
	{"ConflictChangesNothing", conflictChangesNothing},
	{"AllOpsHappen", allOpsHappen},
	{"EventsNeedNoOps", eventsNeedNoOps},
	{"KeysHoldAnything", keysHoldAnything},
	{"BodiesAreKeptByteByByte", bodiesAreKept},
	{"AllPartsAreVisibleAtOnce", allVisible},
	{"EveryKindOfRecordIsKept", everyKind},
}

func putCreates(f *fixture) {
	a := ref("orders", "a")
	f.apply(put(at(a, 1), 0))
	f.is("created", at(a, 1))
	f.apply(put(at(a, 2), 1))
	f.is("replaced", at(a, 2))
	f.apply(put(at(a, 7), 2))
	f.is("replaced by a version further on", at(a, 7))
	f.isMissing("other rows", ref("silver", "a"), ref("orders", "b"), row.Ref{Kind: "mark", Key: "a"})
}

func deleteDeletes(f *fixture) {
	a := ref("orders", "a")
	f.apply(put(at(a, 3), 0))
	f.apply(del(a, 3))
	f.isMissing("deleted", a)
	same(f, "by key", f.keys(row.Range{Kind: kind, Part: "orders"}), nil)
	f.apply(put(at(a, 1), 0))
	f.is("created again", at(a, 1))
}

func checkChangesNothing(f *fixture) {
	a := ref("orders", "a")
	f.apply(put(at(a, 3), 0))
	f.apply(check(a, 3), check(ref("orders", "b"), 0))
	f.is("checked", at(a, 3))
	f.isMissing("checked", ref("orders", "b"))
}

func rowsInOrder(f *fixture) {
	a, b, c := ref("orders", "a"), ref("silver", "b"), ref("orders", "c")
	f.apply(put(at(a, 1), 0), put(at(b, 2), 0))
	want := []seen{{b, 2, string(at(b, 2).Body), row.Place{}}, {}, {a, 1, string(at(a, 1).Body), row.Place{}}}
	same(f, "rows", f.get(b, c, a), want)
	same(f, "no rows", f.get(), nil)
}

func versionMustMatch(f *fixture) {
	a, missing := ref("orders", "a"), ref("orders", "missing")
	f.apply(put(at(a, 5), 0))
	for name, op := range map[string]row.Op{
		"put at an older version":       put(at(a, 9), 4),
		"put at a newer version":        put(at(a, 9), 6),
		"create what exists":            put(at(a, 9), 0),
		"replace what does not exist":   put(at(missing, 9), 5),
		"delete at an older version":    del(a, 4),
		"delete what does not exist":    del(missing, 1),
		"delete what must not exist":    del(a, 0),
		"check an older version":        check(a, 4),
		"check that a row is not there": check(a, 0),
		"check what does not exist":     check(missing, 5),
	} {
		f.conflicts(name, row.Tx{Ops: []row.Op{op}}, 0)
	}
	f.is("row", at(a, 5))
	f.isMissing("row", missing)
}

func anyHolds(f *fixture) {
	a, missing := ref("orders", "a"), ref("orders", "missing")
	f.apply(put(at(a, 5), row.Any))
	f.apply(check(a, row.Any), check(missing, row.Any))
	f.apply(put(at(a, 3), row.Any))
	f.is("replaced", at(a, 3))
	f.apply(del(missing, row.Any), del(a, row.Any))
	f.isMissing("deleted", a, missing)
}

func firstLeaves(f *fixture) {
	a, b := ref("orders", "a"), ref("orders", "b")
	first := placed(at(a, 1), row.Ordered, "l", "1")
	f.apply(put(first, row.First))
	f.apply(put(placed(at(a, 2), row.Ordered, "l", "2"), row.First), put(at(b, 2), row.First))
	f.is("the first", first)
	f.is("beside it", at(b, 2))
	same(f, "place of the first", f.all(row.Range{Kind: kind, List: "l"})[0].Places[row.Ordered].Key, "1")
}

func neverHolds(f *fixture) {
	a := ref("orders", "a")
	never := row.Op{Do: row.Check, If: row.Never, Row: row.Row{Ref: ref("orders", "x")}}
	tx := row.Tx{ID: "x", Ops: []row.Op{put(at(a, 1), row.Any), never}}
	f.conflicts("never", tx, 1)
	f.isMissing("row", a)
	f.check(f.e.Apply(f.ctx, row.Tx{ID: "x", Ops: []row.Op{put(at(a, 1), 0)}}, noon))
	f.check(f.e.Apply(f.ctx, tx, noon))
	f.is("row", at(a, 1))
}

func conflictNamesFirst(f *fixture) {
	a, b, c := ref("orders", "a"), ref("silver", "b"), ref("orders", "c")
	f.apply(put(at(a, 1), 0), put(at(b, 1), 0))
	f.conflicts("second and third", row.Tx{Ops: []row.Op{put(at(a, 2), 1), put(at(b, 2), 0), check(c, 1)}}, 1)
	f.conflicts("third", row.Tx{ID: "x", Ops: []row.Op{put(at(a, 2), 1), check(b, 1), del(c, 1)}}, 2)
}

func conflictChangesNothing(f *fixture) {
	a, b := ref("orders", "a"), ref("silver", "b")
	f.apply(put(placed(at(a, 1), row.Ordered, "l", "1"), 0), put(placed(at(b, 1), row.Pending, "m", "1"), 0))
	f.conflicts("with much before and after", row.Tx{ID: "x", Events: []row.Event{event("orders", "e")}, Ops: []row.Op{
		changing(put(placed(at(a, 2), row.Ordered, "l", "2"), 1), "change"),
		del(b, 1),
		put(placed(at(ref("orders", "c"), 1), row.Aging, "l", "3"), 0),
		check(ref("orders", "d"), 1),
		put(placed(at(ref("orders", "e"), 1), row.Ordered, "l", "4"), 0),
	}}, 3)
	f.is("replaced", at(a, 1))
	f.is("deleted", at(b, 1))
	f.isMissing("created", ref("orders", "c"), ref("orders", "e"))
	f.listed(row.Ordered, "l", "a")
	f.listed(row.Pending, "m", "b")
	f.listed(row.Aging, "l")
	same(f, "by key", f.keys(row.Range{Kind: kind, Part: "orders"}), []string{"a"})
	same(f, "events", len(f.events("")), 0)
	same(f, "changes", f.backlog("router"), 0)
}

func allOpsHappen(f *fixture) {
	n := 50
	if f.o.MaxOps > 0 {
		n = min(n, f.o.MaxOps)
	}
	var created, next []row.Op
	for i := range n {
		r := ref("orders", fmt.Sprintf("%03d", i))
		created = append(created, put(placed(at(r, 1), row.Ordered, "l", r.Key), 0))
		if next = append(next, put(at(r, 2), 1)); i%2 == 0 {
			next[i] = del(r, 1)
		}
	}
	f.apply(created...)
	same(f, "created", len(f.all(row.Range{Kind: kind, List: "l"})), n)
	f.apply(next...)
	same(f, "left", len(f.all(row.Range{Kind: kind, Part: "orders"})), n/2)
	same(f, "listed", len(f.all(row.Range{Kind: kind, List: "l"})), 0)
}

func eventsNeedNoOps(f *fixture) {
	f.check(f.e.Apply(f.ctx, row.Tx{ID: "x", Events: []row.Event{event("orders", "e")}}, noon))
	same(f, "events", bodies(f.events("")), []string{eventBody("e")})
	f.check(f.e.Apply(f.ctx, row.Tx{ID: "y"}, noon))
}

// texts are in the order of their bytes, which is not that of an alphabet or of UTF-16.
var texts = []string{
	" ", "!#", "#", "%", "*", "-", "/", "0", "10", "2", "A", "B", "[a]", "a", "a b", "a#", "a#b", "a-", "a-b", "a/", "a/b",
	"aa", "a{b}", "a|", "b", "{", "~", "é", "日本", "～", "😀", "😀#",
}

func keysHoldAnything(f *fixture) {
	part := "part with / and # and é"
	for i := len(texts) - 1; i >= 0; i-- {
		f.apply(put(placed(at(ref(part, texts[i]), 1), row.Ordered, "a list: é", texts[i]), 0))
	}
	for _, text := range texts {
		f.is(text, at(ref(part, text), 1))
	}
	same(f, "by key", f.keys(row.Range{Kind: kind, Part: part}), texts)
	same(f, "by place", f.keys(row.Range{Kind: kind, Part: part, List: "a list: é"}), texts)
	same(f, "by place, backwards", len(f.all(row.Range{Kind: kind, List: "a list: é", Backwards: true})), len(texts))
	f.apply(del(ref(part, "a#b"), 1))
	f.is("beside what was deleted", at(ref(part, "a#"), 1))
}

func bodiesAreKept(f *fixture) {
	a, b := at(ref("orders", "a"), 1), at(ref("orders", strings.Repeat("long/", 150)), 1)
	a.Body = []byte(`{ "z": 1.0, "a": "é😀 \u0000 \" <&>", "n": null, "n2": 12345678901234567890 }`)
	b.Body = []byte(`{"x":"` + strings.Repeat("0123456789", 10_000) + `"}`)
	f.apply(put(a, 0), put(b, 0))
	f.is("spaces and signs", a)
	f.is("long", b)
}

func allVisible(f *fixture) {
	a := ref("orders", "a")
	tx := row.Tx{ID: "x", Events: []row.Event{event("orders", "e")}, Ops: []row.Op{
		changing(put(placed(at(a, 1), row.Ordered, "l", "1"), 0), "change"),
	}}
	f.check(f.e.Apply(f.ctx, tx, noon))
	f.is("put", at(a, 1))
	f.listed(row.Ordered, "l", "a")
	same(f, "events", bodies(f.events("")), []string{eventBody("e")})
	f.conflicts("create again", row.Tx{Ops: []row.Op{put(at(a, 1), 0)}}, 0)
	f.check(f.e.Apply(f.ctx, tx, noon))
	same(f, "changes", changed(f.receive("router", 10)), []string{"change"})
}

// everyKind puts a row of each kind that package record uses, with the keys that it has and in the
// indexes that it is listed in. An engine need not list it in others.
func everyKind(f *fixture) {
	const digits, period = "1772539200123456789", "2026030300000000000"
	ordered, pending, aging := []row.Index{row.Ordered}, []row.Index{row.Ordered, row.Pending}, []row.Index{row.Aging}
	for _, of := range []struct {
		kind      row.Kind
		part, key string
		indexes   []row.Index
		unkeyed   bool // package record never scans it by key, and an engine need not
	}{
		{"pipeline", "orders", "state", ordered, false},
		{"config", "orders", "sha256:0123", nil, false},
		{"run", "orders", "cron/2026-03-03", pending, false},
		{"dry", "orders", "cron/2026-03-03", []row.Index{row.Pending, row.Aging}, false},
		{"deadline", "orders", "cron/2026-03-03/absolute", pending, false},
		{"baseline", "orders", "cron/2026-03-03", nil, false},
		{"runlog", "orders", "cron/2026-03-03/1/started/1", aging, false},
		{"rerun", "orders", "cron/2026-03-03/" + strings.Repeat("id ", 60), aging, false},
		{"snapshot", "", "0123456789abcdef", aging, true},
		{"mark", "", "late/orders#cron/2026-03-03", aging, true},
		{"note", "thread/slack", "orders cron 2026-03-03", aging, false},
		{"task", "", "advance/orders/cron", []row.Index{row.Ordered, row.Pending, row.Aging}, true},
		{"dead", "hook", "event/1", ordered, false},
		{"cursor", "", "sinks", nil, false},
		{"sensor", "orders", "rows#" + period, nil, false},
		{"sensors", "orders", "rows", nil, false},
		{"history", "orders", "rows#" + digits, aging, false},
	} {
		r, name := row.Row{Ref: row.Ref{Kind: of.kind, Part: of.part, Key: of.key}}, string(of.kind)
		switch of.kind {
		case row.Tasks:
			r.Tag, r.Lock = "orders", row.Lock{Name: "orders", Holder: "me"}
		case "mark":
			r.Expires = noon.AddDate(100, 0, 0)
		}
		for _, i := range of.indexes {
			r.Places[i] = row.Place{List: "all", Key: digits + "#" + r.Part + "#" + r.Key}
		}
		r.Version, r.Body = 1, at(r.Ref, 1).Body
		f.apply(put(r, 0))
		r.Version, r.Body = 2, at(r.Ref, 2).Body
		f.apply(put(r, 1))
		f.is(name, r)
		if !of.unkeyed {
			same(f, name+" by key", f.keys(row.Range{Kind: r.Kind, Part: r.Part}), []string{r.Key})
		}
		for _, i := range of.indexes {
			same(f, name+" by place", f.keys(row.Range{Kind: r.Kind, Index: i, List: "all"}), []string{r.Key})
		}
		f.apply(del(r.Ref, 2))
		f.isMissing(name, r.Ref)
		for _, i := range of.indexes {
			same(f, name+" by place", f.keys(row.Range{Kind: r.Kind, Index: i, List: "all"}), nil)
		}
	}
}

var idClaims = []claim{
	{"AppliedTwiceIsAppliedOnce", appliedTwice},
	{"AppliedAgainAfterOtherChanges", appliedAgainLater},
	{"SameIDIsTheSameTransaction", sameID},
	{"ConflictsAreNotRemembered", conflictsForgotten},
	{"WithoutIDItIsAppliedAgain", withoutID},
	{"ItIsRecognisedForAnHour", recognisedForAnHour},
}

// full has something of everything.
func full(id string) row.Tx {
	a, b := ref("orders", "a"), ref("orders", "b")
	return row.Tx{ID: id, Events: []row.Event{event("orders", id+"/1"), event("", id+"/2")}, Ops: []row.Op{
		changing(put(placed(at(a, 1), row.Ordered, "l", "1"), 0), "a"),
		changing(put(placed(at(b, 1), row.Pending, "m", "2"), 0), "b"),
		check(ref("silver", "c"), 0),
	}}
}

// looks expects what full applies once.
func looksFull(f *fixture, id string) {
	f.t.Helper()
	f.is("first row", at(ref("orders", "a"), 1))
	f.is("second row", at(ref("orders", "b"), 1))
	f.listed(row.Ordered, "l", "a")
	f.listed(row.Pending, "m", "b")
	same(f, "events", bodies(f.events("")), []string{eventBody(id + "/1"), eventBody(id + "/2")})
	same(f, "changes", f.backlog("router"), 2)
}

func appliedTwice(f *fixture) {
	for i := range 3 {
		f.check(f.e.Apply(f.ctx, full("x"), noon.Add(time.Duration(i)*time.Minute)))
		looksFull(f, "x")
	}
}

func appliedAgainLater(f *fixture) {
	f.check(f.e.Apply(f.ctx, full("x"), noon))
	a, b := ref("orders", "a"), ref("orders", "b")
	f.apply(put(at(a, 2), 1), del(b, 1), put(at(ref("silver", "c"), 1), 0))
	f.check(f.e.Apply(f.ctx, full("x"), noon.Add(time.Minute)))
	f.is("replaced since", at(a, 2))
	f.isMissing("deleted since", b)
}

func sameID(f *fixture) {
	f.check(f.e.Apply(f.ctx, full("x"), noon))
	other := row.Tx{ID: "x", Events: []row.Event{event("orders", "other")}, Ops: []row.Op{
		changing(put(at(ref("orders", "other"), 1), 0), "other"),
	}}
	f.check(f.e.Apply(f.ctx, other, noon))
	f.isMissing("row of another with the same ID", ref("orders", "other"))
	looksFull(f, "x")
}

func conflictsForgotten(f *fixture) {
	c := ref("silver", "c")
	f.apply(put(at(c, 1), 0))
	for range 2 {
		f.conflicts("too early", full("x"), 2)
	}
	f.apply(del(c, 1))
	f.check(f.e.Apply(f.ctx, full("x"), noon))
	looksFull(f, "x")
}

func withoutID(f *fixture) {
	a := ref("orders", "a")
	for range 3 {
		f.apply(put(at(a, 1), 0))
		f.apply(del(a, 1))
	}
	f.isMissing("deleted each time", a)
}

func recognisedForAnHour(f *fixture) {
	f.check(f.e.Apply(f.ctx, full("x"), noon))
	now := noon.Add(store.CommitLife)
	f.trim(now)
	f.check(f.e.Apply(f.ctx, full("x"), now))
	looksFull(f, "x")
}

// trim trims until there is nothing left to forget.
func (f *fixture) trim(now time.Time) {
	f.t.Helper()
	for {
		n, err := f.e.Trim(f.ctx, now, 2)
		f.check(err)
		if n == 0 {
			return
		}
		if n > 2 {
			f.t.Fatalf("forgot %d records, want 2 at most", n)
		}
	}
}
