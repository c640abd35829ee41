package sensor_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/sensor"
)

var midnight = time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC)

func readings(t failer, names ...string) []*sensor.Reading {
	var out []*sensor.Reading
	for i, name := range names {
		out = append(out, &sensor.Reading{Key: "k", Period: parsed(t, name), Version: int64(i + 1), UpdatedAt: midnight})
	}
	return out
}

// shown names the picked reading: its period, "undated", or "none, other …".
func shown(s sensor.Seen) string {
	switch {
	case s.Reading == nil:
		return "none, other " + s.Other.String()
	case s.Reading.Period.IsZero():
		return "undated"
	}
	return s.Reading.Period.String()
}

func TestForPeriodPicksTheSmallestContainingPeriod(t *testing.T) {
	for _, tc := range []struct {
		period string
		latest []string
		want   string
	}{
		{"2026-03-03", nil, "none, other "},
		{"2026-03-03", []string{""}, "undated"},
		{"2026-03-03", []string{"", "2026-03-03", "2026-03-02"}, "2026-03-03"},
		{"2026-03-03", []string{"2026-03-02", ""}, "undated"},
		{"2026-03-03", []string{"2026-03-01", "2026-03-02", "2026-02-01"}, "none, other 2026-03-02"},
		{"2026-03-03", []string{"2026-03-04"}, "none, other 2026-03-04"},
		{"2026-03-03", []string{"2026-03-03T07"}, "none, other 2026-03-03T07"},
		{"2026-03-03T07", []string{"", "2026-03-03"}, "2026-03-03"},
		{"2026-03-03T07", []string{"2026-03-03", "2026-03-03T07", "2026-03-03T08", ""}, "2026-03-03T07"},
		{"2026-03-03T07", []string{"2026-03-03T06", ""}, "undated"},
		{"2026-03-03T07:15", []string{"2026-03-03", "2026-03-03T07", ""}, "2026-03-03T07"},
		{"2026-03-03T07:15", []string{"2026-03-03T07", "2026-03-03"}, "2026-03-03T07"},
		{"2026-03-03T07:15", []string{"2026-03-03T07:16"}, "none, other 2026-03-03T07:16"},
		{"2026-11-01T01-05:00", []string{"2026-11-01T01"}, "none, other 2026-11-01T01"},
		{"2026-11-01T01-05:00", []string{"2026-11-01"}, "2026-11-01"},
		{"", []string{"2026-03-03", ""}, "undated"},
		{"", []string{"2026-03-03"}, "none, other 2026-03-03"},
	} {
		seen := sensor.ForPeriod(parsed(t, tc.period), readings(t, tc.latest...))
		if got := shown(seen); got != tc.want {
			t.Errorf("%s among %q: got %s, want %s", tc.period, tc.latest, got, tc.want)
		}
		if seen.For != parsed(t, tc.period) || seen.Note != "" {
			t.Errorf("%s: seen for %s, note %q", tc.period, seen.For, seen.Note)
		}
	}
}

func TestForPeriodDoesNotDependOnOrder(t *testing.T) {
	names := []string{"", "2026-03-02", "2026-03-03", "2026-03-03T07", "2026-03-03T07:15", "2026-03-03T08", "2026-03-04"}
	rapid.Check(t, func(t *rapid.T) {
		chosen := rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID[string]).Draw(t, "latest")
		p := parsed(t, rapid.SampledFrom(names).Draw(t, "period"))
		latest := readings(t, chosen...)
		again := rapid.Permutation(latest).Draw(t, "again")
		if a, b := shown(sensor.ForPeriod(p, latest)), shown(sensor.ForPeriod(p, again)); a != b {
			t.Fatalf("%s or %s", a, b)
		}
		if r := sensor.ForPeriod(p, latest).Reading; r != nil && !r.Period.IsZero() && !r.Period.Holds(p) {
			t.Fatalf("%s was used for %s", r.Period, p)
		}
	})
}

func TestUndatedReadingFromBeforeThePeriodStartsNothing(t *testing.T) {
	day := parsed(t, "2026-03-03")
	written := func(at time.Time) []*sensor.Reading { return []*sensor.Reading{{Key: "k", UpdatedAt: at}} }

	got := sensor.ForStart(day, midnight, written(midnight.Add(-10*time.Minute)))
	want := sensor.Seen{For: day, Note: "written 2026-03-02T23:50:00Z, before the period of the fire began at " +
		"2026-03-03T00:00:00Z: an undated reading from before then starts nothing; date it to use it for 2026-03-03"}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b period.Period) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	for _, after := range []time.Duration{0, time.Hour} {
		if seen := sensor.ForStart(day, midnight, written(midnight.Add(after))); seen.Reading == nil {
			t.Errorf("written %s after the first instant: %s", after, seen.Note)
		}
	}
}

func TestDatedReadingStartsItsPeriodWheneverWritten(t *testing.T) {
	day := parsed(t, "2026-03-03")
	latest := readings(t, "2026-03-03", "", "2026-03-02")
	for _, since := range []time.Time{midnight, midnight.Add(time.Hour)} {
		if got := shown(sensor.ForStart(day, since, latest)); got != "2026-03-03" {
			t.Errorf("since %s: got %s", since, got)
		}
	}
	if got := shown(sensor.ForStart(day, midnight, readings(t, "2026-03-02"))); got != "none, other 2026-03-02" {
		t.Errorf("yesterday's reading: got %s", got)
	}
	if got := shown(sensor.ForStart(day, midnight, nil)); got != "none, other " {
		t.Errorf("no reading: got %s", got)
	}
}
