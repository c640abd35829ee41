package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// noon is the instant from which tests count. Its nanoseconds show whether a store keeps them.
var noon = time.Date(2026, 3, 3, 12, 0, 0, 123456789, time.UTC)

// guard bounds waits that would otherwise never end; no test depends on its length.
const guard = 2 * time.Minute

// fixture is one store with shorthands for its calls. An unexpected error ends the test.
type fixture struct {
	t   rapid.TB
	tt  *testing.T // nil inside a property
	s   store.Store
	ctx context.Context
	o   Options
	ids int
}

func newFixture(t *testing.T, s store.Store, o Options) *fixture {
	f := &fixture{t: t, tt: t, s: s, ctx: t.Context(), o: o}
	t.Cleanup(func() {
		if err := f.s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return f
}

// stride is the step of claims that try every page size.
func (f *fixture) stride() int {
	if f.o.Slow {
		return 3
	}
	return 1
}

// rounds returns how often a repetitive claim repeats, out of n.
func (f *fixture) rounds(n int) int {
	if f.o.Slow {
		return n / 8
	}
	return n
}

func (f *fixture) reopen() { f.s = f.o.Reopen(f.tt, f.s) }

// check ends the test on an error.
func (f *fixture) check(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// same compares got with want.
func (f *fixture) same(what string, got, want any) {
	f.t.Helper()
	if reflect.DeepEqual(got, want) { // almost always, and much faster
		return
	}
	if diff := cmp.Diff(want, got, comparing...); diff != "" {
		f.t.Errorf("%s: want -, got +\n%s", what, diff)
	}
}

var comparing = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.Comparer(func(a, b period.Period) bool { return a == b }),
	cmp.Comparer(func(a, b sensor.Fields) bool { return sensor.SameData(a, b) }),
}

// wantErr checks that err is want.
func (f *fixture) wantErr(what string, err, want error) {
	f.t.Helper()
	if !errors.Is(err, want) {
		f.t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

// batch returns a Batch with a unique id.
func (f *fixture) batch() store.Batch {
	f.ids++
	return store.Batch{ID: fmt.Sprintf("batch/%d", f.ids)}
}

// commit commits a new Batch that fill has filled.
func (f *fixture) commit(fill func(b *store.Batch)) {
	f.t.Helper()
	f.commitAt(noon, fill)
}

func (f *fixture) commitAt(now time.Time, fill func(b *store.Batch)) {
	f.t.Helper()
	b := f.batch()
	fill(&b)
	f.check(f.s.Commit(f.ctx, b, now))
}

// conflicts checks that such a Batch is rejected.
func (f *fixture) conflicts(what string, now time.Time, fill func(b *store.Batch)) {
	f.t.Helper()
	b := f.batch()
	fill(&b)
	f.wantErr(what, f.s.Commit(f.ctx, b, now), store.ErrConflict)
}

func (f *fixture) create(runs ...run.Run) {
	f.t.Helper()
	for _, r := range runs {
		f.commit(func(b *store.Batch) { b.Create(r) })
	}
}

func (f *fixture) run(key run.Key) run.Run {
	f.t.Helper()
	r, err := f.s.Run(f.ctx, key)
	f.check(err)
	return r
}

// put writes readings of one pipeline.
func (f *fixture) put(now time.Time, writes ...store.Write) []store.Put {
	f.t.Helper()
	most, all := f.o.MaxWrites, []store.Put{}
	if most == 0 {
		most = store.MaxWrites
	}
	for some := range slices.Chunk(writes, most) {
		puts, err := f.s.PutReadings(f.ctx, some, now)
		f.check(err)
		if len(puts) != len(some) {
			f.t.Fatalf("%d writes, %d answers", len(some), len(puts))
		}
		all = append(all, puts...)
	}
	return all
}

func (f *fixture) schedule(tasks ...store.Task) {
	f.t.Helper()
	for _, t := range tasks {
		f.commit(func(b *store.Batch) { b.Schedule(t) })
	}
}

// claim claims everything that is due, as the replica "here".
func (f *fixture) claim(now time.Time) []store.Claim {
	f.t.Helper()
	return f.claimWith(store.ClaimQuery{Replica: "here", Limit: 100, Lease: time.Minute, LostAfter: time.Hour}, now)
}

func (f *fixture) claimWith(q store.ClaimQuery, now time.Time) []store.Claim {
	f.t.Helper()
	claims, err := f.s.Claim(f.ctx, q, now)
	f.check(err)
	return claims
}

// claimOne expects exactly one task to be due.
func (f *fixture) claimOne(now time.Time) store.Claim {
	f.t.Helper()
	claims := f.claim(now)
	if len(claims) != 1 {
		f.t.Fatalf("claimed %v, want one task", claims)
	}
	return claims[0]
}

func (f *fixture) task(id string) store.Task {
	f.t.Helper()
	t, err := f.s.Task(f.ctx, id)
	f.check(err)
	return t
}

func (f *fixture) noTask(id string) {
	f.t.Helper()
	t, err := f.s.Task(f.ctx, id)
	f.wantErr(fmt.Sprintf("task %+v", t), err, store.ErrNotFound)
}

// after returns noon plus d.
func after(d time.Duration) time.Time { return noon.Add(d) }

func on(name string) period.Period {
	p, err := period.Parse(name)
	if err != nil {
		panic(err) // a name in a test
	}
	return p
}

func keyOf(id pipeline.ID, date string) run.Key {
	return run.Key{Pipeline: id, Schedule: pipeline.ByCron, Period: on(date)}
}

// orders is the run of most tests.
var orders = keyOf("orders", "2026-03-03")

// opened returns a new run.
func opened(key run.Key) run.Run {
	r, err := run.New(key, run.Opening{
		Cause: run.CauseCron, ConfigVersion: "v1", At: noon,
		Limits: run.Limits{Window: time.Hour, Interval: time.Minute, PollInterval: time.Minute, PollWindow: time.Hour, StartTries: 3},
	})
	if err != nil {
		panic(err) // an opening in a test
	}
	return r
}

// dried returns r as a dry run.
func dried(r run.Run) run.Run {
	r.DryRun = true
	return r
}

// turned returns r in another status, with the next version.
func turned(r run.Run, s run.Status) run.Run {
	r.Version++
	r.Status = s
	return r
}

// touched returns r with the next version, and otherwise unchanged.
func touched(r run.Run) run.Run { return turned(r, r.Status) }

func taskFor(id string, due time.Time) store.Task {
	return store.Task{ID: id, Kind: store.Advance, Pipeline: "orders", Key: orders, Due: due}
}

// newEvent returns an event about a run, with a message that distinguishes it from others.
func newEvent(key run.Key, which string, at time.Time) event.Event {
	return event.New(event.JobCompleted,
		event.About{Pipeline: key.Pipeline, Schedule: key.Schedule, Date: key.Period, Attempt: 1, Which: which, At: at},
		which, event.Finished{DurationSeconds: 1 << 40})
}

func armed(key run.Key, kind store.DeadlineKind, breach time.Time) store.Deadline {
	return store.Deadline{
		Key: key, Kind: kind, Version: 1, Config: "v1", ArmedAt: noon,
		Deadline: sla.Deadline{State: sla.Armed, WarnAt: breach.Add(-time.Hour), BreachAt: breach},
	}
}

// write returns a write of the sensor "rows" of orders, for a period ("" for none).
func write(date string, count int64) store.Write {
	w := store.Write{Pipeline: "orders", Reading: sensor.Reading{Key: "rows", Fields: sensor.Fields{"count": count}}}
	if date != "" {
		w.Reading.Period = on(date)
	}
	return w
}

// ordered gives w an order.
func ordered(w store.Write, order int64) store.Write {
	w.Order = order
	return w
}
