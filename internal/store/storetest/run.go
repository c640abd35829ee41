package storetest

import (
	"fmt"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

var runClaims = []claim{
	{"ListedLatestPeriodFirst", runsListed},
	{"FiltersNarrowTheList", runsFiltered},
	{"PagesHoldEachRunOnce", runPages},
	{"PagesHoldWhatStaysWhileOthersCome", runPagesMeanwhile},
	{"PagesHaveAHundredUnlessSaid", runDefaultPage},
	{"StatusListsFollowTheRuns", runsByStatus},
	{"OpenRunsAreThoseThatHaveNotEnded", openRuns},
	{"RunsAtGivesThoseThatAreThere", runsAt},
	{"DryRunsAreApart", dryRunsApart},
}

// sorted are runs in the order in which they are to be listed, with the second occurrence of a
// repeated hour.
var sorted = []run.Run{
	turned(opened(keyOf("silver", "2026-11-01T02")), run.Running),
	opened(keyOf("silver", "2026-11-01T01:30-05:00")),
	opened(keyOf("silver", "2026-11-01T01-05:00")),
	opened(keyOf("silver", "2026-11-01T01:30")),
	opened(keyOf("silver", "2026-11-01T01")),
	opened(keyOf("silver", "2026-11-01")),
	turned(opened(keyOf("orders", "2026-03-04")), run.Completed),
	turned(opened(keyOf("silver", "2026-03-04")), run.FailedFinal),
	opened(orders),
	opened(run.Key{Pipeline: "orders", Schedule: pipeline.ByHand, Period: orders.Period}),
	opened(keyOf("orders-2", "2026-03-03")),
	turned(opened(keyOf("orders", "2026-03-02")), run.Failed),
	turned(opened(keyOf("orders", "2025-12-31")), run.Cancelled),
}

// createSorted stores them in another order.
func (f *fixture) createSorted() {
	f.t.Helper()
	for i := range sorted {
		f.create(sorted[(i*5+3)%len(sorted)])
	}
}

func (f *fixture) runs(q store.RunQuery) []run.Run {
	f.t.Helper()
	page, err := f.s.Runs(f.ctx, q)
	f.check(err)
	if page.Next != "" {
		f.t.Errorf("there is a page after %d runs", len(page.Items))
	}
	return page.Items
}

func runsListed(f *fixture) {
	f.createSorted()
	f.same("runs", f.runs(store.RunQuery{}), sorted)
}

func runsFiltered(f *fixture) {
	f.createSorted()
	for name, c := range map[string]struct {
		q    store.RunQuery
		want func(r run.Run) bool
	}{
		"pipeline": {store.RunQuery{Pipeline: "orders"}, func(r run.Run) bool { return r.Pipeline == "orders" }},
		"period":   {store.RunQuery{Period: orders.Period}, func(r run.Run) bool { return r.Period == orders.Period }},
		"status":   {store.RunQuery{Status: run.Running}, func(r run.Run) bool { return r.Status == run.Running }},
		"from":     {store.RunQuery{From: on("2026-03-04")}, func(r run.Run) bool { return r.Period.Compare(on("2026-03-04")) >= 0 }},
		"to":       {store.RunQuery{To: on("2026-11-01T01")}, func(r run.Run) bool { return r.Period.Compare(on("2026-11-01T01")) <= 0 }},
		"all of them": {
			store.RunQuery{Pipeline: "silver", From: on("2026-11-01"), To: on("2026-11-01T01-05:00"), Status: run.Pending},
			func(r run.Run) bool {
				return r.Pipeline == "silver" && r.Period.Compare(on("2026-11-01")) >= 0 && r.Period.Compare(on("2026-11-01T01-05:00")) <= 0
			},
		},
		"nothing": {store.RunQuery{Pipeline: "gold"}, func(run.Run) bool { return false }},
	} {
		var want []run.Run
		for _, r := range sorted {
			if c.want(r) {
				want = append(want, r)
			}
		}
		f.same(name, f.runs(c.q), want)
		got := walk(f, 2, func(limit int, cursor string) (store.Page[run.Run], error) {
			c.q.Limit, c.q.Cursor = limit, cursor
			return f.s.Runs(f.ctx, c.q)
		})
		f.same(name+" in pages", got, want)
	}
}

func (f *fixture) runPage(limit int, cursor string) (store.Page[run.Run], error) {
	return f.s.Runs(f.ctx, store.RunQuery{Limit: limit, Cursor: cursor})
}

func runPages(f *fixture) {
	f.createSorted()
	for size := 1; size <= len(sorted)+1; size++ {
		f.same("pages", walk(f, size, f.runPage), sorted)
	}
	for _, cursor := range []string{"nonsense", "a/b/c/d/e"} {
		_, err := f.runPage(1, cursor)
		f.wantErr("a cursor that no query returned", err, store.ErrCursor)
	}
}

func runPagesMeanwhile(f *fixture) {
	f.createSorted()
	seen := map[run.Key]int{}
	n := 0
	walk(f, 2, func(limit int, cursor string) (store.Page[run.Run], error) {
		n++
		f.create(opened(keyOf("gold", fmt.Sprintf("2026-12-%02d", n))), opened(keyOf("gold", fmt.Sprintf("2025-01-%02d", n))))
		page, err := f.runPage(limit, cursor)
		for _, r := range page.Items {
			seen[r.Key]++
		}
		return page, err
	})
	for _, r := range sorted {
		if seen[r.Key] != 1 {
			f.t.Errorf("%s was on %d pages", r.Key, seen[r.Key])
		}
	}
}

func runDefaultPage(f *fixture) {
	for day := range 4 {
		for hour := range 24 {
			f.create(opened(keyOf("orders", fmt.Sprintf("2026-03-%02dT%02d", day+1, hour))))
		}
	}
	for n := range 5 {
		f.create(opened(keyOf("orders", fmt.Sprintf("2026-04-%02d", n+1))))
	}
	page, err := f.s.Runs(f.ctx, store.RunQuery{})
	f.check(err)
	if len(page.Items) != store.DefaultPage || page.Next == "" {
		f.t.Errorf("a page without a limit has %d of 101 runs, next %q", len(page.Items), page.Next)
	}
	page, err = f.runPage(0, page.Next)
	f.check(err)
	if len(page.Items) != 1 || page.Next != "" {
		f.t.Errorf("the second page has %d runs, next %q", len(page.Items), page.Next)
	}
}

// A run that moves on is listed by its new status alone, whichever list a store reads.
func runsByStatus(f *fixture) {
	f.createSorted()
	now := map[run.Key]run.Run{}
	for _, r := range sorted {
		now[r.Key] = r
	}
	statuses := []run.Status{
		run.Pending, run.Triggering, run.Running, run.Completed, run.Failed, run.FailedFinal, run.JobPollExhausted, run.ValidationExhausted, run.Cancelled,
	}
	moves := [][]run.Status{{run.FailedFinal, run.Pending, run.Completed}, {run.ValidationExhausted, run.Cancelled}, {run.Cancelled, run.Pending}, {run.Failed}}
	for i, moves := range moves {
		for _, to := range moves {
			old := now[sorted[2*i].Key]
			next := turned(old, to)
			f.commit(func(b *store.Batch) { b.Swap(old, next) })
			now[old.Key] = next
		}
	}
	for _, status := range statuses {
		for _, id := range []pipeline.ID{"", "orders", "silver"} {
			var want []run.Run
			for _, r := range sorted {
				if r = now[r.Key]; r.Status == status && (id == "" || r.Pipeline == id) {
					want = append(want, r)
				}
			}
			q := store.RunQuery{Pipeline: id, Status: status}
			f.same(fmt.Sprintf("%s of %q", status, id), f.runs(q), want)
			f.same(fmt.Sprintf("%s of %q in pages", status, id), walk(f, 1, func(limit int, cursor string) (store.Page[run.Run], error) {
				q.Limit, q.Cursor = limit, cursor
				return f.s.Runs(f.ctx, q)
			}), want)
		}
	}
	f.same("between", f.runs(store.RunQuery{Status: run.Cancelled, From: on("2026-01-01")}), f.runs(store.RunQuery{Status: run.Cancelled, From: on("2026-01-01"), To: on("2027-01-01")}))
}

func openRuns(f *fixture) {
	f.createSorted()
	f.commit(func(b *store.Batch) { b.Swap(run.Run{}, dried(opened(keyOf("orders", "2026-03-09")))) })
	var all, some []run.Run
	for i := len(sorted) - 1; i >= 0; i-- {
		switch r := sorted[i]; {
		case !r.Status.Open() || r.Period == orders.Period: // the three of one period come below, by name
		case r.Pipeline == "orders":
			all, some = append(all, r), append(some, r)
		default:
			all = append(all, r)
		}
		if i == 8 {
			all, some = append(all, sorted[8:11]...), append(some, sorted[8:10]...)
		}
	}
	got, err := f.s.OpenRuns(f.ctx, "")
	f.check(err)
	f.same("of all", got, all)
	got, err = f.s.OpenRuns(f.ctx, "orders")
	f.check(err)
	f.same("of orders", got, some)

	f.commit(func(b *store.Batch) { b.Swap(opened(orders), turned(opened(orders), run.Completed)) })
	f.commit(func(b *store.Batch) {
		b.Swap(sorted[6], turned(sorted[6], run.Pending))
	})
	got, err = f.s.OpenRuns(f.ctx, "orders")
	f.check(err)
	f.same("of orders, later", got, []run.Run{sorted[11], sorted[9], turned(sorted[6], run.Pending)})
}

func runsAt(f *fixture) {
	f.createSorted()
	got, err := f.s.RunsAt(f.ctx, []run.Key{orders, keyOf("orders", "2026-03-09"), sorted[1].Key, orders})
	f.check(err)
	f.same("runs", got, map[run.Key]run.Run{orders: opened(orders), sorted[1].Key: sorted[1]})
	got, err = f.s.RunsAt(f.ctx, nil)
	f.check(err)
	f.same("none", got, map[run.Key]run.Run{})
}

func dryRunsApart(f *fixture) {
	dry := dried(turned(opened(orders), run.Triggering))
	f.commit(func(b *store.Batch) { b.Swap(run.Run{}, dried(opened(orders))) })
	f.create(opened(orders))
	f.commit(func(b *store.Batch) { b.Swap(opened(orders), dry) })
	got, err := f.s.DryRun(f.ctx, orders)
	f.check(err)
	f.same("dry run", got, dry)
	f.same("run", f.run(orders), opened(orders))
	f.same("listed", f.runs(store.RunQuery{}), []run.Run{opened(orders)})
}
