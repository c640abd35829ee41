package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/rowtest"
)

// checkModel makes random calls to a store and to the model, and compares their answers and
// contents.
func checkModel(t *testing.T, open func(t *testing.T) store.Store, o Options) {
	if o.Slow {
		rowtest.Shorten(t)
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := open(t)
		defer func() {
			if err := s.Close(); err != nil {
				rt.Errorf("close: %v", err)
			}
		}()
		w := &walker{
			T: rt, f: &fixture{t: rt, s: s, ctx: t.Context(), o: o}, now: noon,
			m: newModel(),
		}
		rt.Repeat(map[string]func(*rapid.T){
			"commit":  w.commit,
			"again":   w.again,
			"put":     w.put,
			"claim":   w.claim,
			"renew":   w.renew,
			"release": w.release,
			"void":    w.void,
			"receive": w.receive,
			"done":    w.done,
			"":        w.compare,
		})
	})
}

// walker makes the calls.
type walker struct {
	*rapid.T
	f      *fixture
	m      model
	now    time.Time
	sent   []store.Batch
	leases []store.Lease
	query  store.ClaimQuery  // of the last claim
	held   [2][]store.Change // received and not acknowledged, by group
}

// The names that the walk uses: few, so that calls collide.
var (
	modelRuns  = []run.Key{keyOf("orders", "2026-11-01T01"), keyOf("orders", "2026-11-01T01-05:00"), keyOf("silver", "2026-11-01")}
	modelTasks = []string{"a", "b", "c"}
	modelKinds = []store.TaskKind{store.Advance, store.Fire}
	modelMarks = []string{"m", "n", "o", "p", "q", "r", "s", "t"}
	modelDates = []string{"", "2026-11-01", "2026-11-01T01", "2026-11-01T01-05:00", "2026-11-01T01:30-05:00", "2026-11-02"}
	modelKeys  = []sensor.Key{"rows", "status"}
	replicas   = []string{"", "here", "there"}
	followers  = []string{"router", "archive"}
)

// pass advances the time, mostly by nothing, so that leases live for some calls.
func (w *walker) pass(t *rapid.T) {
	w.now = w.now.Add(rapid.SampledFrom([]time.Duration{0, 0, 0, 10 * time.Second, 30 * time.Second}).Draw(t, "pass"))
}

// lately returns the last few of a list, which most likely still matter.
func lately[T any](list []T) []T { return list[max(0, len(list)-3):] }

func (w *walker) commit(t *rapid.T) {
	w.pass(t)
	b := w.f.batch()
	if len(w.leases) > 0 && rapid.Bool().Draw(t, "leased") {
		l := rapid.SampledFrom(lately(w.leases)).Draw(t, "lease")
		b.Lease = &l
	}
	for _, key := range modelRuns {
		if rapid.IntRange(0, 3).Draw(t, "swap") == 0 {
			w.drawSwap(t, &b, key)
		}
	}
	for _, id := range modelTasks {
		own := b.Lease != nil && b.Lease.Task == id
		switch n := rapid.IntRange(0, 7).Draw(t, "task"); {
		case n == 0, own && n < 3:
			b.Finish(id)
		case n < 5:
			b.Schedule(w.drawTask(t, id))
		}
	}
	if rapid.IntRange(0, 4).Draw(t, "mark") == 0 {
		b.SetMark(rapid.SampledFrom(modelMarks).Draw(t, "which mark"), time.Time{})
	}
	for range rapid.IntRange(0, 2).Draw(t, "events") {
		which := rapid.IntRange(0, 20).Draw(t, "event")
		b.Emit(newEvent(orders, fmt.Sprint(which), noon))
	}
	w.send(t, b)
	w.sent = append(w.sent, b)
}

// drawSwap swaps a run from its current version, or sometimes from another.
func (w *walker) drawSwap(t *rapid.T, b *store.Batch, key run.Key) {
	read := w.m.runs[key].Version
	if rapid.IntRange(0, 5).Draw(t, "stale") == 0 {
		read = rapid.Int64Range(0, read+1).Draw(t, "read")
	}
	next := opened(key)
	next.Version = read + rapid.Int64Range(1, 2).Draw(t, "by")
	next.Status = rapid.SampledFrom(run.Statuses()).Draw(t, "status")
	next.Attempt = rapid.IntRange(1, 2).Draw(t, "attempt")
	b.Runs = append(b.Runs, store.Swap[run.Run]{Read: read, Next: next})
}

func (w *walker) drawTask(t *rapid.T, id string) store.Task {
	task := taskFor(id, w.now.Add(time.Duration(rapid.IntRange(-6, 2).Draw(t, "due"))*10*time.Second))
	task.Replica = rapid.SampledFrom(replicas).Draw(t, "replica")
	task.Kind = rapid.SampledFrom(modelKinds).Draw(t, "kind")
	if rapid.IntRange(0, 2).Draw(t, "failed") == 0 {
		task.Failures = rapid.IntRange(0, 9).Draw(t, "failures")
		task = task.Failed(w.now)
	}
	return task
}

// send commits a Batch to both, which must answer alike.
func (w *walker) send(t *rapid.T, b store.Batch) {
	want := w.m.commit(b, w.now)
	got := w.f.s.Commit(w.f.ctx, b, w.now)
	if want == nil && got != nil || want != nil && !errors.Is(got, want) {
		t.Fatalf("commit %+v at %s: error %v, want %v", b, w.now, got, want)
	}
}

func (w *walker) again(t *rapid.T) {
	if len(w.sent) == 0 {
		t.Skip("nothing was sent yet")
	}
	w.pass(t)
	w.send(t, rapid.SampledFrom(lately(w.sent)).Draw(t, "batch"))
}

func (w *walker) put(t *rapid.T) {
	w.pass(t)
	var writes []store.Write
	for range rapid.IntRange(1, 3).Draw(t, "writes") {
		in := write(rapid.SampledFrom(modelDates).Draw(t, "date"), rapid.Int64Range(0, 1).Draw(t, "count"))
		in.Reading.Key = rapid.SampledFrom(modelKeys).Draw(t, "key")
		in.Order = rapid.Int64Range(0, 3).Draw(t, "order")
		in.Series = rapid.SampledFrom([]string{"", "cron"}).Draw(t, "series")
		if rapid.IntRange(0, 4).Draw(t, "delete") == 0 {
			in.Reading.Fields, in.Reading.Deleted = nil, true
		}
		writes = append(writes, in)
	}
	puts := w.f.put(w.now, writes...)
	for i, in := range writes {
		w.f.check(w.m.put(in, puts[i], w.now))
	}
}

func (w *walker) claim(t *rapid.T) {
	w.pass(t)
	q := store.ClaimQuery{
		Replica: rapid.SampledFrom(replicas[1:]).Draw(t, "who"), Limit: rapid.IntRange(0, 3).Draw(t, "limit"),
		Lease: 30 * time.Second, LostAfter: 50 * time.Second,
	}
	if rapid.IntRange(0, 3).Draw(t, "by name") == 0 {
		q.Task = rapid.SampledFrom(modelTasks).Draw(t, "which task")
	}
	if rapid.IntRange(0, 2).Draw(t, "by kind") == 0 {
		q.Kinds = []store.TaskKind{rapid.SampledFrom(modelKinds).Draw(t, "which kind")}
	}
	w.query = q
	claims := w.f.claimWith(q, w.now)
	w.f.check(w.m.claim(q, claims, w.now))
	for _, c := range claims {
		w.leases = append(w.leases, c.Lease)
	}
}

func (w *walker) someLeases(t *rapid.T) []store.Lease {
	if len(w.leases) == 0 {
		t.Skip("nothing was claimed yet")
	}
	w.pass(t)
	some := rapid.SliceOfN(rapid.SampledFrom(lately(w.leases)), 1, 2).Draw(t, "leases")
	slices.SortFunc(some, func(a, b store.Lease) int { return cmp.Compare(b.Token, a.Token) })
	return slices.Compact(some)
}

func (w *walker) renew(t *rapid.T) {
	leases := w.someLeases(t)
	got, err := w.f.s.Renew(w.f.ctx, leases, 30*time.Second, w.now)
	w.f.check(err)
	w.f.same("renewed", got, w.m.renew(leases, w.now))
}

func (w *walker) release(t *rapid.T) {
	leases := w.someLeases(t)
	w.f.check(w.f.s.Release(w.f.ctx, leases, w.now))
	w.m.release(leases, w.now)
}

func (w *walker) void(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "restart") != 0 {
		t.Skip("too often")
	}
	w.f.check(w.f.s.VoidLeases(w.f.ctx))
	for _, task := range w.m.tasks {
		task.until = time.Time{}
	}
}

func (w *walker) receive(t *rapid.T) {
	g := rapid.IntRange(0, 1).Draw(t, "group")
	free := w.m.free(g)
	if len(free) == 0 {
		t.Skip("nothing to receive")
	}
	limit := rapid.IntRange(1, 4).Draw(t, "limit")
	got := w.f.receive(followers[g], limit)
	free = free[:min(limit, len(free))]
	w.held[g] = append(w.held[g], got...)
	if len(got) != len(free) {
		t.Fatalf("received %d changes, want %d", len(got), len(free))
	}
	for i, n := range free {
		w.m.changes[n].state[g] = given
		want := w.m.changes[n].Change
		w.m.changes[n].Position = got[i].Position
		want.Position = got[i].Position
		w.f.same("change", got[i], want)
	}
}

func (w *walker) done(t *rapid.T) {
	g := rapid.IntRange(0, 1).Draw(t, "group")
	if len(w.held[g]) == 0 {
		t.Skip("nothing is held")
	}
	i := rapid.IntRange(0, len(w.held[g])-1).Draw(t, "which")
	c := w.held[g][i]
	w.held[g] = append(w.held[g][:i:i], w.held[g][i+1:]...)
	w.f.done(followers[g], c)
	for n := range w.m.changes {
		if w.m.changes[n].Position == c.Position {
			w.m.changes[n].state[g] = finished
		}
	}
}

// compare reads everything from both.
func (w *walker) compare(*rapid.T) {
	f := w.f
	all := f.runs(store.RunQuery{})
	f.same("runs", all, w.m.allRuns())
	open, err := f.s.OpenRuns(f.ctx, "")
	f.check(err)
	f.same("open runs", open, w.m.openRuns())
	w.compareTasks()
	for _, key := range modelKeys {
		f.same("history", f.history(key), w.m.history(key))
		w.compareShown(key)
	}
	latest := f.latest("orders")
	f.same("latest", latest, w.m.latest())
	page, err := f.s.Events(f.ctx, store.EventQuery{Ascending: true})
	f.check(err)
	f.same("events", page.Items, w.m.events)
	marks, err := f.s.Marked(f.ctx, modelMarks)
	f.check(err)
	f.same("marks", marks, w.m.marks)
	for g, group := range followers {
		n, oldest, err := f.s.Backlog(f.ctx, group)
		f.check(err)
		wantN, wantOldest := w.m.backlog(g)
		f.same("backlog", n, wantN)
		f.same("oldest", oldest, wantOldest)
	}
	if w.Failed() {
		w.Fatal("the store and the model differ")
	}
}

func (w *walker) compareTasks() {
	f := w.f
	for _, id := range modelTasks {
		got, err := f.s.Task(f.ctx, id)
		want := w.m.tasks[id]
		if want == nil {
			f.wantErr("task "+id, err, store.ErrNotFound)
			continue
		}
		f.check(err)
		f.same("task", got, want.Task)
	}
	due, err := f.s.NextDue(f.ctx, w.query)
	f.check(err)
	f.same("next due", due, w.m.nextDue(w.query))
	late, err := f.s.Overdue(f.ctx, w.now, 10)
	f.check(err)
	f.same("overdue", late, w.m.overdue(w.now))
}

func (w *walker) compareShown(key sensor.Key) {
	f := w.f
	var queries []store.ReadingQuery
	for _, date := range modelDates {
		q := store.ReadingQuery{Pipeline: "orders", Key: key}
		if date != "" {
			q.Period = on(date)
		}
		queries = append(queries, q)
	}
	answers, err := f.s.Readings(f.ctx, queries)
	f.check(err)
	for i, q := range queries {
		f.same("shown for "+q.Period.String(), byPeriod(answers[i]), w.m.shown(key, q.Period))
	}
}
