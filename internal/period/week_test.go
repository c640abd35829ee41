package period_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/period/periodtest"
)

// dates draws any date that a period may have, with the turns of years drawn more often.
func dates() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		year := rapid.IntRange(1, 9998).Draw(t, "year")
		day := rapid.OneOf(rapid.IntRange(1, 366), rapid.IntRange(-5, 5)).Draw(t, "day")
		if year == 1 {
			day = max(day, 1)
		}
		return time.Date(year, time.January, day, 0, 0, 0, 0, time.UTC)
	})
}

func TestWeekIsTheOneThatTheCalendarLibraryCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := dates().Draw(t, "date").Add(time.Duration(rapid.IntRange(0, 86399).Draw(t, "second")) * time.Second)
		year, week := at.ISOWeek()
		p := period.At(at, period.Week, time.UTC)
		if want := fmt.Sprintf("%04d-W%02d", year, week); p.String() != want {
			t.Fatalf("%s is in %s, the library says %s", at, p, want)
		}
		if start := p.Start(time.UTC); start.Weekday() != time.Monday || p.End(time.UTC).Sub(start) != 7*24*time.Hour {
			t.Fatalf("%s begins on a %s and lasts %s", p, start.Weekday(), p.End(time.UTC).Sub(start))
		}
	})
}

func TestLongPeriodsHoldTheirDays(t *testing.T) {
	var zones []*time.Location
	for _, name := range []string{"UTC", "America/New_York", "Pacific/Apia", "Asia/Kathmandu", "America/Santiago"} {
		zones = append(zones, periodtest.Load(t, name))
	}
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		size := rapid.SampledFrom([]period.Size{period.Week, period.Month, period.Quarter}).Draw(t, "size")
		p := period.At(dates().Draw(t, "date").AddDate(0, 0, 1), size, zone)
		count, last := 0, period.Period{}
		for day := range p.Days() {
			if !p.Holds(day) || day.Size() != period.Day || day.Outer(size) != p {
				t.Fatalf("%s does not hold its day %s, which is in %s", p, day, day.Outer(size))
			}
			count, last = count+1, day
		}
		if p.FirstDay().Start(zone) != p.Start(zone) || last.End(zone) != p.End(zone) {
			t.Fatalf("%s is [%s, %s), its days are %s to %s", p, p.Start(zone), p.End(zone), p.FirstDay(), last)
		}
		year, month, _ := p.Date()
		want := map[period.Size]int{period.Week: 7, period.Month: period.DaysIn(year, month)}
		for m := month; m < month+3; m++ {
			want[period.Quarter] += period.DaysIn(year, m)
		}
		if count != want[size] || p.End(zone).Sub(p.Start(zone)) > size.Longest() {
			t.Fatalf("%s has %d days", p, count)
		}
		if next, previous := p.Add(1, zone), p.Add(-1, zone); next.Add(-1, zone) != p || next.Start(zone) != p.End(zone) ||
			!previous.IsZero() && previous.End(zone) != p.Start(zone) {
			t.Fatalf("around %s are %s and %s", p, previous, next)
		}
	})
}

func TestAQuarterIsThreeWholeMonthsAnd12To14Weeks(t *testing.T) {
	weeks := map[period.Period]int{}
	for p := periodtest.Parse(t, "2000-W01"); ; p = p.Add(1, time.UTC) {
		quarter := p.Outer(period.Quarter)
		if quarter != p.Outer(period.Month).Outer(period.Quarter) {
			t.Fatalf("%s lies in %s, and in %s", p, quarter, p.Outer(period.Month))
		}
		if year, _ := p.ISOWeek(); year == 2400 { // one cycle of the calendar
			break
		}
		weeks[quarter]++
	}
	for q := periodtest.Parse(t, "2000-Q1"); q != periodtest.Parse(t, "2400-Q1"); q = q.Add(1, time.UTC) {
		if weeks[q] < 12 || weeks[q] > 14 {
			t.Errorf("%s has %d weeks", q, weeks[q])
		}
		first := q.FirstDay().Outer(period.Month)
		for n := range 3 {
			if month := first.Add(n, time.UTC); !q.Holds(month) {
				t.Errorf("%s does not hold %s", q, month)
			}
		}
		if q.End(time.UTC) != first.Add(3, time.UTC).Start(time.UTC) || q.Holds(first.Add(3, time.UTC)) || q.Holds(first.Add(-1, time.UTC)) {
			t.Errorf("%s does not end after three months, at %s", q, q.End(time.UTC))
		}
	}
}

func TestEveryYearHas52Or53WeeksAndEachLiesInOneMonth(t *testing.T) {
	long := 0
	for year := 2000; year < 2400; year++ { // one cycle of the calendar
		weeks := 0
		p, err := period.Parse(fmt.Sprintf("%d-W01", year))
		if err != nil {
			t.Fatal(err)
		}
		for ; ; p = p.Add(1, time.UTC) {
			if y, _ := p.ISOWeek(); y != year {
				break
			}
			if y, _, _ := p.Outer(period.Month).Date(); y != year {
				t.Fatalf("%s lies in %s", p, p.Outer(period.Month))
			}
			weeks++
		}
		if weeks != 52 && weeks != 53 {
			t.Errorf("%d has %d weeks", year, weeks)
		}
		if weeks == 53 {
			long++
		}
	}
	if long != 71 {
		t.Errorf("%d of 400 years have 53 weeks, want 71", long)
	}
}
