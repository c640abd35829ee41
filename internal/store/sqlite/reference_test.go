package sqlite

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// The store in memory has no log, no folding and no crash. Whatever is done to both, and however often this one is killed
// in between and started on what is left on disk, they show the same readings.
func TestReadingsAreThoseOfTheReference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &pair{t: t, want: memory.New(), now: noon}
		w.options.foldAfter = rapid.SampledFrom([]int{1, 2, 5, 1000}).Draw(rt, "fold after")
		w.options.foldStep = rapid.SampledFrom([]int{1, 64}).Draw(rt, "fold step")
		w.open(empty(t))
		rt.Repeat(map[string]func(*rapid.T){
			"put":      w.put,
			"put more": w.put,
			"runs":     w.move,
			"trim":     w.trim,
			"look":     w.compare,
			"restart":  w.restart,
		})
		w.compare(rt)
		check(t, w.got.Close())
	})
}

// pair is a store and its reference.
type pair struct {
	t       *testing.T
	options Options
	dir     string
	got     *Store
	want    *memory.Store
	now     time.Time
	trimmed time.Time // what is older was forgotten
	moves   int64
}

func (w *pair) open(dir string) {
	s, err := Open(w.t.Context(), dir, w.options)
	check(w.t, err)
	w.dir, w.got = dir, s
}

var (
	pairKeys    = []sensor.Key{"rows", "status", "late"}
	pairPeriods = []string{"", "2026-03-01", "2026-03-02", "2026-03-02T07", "2026-03-02T07:15", "2026-11-01T01-05:00"}
	pairKeep    = store.Retention{History: time.Hour}
)

func periodNamed(name string) sensor.Reading {
	if name == "" {
		return sensor.Reading{}
	}
	return sensor.Reading{Period: day(name)}
}

func (w *pair) put(t *rapid.T) {
	w.now = w.now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "minutes")) * time.Minute)
	var writes []store.Write
	for range rapid.IntRange(1, 6).Draw(t, "writes") {
		r := periodNamed(rapid.SampledFrom(pairPeriods).Draw(t, "period"))
		r.Key = rapid.SampledFrom(pairKeys).Draw(t, "key")
		r.Fields = sensor.Fields{"n": rapid.Int64Range(0, 2).Draw(t, "n")}
		r.Source = rapid.SampledFrom([]string{"", "etl"}).Draw(t, "source")
		writes = append(writes, store.Write{Pipeline: "orders", Reading: r, Order: rapid.Int64Range(0, 3).Draw(t, "order")})
	}
	got, err := w.got.PutReadings(t.Context(), writes, w.now)
	check(w.t, err)
	want, err := w.want.PutReadings(t.Context(), writes, w.now)
	check(w.t, err)
	w.same(t, "puts", got, want)
}

// move opens or ends runs of periods that readings are for.
func (w *pair) move(t *rapid.T) {
	w.moves++
	key := run.Key{Pipeline: "silver", Schedule: "stream", Period: day(rapid.SampledFrom(pairPeriods[1:]).Draw(t, "period"))}
	was, err := w.want.Run(t.Context(), key)
	if err != nil {
		was = run.Run{}
	}
	next := run.Run{Key: key, Version: was.Version + 1, Status: rapid.SampledFrom(run.Statuses()).Draw(t, "status"), Attempt: 1}
	b := store.Batch{ID: fmt.Sprint(w.moves)}
	b.Swap(was, next)
	check(w.t, w.got.Commit(t.Context(), b, w.now))
	check(w.t, w.want.Commit(t.Context(), b, w.now))
}

func (w *pair) trim(t *rapid.T) {
	w.trimmed = w.now.Add(-pairKeep.History)
	for _, s := range []store.Store{w.got, w.want} {
		for n := -1; n != 0; {
			var err error
			n, err = s.Trim(t.Context(), pairKeep, w.now)
			check(w.t, err)
		}
	}
}

// restart closes and opens the store, or goes on with a copy of its files as they are at this moment.
func (w *pair) restart(t *rapid.T) {
	switch rapid.SampledFrom([]string{"crash", "crash amid a fold", "close"}).Draw(t, "how") {
	case "crash amid a fold":
		check(w.t, w.got.write(t.Context(), &foldUpTo{pos: w.got.committed.Load()}))
	case "close":
		check(w.t, w.got.Close())
		w.open(w.dir)
		return
	}
	image := crashImage(w.t, w.dir)
	check(w.t, w.got.Close())
	check(w.t, os.RemoveAll(w.dir))
	w.open(image)
}

func (w *pair) compare(t *rapid.T) {
	var queries []store.ReadingQuery
	for _, key := range pairKeys {
		for _, name := range pairPeriods {
			p := periodNamed(name).Period
			queries = append(queries, store.ReadingQuery{Pipeline: "orders", Key: key, Period: p})
			q := store.HistoryQuery{Pipeline: "orders", Key: key, Period: p, Limit: 2}
			w.same(t, "history of "+string(key)+" "+name, w.recent(pages(w.t, w.got, q)), w.recent(pages(w.t, w.want, q)))
		}
	}
	got, err := w.got.Readings(t.Context(), queries)
	check(w.t, err)
	want, err := w.want.Readings(t.Context(), queries)
	check(w.t, err)
	for i, q := range queries {
		w.same(t, fmt.Sprintf("shown of %s for %s", q.Key, q.Period), got[i], want[i])
	}
	latest, err := w.got.LatestReadings(t.Context(), store.LatestQuery{Pipeline: "orders"})
	check(w.t, err)
	wantLatest, err := w.want.LatestReadings(t.Context(), store.LatestQuery{Pipeline: "orders"})
	check(w.t, err)
	w.same(t, "latest", latest.Items, wantLatest.Items)
}

// recent leaves out writes that Trim would have forgotten but for their being current, which they are no longer. This store
// has only their current reading left by then, so they go when that is replaced; the reference keeps them until the next Trim.
func (w *pair) recent(history []*sensor.Reading) (kept []*sensor.Reading) {
	current := map[period.Period]bool{}
	for _, r := range history {
		if !current[r.Period] || !r.UpdatedAt.Before(w.trimmed) {
			kept = append(kept, r)
		}
		current[r.Period] = true
	}
	return kept
}

func pages(t *testing.T, s store.Store, q store.HistoryQuery) (all []*sensor.Reading) {
	for {
		page, err := s.History(t.Context(), q)
		check(t, err)
		if all = append(all, page.Items...); page.Next == "" {
			return all
		}
		q.Cursor = page.Next
	}
}

// same compares apart from versions, which each store counts in its own way, and from the order of what has none.
func (w *pair) same(t *rapid.T, what string, got, want any) {
	t.Helper()
	options := cmp.Options{
		cmpopts.IgnoreFields(sensor.Reading{}, "Version"), cmpopts.IgnoreFields(store.Put{}, "Version"), cmpopts.EquateEmpty(),
		cmpopts.EquateComparable(period.Period{}),
	}
	if _, list := got.([]*sensor.Reading); list && what[:5] == "shown" {
		options = append(options, cmpopts.SortSlices(func(a, b *sensor.Reading) bool { return a.Period.Compare(b.Period) < 0 }))
	}
	if diff := cmp.Diff(want, got, options); diff != "" {
		t.Fatalf("%s: want -, got +\n%s", what, diff)
	}
}
