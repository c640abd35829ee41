package schedule_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/period/periodtest"
	"github.com/interlock-go/interlock/internal/schedule"
)

var everyWeekday = []time.Weekday{
	time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday, time.Saturday, time.Sunday,
}

func TestUpcomingPeriodsAreTheSlotsThatAreNotExcluded(t *testing.T) {
	all := periodtest.Changes(t)
	rapid.Check(t, func(t *rapid.T) {
		change := rapid.SampledFrom(all).Draw(t, "change")
		spec := schedule.Spec{Zone: change.Zone, Offset: -rapid.IntRange(0, 30).Draw(t, "offset")}
		spec.Size = rapid.SampledFrom([]period.Size{period.Minute, period.Hour, period.Day}).Draw(t, "size")
		if rapid.Bool().Draw(t, "cron") {
			spec.Cron = parseCron(t, randomCrontab(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }).text)
			spec.Size = spec.Cron.Size()
		}
		excluded := rapid.SliceOfNDistinct(rapid.SampledFrom(everyWeekday), 0, 5, rapid.ID).Draw(t, "days")
		spec.Exclude = []schedule.Calendar{{Days: excluded, Dates: []period.Period{period.At(change.At, period.Day, change.Zone)}}}
		s := schedule.New(spec)
		from, _ := change.Around(reach)
		var want []schedule.Slot
		looked := 0
		for slot := range s.Slots(from) {
			if looked++; looked > 3000 || len(want) == 50 {
				break
			}
			if slot.Excluded == "" {
				want = append(want, slot)
			}
		}
		var got []schedule.Slot
		for slot := range s.Upcoming(from) {
			if len(got) == len(want) {
				break
			}
			got = append(got, slot)
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b schedule.Slot) bool { return a == b })); diff != "" {
			t.Fatalf("%s %v (-want +got):\n%s", change, spec, diff)
		}
	})
}

// On 29 October 2000 clocks in Moncton went back from 00:01 to 23:01 on the day before.
func TestUpcomingReturnsToTheDayBefore(t *testing.T) {
	zone, err := time.LoadLocation("America/Moncton")
	if err != nil {
		t.Fatal(err)
	}
	s := schedule.New(schedule.Spec{
		Size: period.Hour, Zone: zone,
		Exclude: []schedule.Calendar{{Dates: days(t, "2000-10-29")}},
	})
	var got []string
	for slot := range s.Upcoming(time.Date(2000, time.October, 28, 22, 0, 0, 0, zone)) {
		if got = append(got, slot.Period.String()); len(got) == 4 {
			break
		}
	}
	want := []string{"2000-10-28T22", "2000-10-28T23", "2000-10-28T23-04:00", "2000-10-30T00"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A walk over the minutes of 8,000 years would not end before the test's time limit.
func TestUpcomingEndsWhereEverythingIsExcluded(t *testing.T) {
	from := time.Date(2026, time.March, 3, 0, 0, 0, 0, time.UTC)
	for name, spec := range map[string]schedule.Spec{
		"minutes":      {Size: period.Minute},
		"every minute": {Size: period.Minute, Cron: parseCron(t, "* * * * *"), Offset: -1},
		"every day":    {Size: period.Day, Cron: parseCron(t, "0 8 * * *")},
		"listed days":  {Size: period.Minute, Include: days(t, "2026-03-03", "2026-03-04")},
	} {
		spec.Exclude = []schedule.Calendar{{Days: everyWeekday}}
		s := schedule.New(spec)
		if got := list(s.Upcoming(from), 1); got != nil {
			t.Errorf("%s: %s comes up", name, got)
		}
		if !s.NeverRuns() {
			t.Errorf("%s: it may run", name)
		}
	}
}

func TestARareFireIsFoundAndRuns(t *testing.T) {
	s := schedule.New(schedule.Spec{
		Size: period.Day, Cron: parseCron(t, "0 8 29 2 *"), // on a Sunday in 2032 and 2060
		Exclude: []schedule.Calendar{{Days: everyWeekday[:6], Dates: days(t, "2032-02-29")}},
	})
	want := []string{"2060-02-29 at 2060-02-29T08:00Z"}
	if diff := cmp.Diff(want, list(s.Upcoming(time.Date(2032, time.January, 1, 0, 0, 0, 0, time.UTC)), 1)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s.NeverRuns() {
		t.Error("it never runs")
	}
}

func TestADateListDoesNotStopAScheduleForEver(t *testing.T) {
	for name, runs := range map[string]schedule.Spec{
		"one include date left":  {Size: period.Day, Opens: true, Include: days(t, "2026-03-03", "2026-03-04")},
		"days after the list":    {Size: period.Day},
		"no exclusions, nor end": {Size: period.Hour, Cron: parseCron(t, "@hourly")},
	} {
		runs.Exclude = []schedule.Calendar{{Dates: days(t, "2026-03-03")}}
		if schedule.New(runs).NeverRuns() {
			t.Errorf("%s: it never runs", name)
		}
	}
}
