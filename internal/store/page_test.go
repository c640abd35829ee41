package store_test

import (
	"cmp"
	"errors"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/period"
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
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.String(), 1, 4).Draw(t, "parts")
		got, err := store.DecodeCursor(store.EncodeCursor(parts...), len(parts))
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(parts, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestCursorOfAnotherKindIsRejected(t *testing.T) {
	for _, cursor := range []string{"!", "nonsense", store.EncodeCursor("a", "b"), store.EncodeCursor()} {
		if _, err := store.DecodeCursor(cursor, 1); !errors.Is(err, store.ErrCursor) {
			t.Errorf("%q: error %v", cursor, err)
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
