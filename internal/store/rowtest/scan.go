package rowtest

import (
	"fmt"
	"slices"

	"github.com/interlock-go/interlock/internal/store/row"
)

var scanClaims = []claim{
	{"ByKeyInOnePartition", byKey},
	{"EachIndexHasItsOwnOrder", ownOrder},
	{"ListOfOnePartitionOrOfAll", partOrAll},
	{"ListsAreApart", listsApart},
	{"PagesJoinWithoutGapOrOverlap", pagesJoin},
	{"FromIsIncludedAndToIsNot", bounds},
	{"ExceptLeavesOutTags", exceptTags},
	{"PagesComeInTheOrderOfRanges", pagesInOrder},
	{"NothingIsAnEmptyPage", emptyPage},
}

// letters are the keys of the rows that fill creates.
var letters = []string{"a", "b", "c", "d", "e", "f", "g"}

// fill creates a row per letter in each of two partitions. In Ordered they are in reverse, in
// Pending the second letter of each pair comes first, in Aging they are as they are; rows of orders
// come before those of silver with the same letter.
func fill(f *fixture) {
	f.t.Helper()
	for i, key := range letters {
		for n, part := range []string{"orders", "silver"} {
			r := at(ref(part, key), 1)
			for index, place := range []int{len(letters) - i, i ^ 1, i} {
				r = placed(r, row.Index(index), "l", fmt.Sprintf("%02d#%d", place, n))
			}
			r.Tag = string("xyz"[i%3])
			f.apply(put(r, 0))
		}
	}
}

func byKey(f *fixture) {
	fill(f)
	f.apply(put(at(row.Ref{Kind: "run", Part: "orders", Key: "cron/2026-03-03"}, 1), 0))
	same(f, "orders", f.keys(row.Range{Kind: kind, Part: "orders"}), letters)
	backwards := slices.Clone(letters)
	slices.Reverse(backwards)
	same(f, "silver backwards", f.keys(row.Range{Kind: kind, Part: "silver", Backwards: true}), backwards)
	same(f, "a partition whose name is the beginning of another", f.keys(row.Range{Kind: kind, Part: "order"}), nil)
	one := row.Range{Kind: kind, Part: "silver", From: "c", To: "d"}
	want := at(ref("silver", "c"), 1)
	same(f, "row", sees(f.all(one), one), []seen{{Ref: want.Ref, Version: 1, Body: string(want.Body)}})
}

// orders are the keys as fill puts them into the indexes.
var orders = [row.Indexes][]string{{"g", "f", "e", "d", "c", "b", "a"}, {"b", "a", "d", "c", "f", "e", "g"}, letters}

func ownOrder(f *fixture) {
	fill(f)
	for i := range row.Indexes {
		var want []row.Ref
		for _, key := range orders[i] {
			want = append(want, ref("orders", key), ref("silver", key))
		}
		var got []row.Ref
		for _, r := range f.all(row.Range{Kind: kind, Index: i, List: "l"}) {
			got = append(got, r.Ref)
			if r.Version != 1 || string(r.Body) != string(at(r.Ref, 1).Body) || r.Places[i].List != "l" {
				f.t.Errorf("index %d: got %+v", i, r)
			}
		}
		same(f, fmt.Sprintf("index %d", i), got, want)
		slices.Reverse(want)
		got = nil
		for _, r := range f.all(row.Range{Kind: kind, Index: i, List: "l", Backwards: true}) {
			got = append(got, r.Ref)
		}
		same(f, fmt.Sprintf("index %d backwards", i), got, want)
	}
}

func partOrAll(f *fixture) {
	fill(f)
	mark := row.Ref{Kind: "mark", Key: "m"}
	f.apply(put(placed(at(mark, 1), row.Ordered, "l", "1"), 0))
	for _, i := range []row.Index{row.Ordered, row.Pending} {
		for _, part := range []string{"orders", "silver"} {
			same(f, part, f.keys(row.Range{Kind: kind, Part: part, Index: i, List: "l"}), orders[i])
		}
		same(f, "another partition", f.keys(row.Range{Kind: kind, Part: "gold", Index: i, List: "l"}), nil)
	}
	same(f, "rows without a partition", f.keys(row.Range{Kind: "mark", List: "l"}), []string{"m"})
}

func listsApart(f *fixture) {
	a, b, c := ref("orders", "a"), ref("orders", "b"), row.Ref{Kind: "mark", Key: "c"}
	f.apply(
		put(placed(at(a, 1), row.Ordered, "l", "1"), 0),
		put(placed(placed(at(b, 1), row.Ordered, "l:2", "1"), row.Pending, "l", "1"), 0),
		put(placed(at(c, 1), row.Ordered, "l", "1"), 0),
	)
	f.listed(row.Ordered, "l", "a")
	f.listed(row.Ordered, "l:2", "b")
	f.listed(row.Pending, "l", "b")
	f.listed(row.Aging, "l")
	same(f, "of another kind", f.keys(row.Range{Kind: "mark", List: "l"}), []string{"c"})
}

// walk reads a range page by page and returns the keys of its rows.
func (f *fixture) walk(r row.Range) (keys []string) {
	f.t.Helper()
	for range 100 {
		page := f.page(r)
		for _, r := range page.Rows {
			keys = append(keys, r.Part+"/"+r.Key)
		}
		if !page.More {
			return keys
		}
		last := page.Rows[len(page.Rows)-1]
		at := last.Key
		if r.List != "" {
			at = last.Places[r.Index].Key
		}
		if r.Backwards {
			r.To = at
		} else {
			r.From = at + "\x00"
		}
	}
	f.t.Fatalf("scan %+v does not end", r)
	return nil
}

// ranges are all that fill fills.
func ranges() []row.Range {
	out := []row.Range{{Kind: kind, Part: "orders"}, {Kind: kind, Index: row.Aging, List: "l"}}
	for _, i := range []row.Index{row.Ordered, row.Pending} {
		all := row.Range{Kind: kind, Index: i, List: "l"}
		silver := all
		silver.Part = "silver"
		out = append(out, all, silver)
	}
	return out
}

func pagesJoin(f *fixture) {
	fill(f)
	limits := []int{1, 2, 3, 4, 5, 6, 7, 8, 13, 14, 15}
	if f.o.Slow {
		limits = []int{1, 3, 7}
	}
	for _, r := range ranges() {
		for _, r.Backwards = range []bool{false, true} {
			r.Limit = 100
			want := f.walk(r)
			if n := len(letters); len(want) != n && len(want) != 2*n {
				f.t.Fatalf("scan %+v: got %d rows", r, len(want))
			}
			for _, r.Limit = range limits {
				same(f, fmt.Sprintf("%+v", r), f.walk(r), want)
				if page := f.page(r); len(want) > r.Limit && !page.More {
					f.t.Errorf("scan %+v: More is false although there are %d rows", r, len(want))
				}
			}
		}
	}
}

// bounds tries keys that exist, that lie between others and that are before and behind all.
func bounds(f *fixture) {
	fill(f)
	for _, r := range ranges() {
		var keys, edges []string
		for _, got := range f.all(r) {
			key := got.Key
			if r.List != "" {
				key = got.Places[r.Index].Key
			}
			keys = append(keys, key)
		}
		for _, i := range []int{0, 1, len(keys) / 2, len(keys) - 1} {
			edges = append(edges, keys[i], keys[i]+"-")
		}
		edges = append(edges, "", " ", "~")
		var i, j int
		for i, r.From = range edges {
			for j, r.To = range edges {
				if f.o.Slow && (i+j)%4 > 0 {
					continue
				}
				want := slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
					return key < r.From || r.To != "" && key >= r.To
				})
				checkBounds(f, r, want)
			}
		}
	}
}

func checkBounds(f *fixture, r row.Range, want []string) {
	f.t.Helper()
	for _, r.Backwards = range []bool{false, true} {
		var got []string
		for _, row := range f.all(r) {
			key := row.Key
			if r.List != "" {
				key = row.Places[r.Index].Key
			}
			got = append(got, key)
		}
		if r.Backwards {
			slices.Reverse(got)
		}
		same(f, fmt.Sprintf("%+v", r), got, want)
	}
}

func exceptTags(f *fixture) {
	fill(f) // the tags are x, y, z, x, y, z, x
	f.apply(put(placed(at(ref("orders", "untagged"), 1), row.Aging, "l", "99"), 0))
	r := row.Range{Kind: kind, Part: "orders", Index: row.Pending, List: "l"}
	for _, c := range []struct {
		except []string
		want   []string
	}{
		{[]string{"x"}, []string{"b", "c", "f", "e"}},
		{[]string{"x", "y"}, []string{"c", "f"}},
		{[]string{"x", "y", "z"}, nil},
		{[]string{"w", "z"}, []string{"b", "a", "d", "e", "g"}},
	} {
		r.Except = c.except
		same(f, fmt.Sprintf("except %q", c.except), f.keys(r), c.want)
		var want []string
		for _, key := range c.want {
			want = append(want, "orders/"+key)
		}
		for _, r.Limit = range []int{1, 2, 3} {
			same(f, fmt.Sprintf("except %q in pages of %d", c.except, r.Limit), f.walk(r), want)
		}
	}
	all := row.Range{Kind: kind, Index: row.Aging, List: "l", Except: []string{"x", "y", "z"}}
	same(f, "over all", f.keys(all), []string{"untagged"})
	retagged := placed(at(ref("orders", "b"), 2), row.Pending, "l", "00#0")
	retagged.Tag = "x"
	f.apply(put(retagged, 1))
	r.Except = []string{"x"}
	same(f, "after a tag has changed", f.keys(r), []string{"c", "f", "e"})
}

func pagesInOrder(f *fixture) {
	fill(f)
	pages, err := f.e.Scan(f.ctx, []row.Range{
		{Kind: kind, Part: "silver", Limit: 2},
		{Kind: kind, Part: "gold", Limit: 2},
		{Kind: kind, Part: "orders", Index: row.Ordered, List: "l", Limit: 1},
		{Kind: kind, Part: "silver", Limit: 1, Backwards: true},
	})
	f.check(err)
	var got [][]row.Ref
	for _, page := range pages {
		var refs []row.Ref
		for _, r := range page.Rows {
			refs = append(refs, r.Ref)
		}
		got = append(got, refs)
	}
	want := [][]row.Ref{{ref("silver", "a"), ref("silver", "b")}, {}, {ref("orders", "g")}, {ref("silver", "g")}}
	same(f, "pages", got, want)
	pages, err = f.e.Scan(f.ctx, nil)
	f.check(err)
	same(f, "pages of no range", len(pages), 0)
}

func emptyPage(f *fixture) {
	events := []row.Range{{Kind: row.Events, List: "events"}, {Kind: row.Events, Part: "orders"}}
	for _, r := range append(ranges(), events...) {
		same(f, fmt.Sprintf("%+v", r), len(f.all(r)), 0)
	}
}

var placeClaims = []claim{
	{"PlacesMoveWithTheirRow", placesMove},
	{"PlacesDisappearWithTheirRow", placesDisappear},
	{"RowsKeepTheirPlace", placesStay},
}

func placesMove(f *fixture) {
	a, b := ref("orders", "a"), ref("orders", "b")
	f.apply(put(placed(placed(at(a, 1), row.Ordered, "l", "1"), row.Pending, "open", "1"), 0))
	f.apply(put(placed(at(b, 1), row.Ordered, "l", "2"), 0))
	f.listed(row.Ordered, "l", "a", "b")
	f.apply(put(placed(placed(at(a, 2), row.Ordered, "l", "3"), row.Pending, "ended", "1"), 1))
	f.listed(row.Ordered, "l", "b", "a")
	f.listed(row.Pending, "open")
	f.listed(row.Pending, "ended", "a")
	same(f, "of the partition", f.keys(row.Range{Kind: kind, Part: "orders", Index: row.Pending, List: "open"}), nil)
	f.apply(put(placed(at(a, 3), row.Aging, "old", "1"), 2))
	f.listed(row.Ordered, "l", "b")
	f.listed(row.Pending, "ended")
	f.listed(row.Aging, "old", "a")
	f.apply(put(placed(at(a, 4), row.Aging, "old", "2"), row.Any))
	f.listed(row.Aging, "old", "a")
	same(f, "place", f.all(row.Range{Kind: kind, Index: row.Aging, List: "old"})[0].Places[row.Aging].Key, "2")
}

func placesDisappear(f *fixture) {
	for i, remove := range []func(r row.Row){
		func(r row.Row) { f.apply(del(r.Ref, 1)) },
		func(r row.Row) { f.apply(del(r.Ref, row.Any)) },
		func(r row.Row) { f.drop(1, r) },
		func(r row.Row) { f.apply(put(at(r.Ref, 2), 1)) },
	} {
		r := at(ref("orders", fmt.Sprint(i)), 1)
		for index := range row.Indexes {
			r = placed(r, index, "l", "1")
		}
		f.apply(put(r, 0))
		for index := range row.Indexes {
			f.listed(index, "l", r.Key)
		}
		remove(r)
		for index := range row.Indexes {
			f.listed(index, "l")
		}
		same(f, "of the partition", f.keys(row.Range{Kind: kind, Part: "orders", List: "l"}), nil)
	}
}

func placesStay(f *fixture) {
	fill(f)
	c := placed(at(ref("orders", "c"), 2), row.Ordered, "l", "05#0")
	f.apply(put(c, 1))
	r := row.Range{Kind: kind, Part: "orders", List: "l"}
	same(f, "order", f.keys(r), orders[row.Ordered])
	same(f, "body", string(f.all(r)[4].Body), string(c.Body))
}

var dropClaims = []claim{
	{"DropDeletesByVersion", dropsByVersion},
	{"NumbersGrow", numbersGrow},
}

// drop expects so many rows to be deleted.
func (f *fixture) drop(want int, rows ...row.Row) {
	f.t.Helper()
	n, err := f.e.Drop(f.ctx, rows)
	f.check(err)
	same(f, "dropped", n, want)
}

func dropsByVersion(f *fixture) {
	a, b, c := ref("orders", "a"), ref("orders", "b"), ref("silver", "c")
	f.apply(put(at(a, 1), 0), put(placed(at(b, 2), row.Aging, "l", "1"), 0), put(at(c, 3), 0))
	f.drop(2, at(a, 1), at(ref("orders", "missing"), 1), at(b, 1), at(c, 3))
	f.isMissing("dropped", a, c)
	f.is("replaced since", at(b, 2))
	f.drop(1, f.all(row.Range{Kind: kind, Index: row.Aging, List: "l"})...)
	f.isMissing("dropped as it was read", b)
	f.drop(0)
	f.drop(0, at(a, 1))
	f.apply(put(at(a, 1), 0))
	f.is("created again", at(a, 1))
}

func numbersGrow(f *fixture) {
	last := int64(0)
	for _, n := range []int{1, 1, 5, 1, 100, 3} {
		first, err := f.e.Next(f.ctx, n)
		f.check(err)
		if first <= last {
			f.t.Errorf("number %d came after %d", first, last)
		}
		last = first + int64(n) - 1
	}
}
