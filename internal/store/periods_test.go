package store

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/period"
)

// A period touches another if one contains the other.
func TestPeriodsTouchPeriodsTheyContainOrLieWithin(t *testing.T) {
	names := []string{
		"2026-11-01", "2026-11-01T01", "2026-11-01T01-05:00", "2026-11-01T01:30", "2026-11-01T01:30-05:00", "2026-11-01T02", "2026-11-02", "2026-11-02T01:30",
	}
	all := make([]period.Period, len(names))
	for i, name := range names {
		p, err := period.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = p
	}
	rapid.Check(t, func(t *rapid.T) {
		open := rapid.SliceOfDistinct(rapid.SampledFrom(all), func(p period.Period) period.Period { return p }).Draw(t, "open")
		var set Periods
		for _, p := range open {
			set.Add(p)
		}
		for _, p := range all {
			want := false
			for _, o := range open {
				want = want || p.Holds(o) || o.Holds(p)
			}
			if got := set.Touch(p); got != want {
				t.Errorf("%s touches %v: %t, want %t", p, open, got, want)
			}
		}
	})
}
