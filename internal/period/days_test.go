package period_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/period/periodtest"
)

// row is a slice with its first instant and length, as a table wants it.
func row(p period.Period, zone *time.Location) string {
	start := p.Start(zone)
	return fmt.Sprintf("%s %s %s", p, start.Format("2006-01-02T15:04:05Z"), p.End(zone).Sub(start))
}

func TestSlicesOfKnownDays(t *testing.T) {
	for _, c := range []struct {
		zone, first string
		want        []string
	}{
		{"America/New_York", "2026-03-08", []string{"2026-03-08 2026-03-08T05:00:00Z 23h0m0s", "2026-03-09 2026-03-09T04:00:00Z 24h0m0s"}},
		{"America/New_York", "2026-03-08T01", []string{"2026-03-08T01 2026-03-08T06:00:00Z 1h0m0s", "2026-03-08T03 2026-03-08T07:00:00Z 1h0m0s"}},
		{"America/New_York", "2026-11-01", []string{"2026-11-01 2026-11-01T04:00:00Z 25h0m0s", "2026-11-02 2026-11-02T05:00:00Z 24h0m0s"}},
		{"America/New_York", "2026-11-01T01", []string{
			"2026-11-01T01 2026-11-01T05:00:00Z 1h0m0s", "2026-11-01T01-05:00 2026-11-01T06:00:00Z 1h0m0s", "2026-11-01T02 2026-11-01T07:00:00Z 1h0m0s",
		}},
		{"America/New_York", "2026-11-01T01:59", []string{
			"2026-11-01T01:59 2026-11-01T05:59:00Z 1m0s", "2026-11-01T01:00-05:00 2026-11-01T06:00:00Z 1m0s",
		}},
		{"America/New_York", "2026-11-01T01:59-05:00", []string{
			"2026-11-01T01:59-05:00 2026-11-01T06:59:00Z 1m0s", "2026-11-01T02:00 2026-11-01T07:00:00Z 1m0s",
		}},
		// Midnight does not exist on 2026-09-06, and comes late on 2026-04-05: the day before has
		// 25 hours.
		{"America/Santiago", "2026-09-05", []string{"2026-09-05 2026-09-05T04:00:00Z 24h0m0s", "2026-09-06 2026-09-06T04:00:00Z 23h0m0s"}},
		{"America/Santiago", "2026-09-05T23", []string{"2026-09-05T23 2026-09-06T03:00:00Z 1h0m0s", "2026-09-06T01 2026-09-06T04:00:00Z 1h0m0s"}},
		{"America/Santiago", "2026-04-04", []string{"2026-04-04 2026-04-04T03:00:00Z 25h0m0s", "2026-04-05 2026-04-05T04:00:00Z 24h0m0s"}},
		{"America/Santiago", "2026-04-04T23", []string{
			"2026-04-04T23 2026-04-05T02:00:00Z 1h0m0s", "2026-04-04T23-04:00 2026-04-05T03:00:00Z 1h0m0s", "2026-04-05T00 2026-04-05T04:00:00Z 1h0m0s",
		}},
		// The clock goes forward on the last day of W10, and in March; back on the last day of W44,
		// and in November.
		{"America/New_York", "2026-W10", []string{"2026-W10 2026-03-02T05:00:00Z 167h0m0s", "2026-W11 2026-03-09T04:00:00Z 168h0m0s"}},
		{"America/New_York", "2026-W44", []string{"2026-W44 2026-10-26T04:00:00Z 169h0m0s", "2026-W45 2026-11-02T05:00:00Z 168h0m0s"}},
		{"America/New_York", "2026-03", []string{"2026-03 2026-03-01T05:00:00Z 743h0m0s", "2026-04 2026-04-01T04:00:00Z 720h0m0s"}},
		{"America/New_York", "2026-11", []string{"2026-11 2026-11-01T04:00:00Z 721h0m0s", "2026-12 2026-12-01T05:00:00Z 744h0m0s"}},
		// The clock goes forward in the first quarter and back in the last one.
		{"America/New_York", "2026-Q1", []string{"2026-Q1 2026-01-01T05:00:00Z 2159h0m0s", "2026-Q2 2026-04-01T04:00:00Z 2184h0m0s"}},
		{"America/New_York", "2026-Q4", []string{"2026-Q4 2026-10-01T04:00:00Z 2209h0m0s", "2027-Q1 2027-01-01T05:00:00Z 2159h0m0s"}},
		{"UTC", "2028-Q1", []string{"2028-Q1 2028-01-01T00:00:00Z 2184h0m0s", "2028-Q2 2028-04-01T00:00:00Z 2184h0m0s"}},
		{"Pacific/Apia", "2011-Q4", []string{"2011-Q4 2011-10-01T10:00:00Z 2184h0m0s", "2012-Q1 2011-12-31T10:00:00Z 2184h0m0s"}},
		{"UTC", "2026-W53", []string{"2026-W53 2026-12-28T00:00:00Z 168h0m0s", "2027-W01 2027-01-04T00:00:00Z 168h0m0s"}},
		{"UTC", "2025-W52", []string{"2025-W52 2025-12-22T00:00:00Z 168h0m0s", "2026-W01 2025-12-29T00:00:00Z 168h0m0s"}},
		{"UTC", "2028-01", []string{"2028-01 2028-01-01T00:00:00Z 744h0m0s", "2028-02 2028-02-01T00:00:00Z 696h0m0s"}},
		{"Pacific/Apia", "2011-W52", []string{"2011-W52 2011-12-26T10:00:00Z 144h0m0s", "2012-W01 2012-01-01T10:00:00Z 168h0m0s"}},
		// Half an hour is repeated or lost.
		{"Australia/Lord_Howe", "2026-04-05T01", []string{
			"2026-04-05T01 2026-04-04T14:00:00Z 1h0m0s", "2026-04-05T01+10:30 2026-04-04T15:00:00Z 30m0s", "2026-04-05T02 2026-04-04T15:30:00Z 1h0m0s",
		}},
		{"Australia/Lord_Howe", "2026-10-04T01", []string{
			"2026-10-04T01 2026-10-03T14:30:00Z 1h0m0s", "2026-10-04T02 2026-10-03T15:30:00Z 30m0s", "2026-10-04T03 2026-10-03T16:00:00Z 1h0m0s",
		}},
		{"Pacific/Apia", "2011-12-29", []string{"2011-12-29 2011-12-29T10:00:00Z 24h0m0s", "2011-12-31 2011-12-30T10:00:00Z 24h0m0s"}},
		{"Asia/Kathmandu", "2026-03-03T07", []string{"2026-03-03T07 2026-03-03T01:15:00Z 1h0m0s", "2026-03-03T08 2026-03-03T02:15:00Z 1h0m0s"}},
		// The quarter-hour step of 1986 fell inside an hour, which it shortens and does not split.
		{"Asia/Kathmandu", "1986-01-01T00", []string{"1986-01-01T00 1985-12-31T18:30:00Z 45m0s", "1986-01-01T01 1985-12-31T19:15:00Z 1h0m0s"}},
		// Ramadan 2026: back on 15 February, forward on 22 March.
		{"Africa/Casablanca", "2026-02-15T02", []string{
			"2026-02-15T02 2026-02-15T01:00:00Z 1h0m0s", "2026-02-15T02+00:00 2026-02-15T02:00:00Z 1h0m0s", "2026-02-15T03 2026-02-15T03:00:00Z 1h0m0s",
		}},
		{"Africa/Casablanca", "2026-03-22T01", []string{"2026-03-22T01 2026-03-22T01:00:00Z 1h0m0s", "2026-03-22T03 2026-03-22T02:00:00Z 1h0m0s"}},
		// Dublin's winter time is the exception, with its offset below the standard one.
		{"Europe/Dublin", "2026-10-25T01", []string{"2026-10-25T01 2026-10-25T00:00:00Z 1h0m0s", "2026-10-25T01+00:00 2026-10-25T01:00:00Z 1h0m0s"}},
		// The clock went back from 00:01 to 23:01: the day had begun, and it does not begin again.
		{"America/St_Johns", "2010-11-06", []string{"2010-11-06 2010-11-06T02:30:00Z 24h0m0s", "2010-11-07 2010-11-07T02:30:00Z 25h0m0s"}},
		{"America/St_Johns", "2010-11-07T00", []string{
			"2010-11-07T00 2010-11-07T02:30:00Z 1m0s", "2010-11-06T23-03:30 2010-11-07T02:31:00Z 59m0s", "2010-11-07T00-03:30 2010-11-07T03:30:00Z 1h0m0s",
		}},
		// Past the listed changes the library cuts its answers at the turn of the year in UTC, here
		// half past eight.
		{"America/St_Johns", "2041-12-31T20", []string{"2041-12-31T20 2041-12-31T23:30:00Z 1h0m0s", "2041-12-31T21 2042-01-01T00:30:00Z 1h0m0s"}},
		{"America/New_York", "1883-11-18T12:03", []string{
			"1883-11-18T12:03 1883-11-18T16:59:02Z 58s", "1883-11-18T12:00-05:00 1883-11-18T17:00:00Z 1m0s",
		}},
	} {
		zone := periodtest.Load(t, c.zone)
		first := periodtest.Parse(t, c.first)
		var got []string
		for n := range c.want {
			got = append(got, row(first.Add(n, zone), zone))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s from %s (-want +got):\n%s", c.zone, c.first, diff)
		}
		if back := first.Add(1, zone).Add(-1, zone); back != first {
			t.Errorf("%s: one on and one back from %s is %s", c.zone, first, back)
		}
	}
}

// shifted is a made-up zone whose clock goes from offset before to offset after at one instant.
func shifted(t *testing.T, at time.Time, before, after int32) *time.Location {
	t.Helper()
	data := append([]byte("TZif"), make([]byte, 16)...)
	for _, count := range []uint32{0, 0, 0, 1, 2, 2} { // one transition, two types, two characters for their names
		data = binary.BigEndian.AppendUint32(data, count)
	}
	data = binary.BigEndian.AppendUint32(data, uint32(at.Unix()))
	data = append(data, 1)
	for _, offset := range []int32{before, after} {
		data = binary.BigEndian.AppendUint32(data, uint32(offset))
		data = append(data, 0, 0)
	}
	zone, err := time.LoadLocationFromTZData("Made/Up", append(data, 'X', 0))
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestClockSetForwardInsideAnHourShortensItAndSetBackSplitsIt(t *testing.T) {
	at := time.Date(2026, 6, 1, 10, 20, 0, 0, time.UTC)
	for _, c := range []struct {
		before, after int32
		want          []string
	}{
		{0, 1200, []string{"2026-06-01T10 2026-06-01T10:00:00Z 40m0s", "2026-06-01T11 2026-06-01T10:40:00Z 1h0m0s"}},
		{1200, 0, []string{"2026-06-01T10 2026-06-01T09:40:00Z 40m0s", "2026-06-01T10+00:00 2026-06-01T10:20:00Z 40m0s", "2026-06-01T11 2026-06-01T11:00:00Z 1h0m0s"}},
	} {
		zone := shifted(t, at, c.before, c.after)
		var got []string
		for n := range c.want {
			got = append(got, row(periodtest.Parse(t, "2026-06-01T10").Add(n, zone), zone))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("from %d to %d (-want +got):\n%s", c.before, c.after, diff)
		}
		for _, late := range []time.Time{at, at.Add(10 * time.Minute)} {
			if p := period.At(late, period.Hour, zone); late.Before(p.Start(zone)) || !late.Before(p.End(zone)) {
				t.Errorf("from %d to %d: %s is not in %s", c.before, c.after, late, p)
			}
		}
	}
}

func TestSkippedSliceIsEmptyAtTheNextInstant(t *testing.T) {
	for _, c := range []struct{ zone, name, at, next, previous string }{
		{"Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00Z", "2011-12-31", "2011-12-29"},
		{"America/New_York", "2026-03-08T02", "2026-03-08T07:00:00Z", "2026-03-08T03", "2026-03-08T01"},
		{"America/New_York", "2026-03-08T02:30", "2026-03-08T07:00:00Z", "2026-03-08T03:00", "2026-03-08T01:59"},
	} {
		zone, p := periodtest.Load(t, c.zone), periodtest.Parse(t, c.name)
		want := fmt.Sprintf("%s %s 0s", c.name, c.at)
		if got := row(p, zone); got != want {
			t.Errorf("%s: %s, want %s", c.zone, got, want)
		}
		if next, previous := p.Add(1, zone), p.Add(-1, zone); next.String() != c.next || previous.String() != c.previous {
			t.Errorf("%s: around %s are %s and %s", c.zone, p, previous, next)
		}
	}
}

func TestOffsetThatNothingRepeatsStillMeansItsInstant(t *testing.T) {
	zone := periodtest.Load(t, "America/New_York")
	want := "2026-07-01T01-05:00 2026-07-01T06:00:00Z 0s"
	if got := row(periodtest.Parse(t, "2026-07-01T01-05:00"), zone); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestWallIsTheFirstInstantThatShowsTheTimeOrALaterOne(t *testing.T) {
	for _, c := range []struct {
		zone                     string
		year, month, day, hh, mm int
		want                     string
	}{
		{"America/New_York", 2026, 3, 8, 2, 30, "2026-03-08T07:00:00Z"},
		{"America/New_York", 2026, 11, 1, 1, 30, "2026-11-01T05:30:00Z"},
		{"America/New_York", 2026, 11, 1, 2, 0, "2026-11-01T07:00:00Z"},
		{"America/New_York", 2040, 12, 31, 12, 0, "2040-12-31T17:00:00Z"}, // a leap year past the listed changes
		{"America/Santiago", 2026, 9, 6, 0, 0, "2026-09-06T04:00:00Z"},
		{"America/Santiago", 2026, 4, 5, 0, 0, "2026-04-05T04:00:00Z"},
		{"Australia/Lord_Howe", 2026, 4, 5, 1, 45, "2026-04-04T14:45:00Z"},
		{"Australia/Lord_Howe", 2026, 10, 4, 2, 15, "2026-10-03T15:30:00Z"},
		{"Pacific/Apia", 2011, 12, 30, 15, 0, "2011-12-30T10:00:00Z"},
		{"America/St_Johns", 2010, 11, 7, 0, 0, "2010-11-07T02:30:00Z"},
		{"UTC", 2026, 2, 29, 24, 90, "2026-03-02T01:30:00Z"},
	} {
		got := period.Wall(c.year, time.Month(c.month), c.day, c.hh, c.mm, periodtest.Load(t, c.zone)).Format(time.RFC3339)
		if got != c.want {
			t.Errorf("%s %d-%d-%d %d:%d is at %s, want %s", c.zone, c.year, c.month, c.day, c.hh, c.mm, got, c.want)
		}
	}
}

func TestOutsideFourDigitYearsThereIsNoPeriod(t *testing.T) {
	sizes := []period.Size{period.Minute, period.Hour, period.Day, period.Week, period.Month, period.Quarter, 0, 200}
	zones := []*time.Location{nil, time.UTC, periodtest.Load(t, "America/New_York"), periodtest.Load(t, "Asia/Kathmandu"), time.FixedZone("odd", math.MaxInt32)}
	for _, zone := range zones {
		for _, size := range sizes {
			for _, sec := range []int64{math.MinInt64, -1 << 40, 1 << 40, math.MaxInt64} {
				if p := period.At(time.Unix(sec, 0), size, zone); !p.IsZero() {
					t.Errorf("%d is in %s", sec, p)
				}
			}
		}
		for name, n := range map[string]int{
			"9999-12-31T23:59": 1, "0001-01-01": -1, "2026-03-03": math.MinInt, "2026-03-03T07": math.MaxInt,
			"9999-W52": 1, "0001-W01": -1, "9999-12": 1, "0001-01": -1, "2026-W10": math.MaxInt, "2026-03": math.MinInt,
			"9999-Q4": 1, "0001-Q1": -1, "2026-Q1": math.MinInt, "2026-Q2": math.MaxInt,
		} {
			if p := periodtest.Parse(t, name).Add(n, zone); !p.IsZero() {
				t.Errorf("%s and %d more is %s", name, n, p)
			}
		}
		_ = period.Wall(math.MaxInt, 99, math.MinInt, math.MaxInt, math.MinInt, zone)
	}
	if undated := (period.Period{}); !undated.Start(time.UTC).IsZero() || !undated.End(time.UTC).IsZero() || !undated.Add(3, time.UTC).IsZero() {
		t.Error("undated has a time")
	}
}

func TestLongWaysAreCountedLikeShortOnes(t *testing.T) {
	zone := periodtest.Load(t, "America/New_York")
	for first, size := range map[string]time.Duration{"2026-03-03T07": time.Hour, "2026-03-03T07:00": time.Minute} {
		const years = 30
		n := int(years * 365 * 24 * time.Hour / size)
		got := periodtest.Parse(t, first).Add(-n, zone)
		if back := got.Add(n, zone); back != periodtest.Parse(t, first) {
			t.Errorf("%d back and on again is %s", n, back)
		}
		// Hours and minutes here are never cut, so that counting them is measuring time.
		if elapsed := periodtest.Parse(t, first).Start(zone).Sub(got.Start(zone)); elapsed != time.Duration(n)*size {
			t.Errorf("%d slices before %s is %s, %s away", n, first, got, elapsed)
		}
	}
}
