package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

var shownClaims = []claim{
	{"CandidatesAreWhatForPeriodChoosesFrom", candidates},
	{"RepeatedHoursAreTheirOwn", repeatedHours},
	{"LongPeriodsHoldTheirDays", longPeriods},
	{"AnotherPeriodIsFoundBelowAllThatHoldTheQuery", belowAllSizes},
	{"RangeHasAllOfItsPeriodsAndWhatHoldsThem", rangeOfPeriods},
	{"IdenticalDataIsUnchangedSinceItsFirstWrite", unchangedSince},
	{"OtherIsTheLatestPeriodNotTheLatestWrite", latestPeriod},
	{"ExpiredReadingsAreShown", expiredShown},
	{"EachQueryIsAnsweredInItsPlace", queriesInPlace},
	{"LatestIsTheLastWriteOfEachKey", latestOfKeys},
}

// byPeriod sorts an answer, which may come in any order.
func byPeriod(readings []*sensor.Reading) []*sensor.Reading {
	out := slices.Clone(readings)
	slices.SortFunc(out, func(a, b *sensor.Reading) int { return a.Period.Compare(b.Period) })
	return out
}

// periods asks for a period and gives those of the candidates, by Compare.
func (f *fixture) periods(date string) []string {
	f.t.Helper()
	_, answer := f.rows(date)
	var out []string
	for _, r := range byPeriod(answer) {
		out = append(out, r.Period.String())
	}
	return out
}

func candidates(f *fixture) {
	f.same("of nothing", f.periods("2026-03-03T10"), []string(nil))
	f.put(noon, write("2026-03-03T10", 1))
	f.same("its own alone", f.periods("2026-03-03T10"), []string{"2026-03-03T10"})
	f.same("one that does not hold it", f.periods("2026-03-03"), []string{"2026-03-03T10"})
	f.put(noon, write("2026-03-03", 2), write("", 3), write("2026-03-02", 4), write("2026-03-03T10:15", 5), write("2026-03-03T11", 6))
	for _, c := range []struct {
		date string
		want []string
	}{
		{"2026-03-03T10:15", []string{"", "2026-03-03", "2026-03-03T10", "2026-03-03T10:15", "2026-03-03T11"}},
		{"2026-03-03T10:16", []string{"", "2026-03-03", "2026-03-03T10", "2026-03-03T11"}},
		{"2026-03-03T10", []string{"", "2026-03-03", "2026-03-03T10", "2026-03-03T11"}},
		{"2026-03-03T11", []string{"", "2026-03-03", "2026-03-03T10:15", "2026-03-03T11"}},
		{"2026-03-03T12", []string{"", "2026-03-03", "2026-03-03T11"}},
		{"2026-03-03", []string{"", "2026-03-03", "2026-03-03T11"}},
		{"2026-03-02T05", []string{"", "2026-03-02", "2026-03-03T11"}},
		{"2026-03-09", []string{"", "2026-03-03T11"}},
		{"", []string{"", "2026-03-03T11"}},
	} {
		f.same("for "+c.date, f.periods(c.date), c.want)
	}
	f.put(noon, write("2026-03-03T10", 7))
	f.same("rewritten", f.shown("2026-03-03T10").Reading.Fields, sensor.Fields{"count": int64(7)})
}

func longPeriods(f *fixture) {
	f.put(noon, write("2026-03", 1), write("2026-W10", 2), write("2026-03-08", 3), write("2026-W14", 4), write("2026-02", 5), write("", 6), write("2026-Q1", 10))
	f.put(noon, write("2026-04", 7), write("2026-04-20", 8), write("2026-04-21", 9)) // the latest, of other periods
	for _, c := range []struct {
		date string
		want []string
	}{
		{"2026-03-08T10:15", []string{"", "2026-Q1", "2026-03", "2026-W10", "2026-03-08", "2026-04-21"}},
		{"2026-03-09", []string{"", "2026-Q1", "2026-03", "2026-04-21"}},
		{"2026-03-01", []string{"", "2026-Q1", "2026-03", "2026-04-21"}},
		{"2026-03-31", []string{"", "2026-Q1", "2026-03", "2026-W14", "2026-04-21"}},
		{"2026-W10", []string{"", "2026-Q1", "2026-03", "2026-W10", "2026-04-21"}},
		{"2026-W14", []string{"", "2026-W14", "2026-04", "2026-04-21"}},
		{"2026-W09", []string{"", "2026-Q1", "2026-02", "2026-04-21"}},
		{"2026-03", []string{"", "2026-Q1", "2026-03", "2026-04-21"}},
		{"2026-Q1", []string{"", "2026-Q1", "2026-04-21"}},
		{"2026-Q2", []string{"", "2026-04-21"}},
	} {
		f.same("for "+c.date, f.periods(c.date), c.want)
	}
}

func belowAllSizes(f *fixture) {
	f.put(noon, write("2025-12-31", 1), write("2025-12-30", 2))
	names := []string{"2026-Q1", "2026-01", "2026-W02", "2026-01-07", "2026-01-07T10", "2026-01-07T10:15"}
	for i, name := range names {
		f.put(noon, write(name, int64(i)))
	}
	f.same("the newest of another period", f.periods("2026-01-07T10:15"), append([]string{"2025-12-31"}, names...))
}

func rangeOfPeriods(f *fixture) {
	f.put(noon, write("2026-03", 1), write("2026-Q1", 0), write("2026-03-03", 2), write("2026-03-04", 3), write("", 4), write("2026-03-05T00", 5), write("2026-W10", 6))
	for hour := range 24 {
		f.put(noon, write(fmt.Sprintf("2026-03-03T%02d", hour), int64(hour)))
	}
	for _, c := range []struct {
		from, through string
		want          []string
	}{
		{"2026-03-03T22", "2026-03-05T00", []string{"2026-Q1", "2026-03", "2026-W10", "2026-03-03", "2026-03-03T22", "2026-03-03T23", "2026-03-04", "2026-03-05T00"}},
		{"2026-03-03T07", "2026-03-03T07", []string{"2026-Q1", "2026-03", "2026-W10", "2026-03-03", "2026-03-03T07"}},
		{"2026-03-04", "2026-03-06", []string{"2026-Q1", "2026-03", "2026-W10", "2026-03-04", "2026-03-05T00"}},
		{"2026-04-07", "2026-04-08", nil},
	} {
		answers, err := f.s.Readings(f.ctx, []store.ReadingQuery{{Pipeline: "orders", Key: "rows", Period: on(c.from), Through: on(c.through)}})
		f.check(err)
		var got []string
		for _, r := range byPeriod(answers[0]) {
			got = append(got, r.Period.String())
		}
		f.same("from "+c.from+" to "+c.through, got, c.want)
	}
}

func unchangedSince(f *fixture) {
	since := func() time.Time { return f.shown("2026-03-03").Reading.Unchanged() }
	f.put(noon, write("2026-03-03", 1))
	f.same("written once", since(), noon)
	f.put(noon.Add(time.Minute), write("2026-03-03", 1))
	f.put(noon.Add(2*time.Minute), write("2026-03-03", 1))
	f.same("written again", since(), noon)
	f.put(noon.Add(3*time.Minute), write("2026-03-03", 2))
	f.same("with other data", since(), noon.Add(3*time.Minute))
	f.put(noon.Add(4*time.Minute), write("2026-03-03", 1))
	f.same("with the first data", since(), noon.Add(4*time.Minute))
}

func repeatedHours(f *fixture) {
	f.put(noon, write("2026-11-01T01", 1), write("2026-11-01T01-05:00", 2), write("2026-11-01T01:30", 3), write("2026-11-01T01:30-05:00", 4))
	for _, c := range []struct {
		date string
		want []string
	}{
		{"2026-11-01T01", []string{"2026-11-01T01", "2026-11-01T01:30-05:00"}},
		{"2026-11-01T01-05:00", []string{"2026-11-01T01-05:00", "2026-11-01T01:30-05:00"}},
		{"2026-11-01T01:30", []string{"2026-11-01T01", "2026-11-01T01:30", "2026-11-01T01:30-05:00"}},
		{"2026-11-01T01:30-05:00", []string{"2026-11-01T01:30", "2026-11-01T01-05:00", "2026-11-01T01:30-05:00"}},
		{"2026-11-01T01:45-05:00", []string{"2026-11-01T01-05:00", "2026-11-01T01:30-05:00"}},
		{"2026-11-01", []string{"2026-11-01T01:30-05:00"}},
	} {
		f.same("for "+c.date, f.periods(c.date), c.want)
	}
}

func latestPeriod(f *fixture) {
	f.put(noon, write("2026-03-05", 1))
	f.put(after(time.Hour), write("2026-03-04", 2))
	f.same("for another", f.periods("2026-03-01"), []string{"2026-03-05"})
}

func expiredShown(f *fixture) {
	w := write("2026-03-03", 1)
	w.Reading.ExpiresAt = after(-time.Hour)
	f.put(noon, w)
	f.same("shown", f.shown("2026-03-03").Reading.ExpiresAt, after(-time.Hour))
}

func queriesInPlace(f *fixture) {
	other := write("", 2)
	other.Pipeline = "silver"
	f.put(noon, write("", 1), other)
	answers, err := f.s.Readings(f.ctx, []store.ReadingQuery{
		{Pipeline: "silver", Key: "rows"},
		{Pipeline: "silver", Key: "status"},
		{Pipeline: "orders", Key: "rows"},
		{Pipeline: "silver", Key: "rows"},
	})
	f.check(err)
	var got [][]int64
	for _, a := range answers {
		got = append(got, counts(a))
	}
	f.same("answers", got, [][]int64{{2}, nil, {1}, {2}})
	answers, err = f.s.Readings(f.ctx, nil)
	f.check(err)
	f.same("no queries", len(answers), 0)
}

func latestOfKeys(f *fixture) {
	status := write("", 5)
	status.Reading.Key = "status"
	f.put(noon, write("2026-03-09", 1), status)
	f.put(after(-time.Hour), write("2026-03-02", 2))
	latest := f.latest("orders")
	f.same("latest", counts(latest), []int64{2, 5})
	sizes, err := f.s.SensorSizes(f.ctx, "orders")
	f.check(err)
	for _, r := range latest {
		if size := sizes[r.Key]; size < len(`{"count":1}`) || size > 200 || len(sizes) != len(latest) {
			f.t.Errorf("the latest reading of %s has %d bytes, in %v", r.Key, size, sizes)
		}
	}
	latest = f.latest("silver")
	f.same("without any", len(latest), 0)
}
