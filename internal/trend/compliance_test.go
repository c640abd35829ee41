package trend_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
	"github.com/interlock-go/interlock/internal/trend"
)

var (
	ctx  = context.Background()
	noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
)

const day = 24 * time.Hour

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ended stores a deadline that long before noon; late is how late its run completed.
func ended(t *testing.T, s *memory.Store, id pipeline.ID, ago time.Duration, state sla.State, late time.Duration) {
	t.Helper()
	at := noon.Add(-ago)
	d := store.Deadline{
		Key: run.Key{Pipeline: id, Schedule: pipeline.ByCron, Period: period.At(at, period.Day, time.UTC)}, Kind: store.Absolute, Version: 1,
		Deadline: sla.Deadline{State: state, BreachAt: at},
	}
	if late != never {
		d.DoneAt = at.Add(late)
	}
	b := store.Batch{ID: "deadline/" + d.Key.String()}
	b.SwapDeadline(store.Deadline{}, d)
	must(t, s.Commit(ctx, b, noon))
}

const never = 1000 * time.Hour

func TestDeadlinesAreCountedOverEachWindow(t *testing.T) {
	s := memory.New()
	ended(t, s, "orders", day, sla.Met, -2*time.Hour)
	ended(t, s, "orders", 2*day, sla.Breached, 20*time.Minute)
	ended(t, s, "orders", 10*day, sla.Breached, never)
	ended(t, s, "orders", 60*day, sla.Met, -time.Minute)
	ended(t, s, "orders", 89*day, sla.Met, 0)
	ended(t, s, "orders", 91*day, sla.Met, 0)
	ended(t, s, "orders", -day, sla.Met, -2*day)
	ended(t, s, "orders", -2*day, sla.Armed, never)
	ended(t, s, "bronze", 3*day, sla.Cancelled, never)
	got, err := trend.NewLedger(s).Compliance(ctx, noon)
	must(t, err)
	type counts struct{ Met, Breached, Cancelled int }
	of := func(id pipeline.ID) (out [3]counts) {
		for i, w := range got[id] {
			out[i] = counts{w.Met, w.Breached, w.Cancelled}
		}
		return out
	}
	if diff := cmp.Diff([3]counts{{2, 1, 0}, {2, 2, 0}, {4, 2, 0}}, of("orders")); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([3]counts{{0, 0, 1}, {0, 0, 1}, {0, 0, 1}}, of("bronze")); diff != "" {
		t.Errorf("bronze (-want +got):\n%s", diff)
	}
	all := got["orders"][2]
	if all.Longest != 20*time.Minute {
		t.Errorf("longest is %s", all.Longest)
	}
	if diff := cmp.Diff([9]int{1, 1, 0, 2, 0, 1, 0, 0, 1}, all.Late); diff != "" {
		t.Errorf("lateness (-want +got):\n%s", diff)
	}
}

func TestLateCompletionIsCountedOnceItsDayIsReadAgain(t *testing.T) {
	s := memory.New()
	ended(t, s, "orders", 10*day, sla.Breached, never)
	l := trend.NewLedger(s)
	late := func(now time.Time) int {
		t.Helper()
		got, err := l.Compliance(ctx, now)
		must(t, err)
		return got["orders"][1].Late[len(trend.Bins)]
	}
	if n := late(noon); n != 0 {
		t.Fatalf("%d completed late", n)
	}
	page, err := s.Deadlines(ctx, store.DeadlineQuery{})
	must(t, err)
	old, next := page.Items[0], page.Items[0]
	next.Version, next.DoneAt = 2, noon
	b := store.Batch{ID: "late"}
	b.SwapDeadline(old, next)
	must(t, s.Commit(ctx, b, noon))
	if n := late(noon.Add(time.Minute)); n != 0 {
		t.Errorf("a day long past was read again at once: %d", n)
	}
	if n := late(noon.Add(time.Hour)); n != 1 {
		t.Errorf("%d completed late, want 1", n)
	}
}
