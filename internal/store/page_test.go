package store_test

import (
	"cmp"
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

func TestPageSize(t *testing.T) {
	for limit, want := range map[int]int{-1: 100, 0: 100, 1: 1, 500: 500, 1000: 1000, 1001: 1000} {
		if got := store.PageSize(limit); got != want {
			t.Errorf("limit %d gives %d, want %d", limit, got, want)
		}
	}
}

func TestCursorsAreReadBack(t *testing.T) {
	key, err := run.ParseKey("orders/cron/2026-03-03")
	if err != nil {
		t.Fatal(err)
	}
	want := store.Deadline{Key: key, Kind: "completion"}
	want.BreachAt = time.Date(2026, 3, 3, 6, 0, 0, 1, time.UTC)
	if got, err := store.AfterDeadline(store.DeadlineCursor(want)); err != nil || got != want {
		t.Errorf("deadline %v, %v", got, err)
	}
	if got, err := store.AfterRun(store.RunCursor(run.Run{Key: key})); err != nil || got != key {
		t.Errorf("run %v, %v", got, err)
	}
	if got, err := store.AfterNumber(store.NumberCursor(int64(math.MaxInt64))); err != nil || got != math.MaxInt64 {
		t.Errorf("number %v, %v", got, err)
	}
}

func TestCursorOfAnotherListIsRejected(t *testing.T) {
	for _, cursor := range []string{"!", "0", "orders", "2026-03-03T06:00:00Z", "2026-03-03T06:00:00Z window orders"} {
		_, ofRuns := store.AfterRun(cursor)
		_, ofDeadlines := store.AfterDeadline(cursor)
		_, ofNumbers := store.AfterNumber(cursor)
		for list, err := range map[string]error{"runs": ofRuns, "deadlines": ofDeadlines, "numbers": ofNumbers} {
			if !errors.Is(err, store.ErrCursor) {
				t.Errorf("%s, %q: error %v", list, cursor, err)
			}
		}
	}
}

// somePeriod draws names that are close together, including repeated ones with various offsets.
func somePeriod(t *rapid.T, label string) period.Period {
	sizes := period.Sizes()
	size := rapid.SampledFrom(sizes[:]).Draw(t, label+" size")
	p, err := period.New(size, rapid.SampledFrom([]int{1, 2026, 9999}).Draw(t, label+" year"), time.Month(rapid.SampledFrom([]int{1, 3, 4}).Draw(t, label+" month")),
		rapid.IntRange(1, 2).Draw(t, label+" day"), rapid.IntRange(0, 2).Draw(t, label+" hour"), rapid.IntRange(0, 2).Draw(t, label+" minute"))
	if err != nil {
		t.Fatal(err)
	}
	if size >= period.Day || rapid.Bool().Draw(t, label+" first") {
		return p
	}
	offset := rapid.SampledFrom([]string{"-05:00", "+00:00", "+05:30", "-04:56:02", "+23:59:59", "-23:59"}).Draw(t, label+" offset")
	if p, err = period.Parse(p.String() + offset); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPeriodKeysSortAsPeriodsCompare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := somePeriod(t, "a"), somePeriod(t, "b")
		if got, want := cmp.Compare(store.PeriodKey(a), store.PeriodKey(b)), a.Compare(b); got != want {
			t.Fatalf("%s and %s compare as %d, their keys %s and %s as %d", a, b, want, store.PeriodKey(a), store.PeriodKey(b), got)
		}
	})
	p, err := period.Parse("0001-01-01")
	if err != nil {
		t.Fatal(err)
	}
	if store.PeriodKey(period.Period{}) >= store.PeriodKey(p) {
		t.Error("the undated key does not sort first")
	}
}
