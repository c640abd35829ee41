package storetest

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

var readingClaims = []claim{
	{"AcknowledgedWriteIsShown", writtenIsShown},
	{"VersionsGrow", versionsGrow},
	{"ChangedMeansOtherData", changed},
	{"IdenticalWriteIsAWrite", identicalWrite},
	{"AllWritesOrNone", allOrNone},
	{"NoMoreThanFitAtOnce", maxWrites},
	{"TwoWritesOfOneRowAreTwo", twoOfOneRow},
	{"LaterOrderWins", orderWins},
	{"WriteWithoutOrderIsTaken", withoutOrder},
	{"OrdersOfTwoSeriesAreNotCompared", twoSeries},
	{"MarkedWriteCountsOnce", markedWriteCountsOnce},
	{"MarkOfSomethingElseStoresNothing", markOfSomethingElse},
	{"OfConcurrentMarkedWritesOneIsStored", oneOfManyIsStored},
	{"EachOfManyWritesMayHaveAMark", marksOfMany},
	{"HigherRankReplacesAMark", higherRankReplaces},
	{"UnmarkedWriteIsSkippedOnceTheMarkIsSet", unmarkedUntilMarked},
	{"DataComesBackAsItWas", dataSurvives},
	{"DeletedReadingIsPassedOver", deleted},
	{"HistoryIsNewestFirst", history},
	{"HistoryComesInPages", historyPages},
	{"WritesAreFoundByName", writesFound},
	{"ManyWritesAreFoundAtOnce", manyWrites},
	{"NamesAreWhole", namesAreWhole},
}

func (f *fixture) history(key sensor.Key) []*sensor.Reading {
	f.t.Helper()
	return f.historyOf("orders", key)
}

func (f *fixture) historyOf(id pipeline.ID, key sensor.Key) []*sensor.Reading {
	f.t.Helper()
	page, err := f.s.History(f.ctx, store.HistoryQuery{Pipeline: id, Key: key})
	f.check(err)
	return page.Items
}

// latest is the latest reading of every key of a pipeline, read in small pages.
func (f *fixture) latest(id pipeline.ID) []*sensor.Reading {
	f.t.Helper()
	return f.latestBy(id, 7)
}

func (f *fixture) latestBy(id pipeline.ID, limit int) (all []*sensor.Reading) {
	f.t.Helper()
	for q := (store.LatestQuery{Pipeline: id, Limit: limit}); ; {
		page, err := f.s.LatestReadings(f.ctx, q)
		f.check(err)
		if len(page.Items) > limit || page.Next != "" && len(page.Items) < limit {
			f.t.Errorf("a page of %d has %d readings, next %q", limit, len(page.Items), page.Next)
		}
		all = append(all, page.Items...)
		if q.Cursor = page.Next; q.Cursor == "" {
			return all
		}
	}
}

// shown is what rules would see of orders' rows for a period.
func (f *fixture) shown(date string) sensor.Seen {
	f.t.Helper()
	q, answer := f.rows(date)
	return sensor.ForPeriod(q.Period, answer)
}

// rows asks for the readings of orders' rows that a period may use.
func (f *fixture) rows(date string) (store.ReadingQuery, []*sensor.Reading) {
	f.t.Helper()
	q := store.ReadingQuery{Pipeline: "orders", Key: "rows"}
	if date != "" {
		q.Period = on(date)
	}
	answers, err := f.s.Readings(f.ctx, []store.ReadingQuery{q})
	f.check(err)
	return q, answers[0]
}

func counts(readings []*sensor.Reading) []int64 {
	var out []int64
	for _, r := range readings {
		n, _ := r.Fields["count"].(int64)
		out = append(out, n)
	}
	return out
}

func writtenIsShown(f *fixture) {
	w := write("2026-03-03", 7)
	w.Reading.Source, w.Reading.ExpiresAt = "etl", after(time.Hour)
	w.Reading.Version, w.Reading.UpdatedAt = 99, after(time.Hour) // not for the writer to say
	put := f.put(noon, w)[0]
	want := w.Reading
	want.Version, want.UpdatedAt = put.Version, noon
	f.same("put", put, store.Put{Version: put.Version, UpdatedAt: noon, Changed: true})
	f.same("shown", f.shown("2026-03-03").Reading, &want)
	f.same("history", f.history("rows"), []*sensor.Reading{&want})
	latest := f.latest("orders")
	f.same("latest", latest, []*sensor.Reading{&want})
	f.same("no writes", len(f.put(noon)), 0)
}

func versionsGrow(f *fixture) {
	last := int64(0)
	for i := range 3 {
		other := write("", 1)
		other.Pipeline = "silver"
		for _, put := range f.put(after(time.Duration(-i)*time.Hour), write("", 1), other, write("2026-03-03", 1)) {
			if put.Version <= last {
				f.t.Errorf("version %d came after %d", put.Version, last)
			}
			last = put.Version
		}
	}
}

func changed(f *fixture) {
	data := func(date string, fields sensor.Fields) store.Write {
		w := write(date, 0)
		w.Reading.Fields = fields
		return w
	}
	for _, c := range []struct {
		name string
		w    store.Write
		want bool
	}{
		{"first write", data("", sensor.Fields{"n": int64(1)}), true},
		{"the same", data("", sensor.Fields{"n": int64(1)}), false},
		{"the same number in another form", data("", sensor.Fields{"n": 1.0}), false},
		{"another number", data("", sensor.Fields{"n": 1.5}), true},
		{"another period's first", data("2026-03-03", sensor.Fields{"n": 1.5}), true},
		{"the same for that period", data("2026-03-03", sensor.Fields{"n": 1.5}), false},
		{"text instead of a number", data("", sensor.Fields{"n": "1.5"}), true},
		{"one field more", data("", sensor.Fields{"n": "1.5", "m": nil}), true},
		{"in another order", data("", sensor.Fields{"m": nil, "n": "1.5"}), false},
		{"one field less", data("", sensor.Fields{"n": "1.5"}), true},
		{"no field", data("", sensor.Fields{}), true},
		{"still none", data("", nil), false},
		{"what was there before the last", data("", sensor.Fields{"n": "1.5"}), true},
	} {
		if put := f.put(noon, c.w)[0]; put.Changed != c.want {
			f.t.Errorf("%s: changed %v", c.name, put.Changed)
		}
	}
	w := data("", sensor.Fields{"n": "1.5"})
	w.Reading.Source, w.Reading.ExpiresAt = "another", after(time.Hour)
	f.same("another source and expiry are no other data", f.put(noon, w)[0].Changed, false)
}

// Ages matter, so that an identical write counts as one although it is no new data.
func identicalWrite(f *fixture) {
	first := f.put(noon, write("", 1))[0]
	second := f.put(after(time.Hour), write("", 1))[0]
	got := f.shown("").Reading
	f.same("updatedAt", got.UpdatedAt, after(time.Hour))
	f.same("version", got.Version, second.Version)
	f.same("history", len(f.history("rows")), 2)
	changes := f.receive("router", 10)
	f.same("changes", []bool{changes[0].Changed, changes[1].Changed}, []bool{true, false})
	if second.Version <= first.Version {
		f.t.Errorf("version %d came after %d", second.Version, first.Version)
	}
}

func allOrNone(f *fixture) {
	f.put(noon, write("", 1))
	before := f.everything()
	nameless, nowhere, broken := write("", 3), write("", 3), write("", 3)
	nameless.Reading.Key, nowhere.Pipeline = "", ""
	broken.Reading.Fields = sensor.Fields{"n": math.NaN()}
	for name, bad := range map[string]store.Write{"without a key": nameless, "without a pipeline": nowhere, "with no number": broken} {
		if _, err := f.s.PutReadings(f.ctx, []store.Write{write("", 2), bad, write("2026-03-03", 4)}, noon); err == nil {
			f.t.Errorf("a write %s was taken", name)
		}
		f.same("after a write "+name, f.everything(), before)
	}
}

func maxWrites(f *fixture) {
	var writes []store.Write
	for i := range f.o.MaxWrites + 1 {
		w := write("", int64(i))
		w.Reading.Key = sensor.Key(fmt.Sprintf("key/%04d", i))
		writes = append(writes, w)
	}
	_, err := f.s.PutReadings(f.ctx, writes, noon)
	f.wantErr("one too many", err, store.ErrTooLarge)
	n, _, err := f.s.Backlog(f.ctx, "router")
	f.check(err)
	f.same("changes", n, 0)
	f.put(noon, writes[1:]...)
	latest := f.latest("orders")
	f.same("readings", len(latest), f.o.MaxWrites)
}

func twoOfOneRow(f *fixture) {
	puts := f.put(noon, write("", 1), write("", 2), write("", 2))
	f.same("changed", []bool{puts[0].Changed, puts[1].Changed, puts[2].Changed}, []bool{true, true, false})
	f.same("shown", f.shown("").Reading.Fields, sensor.Fields{"count": int64(2)})
	f.same("history", counts(f.history("rows")), []int64{2, 2, 1})
	f.same("changes", len(f.receive("router", 10)), 3)
}

func orderWins(f *fixture) {
	first := f.put(noon, ordered(write("2026-03-03", 1), 5))[0]
	later := after(time.Hour)
	for _, order := range []int64{4, 5} {
		put := f.put(later, ordered(write("2026-03-03", 2), order))[0]
		f.same("ignored", put, store.Put{Version: first.Version, UpdatedAt: noon, Ignored: true})
	}
	f.same("another period", f.put(later, ordered(write("2026-03-04", 2), 1))[0].Ignored, false)
	f.same("history", len(f.history("rows")), 2)
	f.same("changes", len(f.receive("router", 10)), 2)
	f.same("shown", f.shown("2026-03-03").Reading.Fields, sensor.Fields{"count": int64(1)})
	f.same("a later one", f.put(later, ordered(write("2026-03-03", 3), 6))[0].Changed, true)
	f.same("within one call", f.put(later, ordered(write("2026-03-03", 9), 9), ordered(write("2026-03-03", 8), 8))[1].Ignored, true)
	f.same("shown", f.shown("2026-03-03").Reading.Fields, sensor.Fields{"count": int64(9)})
}

// once is a write that a mark keeps from being repeated.
func once(w store.Write, id string) store.Write {
	w.Once = store.Mark{ID: id, Until: after(24 * time.Hour)}
	return w
}

func markedWriteCountsOnce(f *fixture) {
	first := f.put(noon, once(write("2026-03-03", 1), "e1"), once(write("2026-03-04", 1), "e1"))
	f.same("the writes of one call", []bool{first[0].Repeated, first[1].Repeated}, []bool{false, false})
	f.put(after(time.Minute), write("2026-03-03", 5))
	again := f.put(after(time.Hour), once(write("2026-03-03", 1), "e1"), write("2026-03-05", 7))
	f.same("repeated", again[0], store.Put{Repeated: true})
	f.same("without a mark", again[1].Changed, true)
	f.same("shown", f.shown("2026-03-03").Reading.Fields, sensor.Fields{"count": int64(5)})
	f.same("another mark", f.put(after(time.Hour), once(write("2026-03-03", 6), "e2"))[0].Repeated, false)
	f.same("after its time", f.put(after(24*time.Hour), once(write("2026-03-03", 8), "e1"))[0].Repeated, false)
	f.same("two calls", len(f.history("rows")), 6)
}

func markOfSomethingElse(f *fixture) {
	of := func(w store.Write, what string) store.Write {
		w = once(w, "e1")
		w.Once.Of = what
		return w
	}
	f.put(noon, of(write("2026-03-03", 1), "a"))
	_, err := f.s.PutReadings(f.ctx, []store.Write{write("2026-03-04", 2), of(write("2026-03-03", 2), "b")}, after(time.Hour))
	f.same("another", errors.Is(err, store.ErrMarked), true)
	f.same("stored", len(f.history("rows")), 1)
	f.same("the same", f.put(after(time.Hour), of(write("2026-03-03", 1), "a"))[0].Repeated, true)
	f.same("after its time", f.put(after(24*time.Hour), of(write("2026-03-03", 3), "b"))[0].Repeated, false)
}

// Of concurrent calls with one mark, one is stored.
func oneOfManyIsStored(f *fixture) {
	const calls = 8
	var stored atomic.Int64
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() {
			puts, err := f.s.PutReadings(f.ctx, []store.Write{once(write("2026-03-03", 1), "e1")}, noon)
			if err != nil {
				f.t.Error(err)
			} else if !puts[0].Repeated {
				stored.Add(1)
			}
		})
	}
	wg.Wait()
	f.same("stored", stored.Load(), int64(1))
	f.same("history", len(f.history("rows")), 1)
}

// A store that accepts MaxWrites accepts as many with a mark each; another, as many as it promises.
func marksOfMany(f *fixture) {
	n := f.o.MaxWrites
	if n < store.MaxWrites {
		n = 3
	}
	var writes []store.Write
	for i := range n {
		w := once(write("", int64(i)), fmt.Sprintf("e%04d", i))
		w.Reading.Key = sensor.Key(fmt.Sprintf("key/%04d", i))
		writes = append(writes, w)
	}
	f.put(noon, writes...)
	for _, put := range f.put(after(time.Hour), writes...) {
		if !put.Repeated {
			f.t.Fatal("a mark was not stored")
		}
	}
	f.same("readings", len(f.latest("orders")), n)
}

// ranked is a write whose mark has a rank.
func ranked(w store.Write, rank int64) store.Write {
	w = once(w, "run")
	w.Once.Rank = rank
	return w
}

func higherRankReplaces(f *fixture) {
	skipped := func(rank int64) bool {
		return f.put(noon, ranked(write("2026-03-03", rank), rank))[0].Repeated
	}
	f.same("the first", skipped(5), false)
	f.same("a lower one", skipped(4), true)
	f.same("the same again", skipped(5), false)
	f.same("a higher one", skipped(7), false)
	f.same("the one before", skipped(5), true)
	f.same("shown", f.shown("2026-03-03").Reading.Fields, sensor.Fields{"count": int64(7)})
	f.same("after its time", f.put(after(24*time.Hour), ranked(write("2026-03-03", 1), 1))[0].Repeated, false)
	f.check(f.s.Commit(f.ctx, store.Batch{ID: "b", Marks: []store.Mark{{ID: "set", Until: after(time.Hour), Rank: 5}}}, noon))
	w := ranked(write("2026-03-04", 4), 4)
	w.Once.ID = "set"
	f.same("lower than that of a batch", f.put(noon, w)[0].Repeated, true)
}

// Of a concurrent write that is skipped once the mark is set, and the one that sets it, the one that
// sets it is shown.
func unmarkedUntilMarked(f *fixture) {
	unmarked := ranked(write("2026-03-03", 1), store.Unmarked)
	f.same("before", f.put(noon, unmarked)[0].Repeated, false)
	f.same("again", f.put(noon, unmarked)[0].Repeated, false)
	var wg sync.WaitGroup
	put := func(w store.Write) {
		if _, err := f.s.PutReadings(f.ctx, []store.Write{w}, noon); err != nil {
			f.t.Error(err)
		}
	}
	for range 4 {
		wg.Go(func() { put(unmarked) })
	}
	wg.Go(func() { put(ranked(write("2026-03-03", 2), 9)) })
	wg.Wait()
	f.same("shown", f.shown("2026-03-03").Reading.Fields, sensor.Fields{"count": int64(2)})
	f.same("after", f.put(noon, unmarked)[0].Repeated, true)
	f.same("after its time", f.put(after(24*time.Hour), unmarked)[0].Repeated, false)
}

func withoutOrder(f *fixture) {
	f.put(noon, ordered(write("", 1), 5))
	f.same("without order", f.put(noon, write("", 2))[0].Ignored, false)
	f.same("the order still counts", f.put(noon, ordered(write("", 3), 5))[0].Ignored, true)
	f.same("shown", f.shown("").Reading.Fields, sensor.Fields{"count": int64(2)})
}

func twoSeries(f *fixture) {
	other := ordered(write("", 2), 1)
	other.Series = "other"
	f.put(noon, ordered(write("", 1), 5))
	f.same("another series", f.put(noon, other)[0].Ignored, false)
	f.same("the same again", f.put(noon, other)[0].Ignored, true)
	f.put(noon, write("", 3))
	f.same("its order still counts", f.put(noon, other)[0].Ignored, true)
}

func dataSurvives(f *fixture) {
	data := sensor.Fields{
		"large": int64(math.MaxInt64), "small": int64(math.MinInt64), "fraction": 0.1, "whole": 1e300,
		"text": "<ünïcödé> \u2028 \x00 \"", "empty": "", "yes": true, "no": false, "nothing": nil,
		"list": []any{int64(1), "two", []any{}, map[string]any{}}, "object": map[string]any{"deep": map[string]any{"n": int64(1<<53 + 1)}},
		"": "a field without a name", "long": strings.Repeat("<", sensor.MaxBytes-1000),
	}
	w := write("", 0)
	w.Reading.Fields = data
	f.put(noon, w)
	got := f.shown("").Reading.Fields
	f.same("data", got, data)
	for name, want := range map[string]any{"large": int64(math.MaxInt64), "small": int64(math.MinInt64), "fraction": 0.1} {
		if got[name] != want {
			f.t.Errorf("%s came back as %T %v", name, got[name], got[name])
		}
	}
}

// A deletion is a write: it has a version, an entry in the history and a change. Rules see what
// they would see without the period.
func deleted(f *fixture) {
	f.put(noon, write("", 1), write("2026-03-03", 2), write("2026-03-03T07", 3))
	gone := write("2026-03-03", 0)
	gone.Reading.Fields, gone.Reading.Source, gone.Reading.Deleted = nil, "ann", true
	put := f.put(after(time.Hour), gone)[0]
	f.same("changed", put.Changed, true)
	f.same("the day shows", f.shown("2026-03-03").Reading.Fields["count"], int64(1))
	f.same("its hour shows", f.shown("2026-03-03T07").Reading.Fields["count"], int64(3))
	want := gone.Reading
	want.Version, want.UpdatedAt = put.Version, after(time.Hour)
	f.same("history", f.history("rows")[0], &want)
	latest := f.latest("orders")
	f.same("latest", latest, []*sensor.Reading{&want})
	found, err := f.s.Writes(f.ctx, []store.WriteID{nameOf(put)})
	f.check(err)
	f.same("by name", found[nameOf(put)], &want)
	changes := f.receive("router", 10)
	f.same("told", changes[len(changes)-1].Version, put.Version)

	f.same("deleted again", f.put(noon, gone)[0].Changed, false)
	empty := write("2026-03-03", 0)
	empty.Reading.Fields = sensor.Fields{}
	f.same("no fields are other data", f.put(noon, empty)[0].Changed, true)
	f.same("and show", f.shown("2026-03-03").Reading.Deleted, false)
	f.same("deleted anew", f.put(noon, gone)[0].Changed, true)
	f.same("written as before", f.put(noon, write("2026-03-03", 2))[0].Changed, true)
	if f.o.Reopen != nil {
		f.put(noon, gone)
		f.reopen()
		f.same("after opening it again", f.shown("2026-03-03").Reading.Fields["count"], int64(1))
	}
}

func history(f *fixture) {
	f.put(noon, write("", 1))
	f.put(after(-time.Hour), write("2026-03-03", 2), write("2026-03-04", 3))
	f.put(after(time.Hour), write("2026-03-03", 4))
	f.same("all", counts(f.history("rows")), []int64{4, 3, 2, 1})
	page, err := f.s.History(f.ctx, store.HistoryQuery{Pipeline: "orders", Key: "rows", Period: on("2026-03-03")})
	f.check(err)
	f.same("of a period", counts(page.Items), []int64{4, 2})
	page, err = f.s.History(f.ctx, store.HistoryQuery{Pipeline: "orders", Key: "other"})
	f.check(err)
	f.same("of a key without", counts(page.Items), []int64(nil))
}

func historyPages(f *fixture) {
	for i := range int64(7) {
		f.put(noon, write([]string{"", "2026-03-03"}[i%2], i))
	}
	extra := int64(100)
	for _, p := range []struct {
		date string
		want []int64
	}{{"", []int64{6, 5, 4, 3, 2, 1, 0}}, {"2026-03-03", []int64{5, 3, 1}}} {
		for size := 1; size <= 8; size += f.stride() {
			first := true
			got := walk(f, size, func(limit int, cursor string) (store.Page[*sensor.Reading], error) {
				if !first {
					extra++ // what comes meanwhile is newer than all that is left
					f.put(noon, write("2026-03-03", extra))
				}
				first = false
				q := store.HistoryQuery{Pipeline: "orders", Key: "rows", Limit: limit, Cursor: cursor}
				if p.date != "" {
					q.Period = on(p.date)
				}
				return f.s.History(f.ctx, q)
			})
			var old []int64
			for _, n := range counts(got) {
				if n < 100 {
					old = append(old, n)
				}
			}
			f.same("pages", old, p.want)
		}
	}
	_, err := f.s.History(f.ctx, store.HistoryQuery{Pipeline: "orders", Key: "rows", Cursor: "x"})
	if !errors.Is(err, store.ErrCursor) {
		f.t.Errorf("a cursor that no query returned: %v", err)
	}
}

// nameOf is the name of a write of the sensor "rows" of orders.
func nameOf(put store.Put) store.WriteID {
	return store.WriteID{Pipeline: "orders", Key: "rows", Version: put.Version}
}

func writesFound(f *fixture) {
	w := write("2026-03-03", 1)
	w.Reading.Source, w.Reading.ExpiresAt = "etl", after(time.Hour)
	first := f.put(noon, w)[0]
	f.create(opened(orders)) // another change in between
	again := f.put(after(time.Hour), write("2026-03-03", 2), write("", 3))
	ignored := f.put(after(time.Hour), ordered(write("2026-03-04", 4), 5), ordered(write("2026-03-04", 5), 4))
	f.same("ignored", ignored[1].Ignored, true)
	here := nameOf(first)
	elsewhere, nowhere, never := here, here, here
	elsewhere.Key, nowhere.Pipeline, never.Version = "status", "silver", ignored[0].Version+1000
	got, err := f.s.Writes(f.ctx, []store.WriteID{nameOf(again[1]), elsewhere, here, never, nowhere, here, nameOf(again[0]), nameOf(ignored[1])})
	f.check(err)
	want := map[store.WriteID]*sensor.Reading{}
	for _, r := range f.history("rows") {
		want[store.WriteID{Pipeline: "orders", Key: "rows", Version: r.Version}] = r
	}
	f.same("writes", got, want)
	f.same("source", got[here].Source, "etl")
	got[here].Fields["count"] = "the caller's own"
	got, err = f.s.Writes(f.ctx, []store.WriteID{here})
	f.check(err)
	f.same("data", got[here].Fields, sensor.Fields{"count": int64(1)})
	got, err = f.s.Writes(f.ctx, nil)
	f.check(err)
	f.same("none", got, map[store.WriteID]*sensor.Reading{})
}

func manyWrites(f *fixture) {
	want := map[store.WriteID]int64{}
	var ids []store.WriteID
	for i := int64(0); i < manyRuns; i += 10 {
		var writes []store.Write
		for n := range int64(10) {
			writes = append(writes, write("", i+n))
		}
		for n, put := range f.put(noon, writes...) {
			want[nameOf(put)] = i + int64(n)
			ids = append(ids, nameOf(put))
		}
	}
	found, err := f.s.Writes(f.ctx, ids)
	f.check(err)
	got := map[store.WriteID]int64{}
	for id, r := range found {
		got[id] = counts([]*sensor.Reading{r})[0]
	}
	f.same("writes", got, want)
}

// Names that begin alike, or hold what a store may use to join names, are names of their own.
func namesAreWhole(f *fixture) {
	keys := []sensor.Key{"a", "a/b", "a.b", "ab", "a_", "A", "a/b/c"}
	for i, key := range keys {
		w := write("", int64(i))
		w.Reading.Key = key
		w.Pipeline = "a"
		other := w
		other.Pipeline, other.Reading.Fields = "a.b", sensor.Fields{"count": int64(100)}
		f.put(noon, w, other)
	}
	for i, key := range keys {
		page, err := f.s.History(f.ctx, store.HistoryQuery{Pipeline: "a", Key: key})
		f.check(err)
		f.same(string(key), counts(page.Items), []int64{int64(i)})
	}
	for _, limit := range []int{1, 2, 7, 8} {
		var got []sensor.Key
		for _, r := range f.latestBy("a", limit) {
			got = append(got, r.Key)
		}
		f.same("by key", got, []sensor.Key{"A", "a", "a.b", "a/b", "a/b/c", "a_", "ab"})
	}
	_, err := f.s.LatestReadings(f.ctx, store.LatestQuery{Pipeline: "a", Cursor: "no key"})
	f.wantErr("a cursor of no page", err, store.ErrCursor)
}
