package schedule_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/period/periodtest"
	"github.com/interlock-go/interlock/internal/schedule"
)

func TestInside(t *testing.T) {
	noon := clock(t, "12:00")
	mondays := []schedule.Calendar{{Days: []time.Weekday{time.Monday}}}
	for _, c := range []struct {
		name, of string
		spec     schedule.Spec
		want     []string
	}{
		{
			"an offset leaves the first fire of the day to the day before", "2026-03-03",
			schedule.Spec{Cron: parseCron(t, "30 0,12,23 * * *"), Size: period.Hour, Offset: -1},
			[]string{"2026-03-03T11 at 2026-03-03T12:30Z", "2026-03-03T22 at 2026-03-03T23:30Z", "2026-03-03T23 at 2026-03-04T00:30Z"},
		},
		{
			"excluded ones come with their reason", "2026-03-02",
			schedule.Spec{Cron: parseCron(t, "0 8 * * *"), Size: period.Hour, Exclude: mondays},
			[]string{"2026-03-02T08 at 2026-03-02T08:00Z not: listed weekday"},
		},
		{
			"the hour that a listed day opens", "2026-03-03",
			schedule.Spec{Size: period.Hour, Opens: true, Time: &noon, Offset: -1, Include: days(t, "2026-03-03")},
			[]string{"2026-03-03T12 at 2026-03-03T12:00Z"},
		},
		{
			"nothing is expected on a day that is not listed", "2026-03-04",
			schedule.Spec{Size: period.Hour, Include: days(t, "2026-03-03", "2026-03-05")},
			nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := list(schedule.New(c.spec).Inside(one(t, c.of)), 100)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.of, diff)
			}
		})
	}
}

func TestEveryPeriodLiesInsideItsDay(t *testing.T) {
	all := slices.DeleteFunc(periodtest.Changes(t), func(c periodtest.Change) bool {
		// Some zones once went back into a day that had ended. What they show then lies in the day
		// after, by its instants.
		return c.At.In(c.Zone).Format(time.DateOnly) < c.At.Add(-time.Nanosecond).In(c.Zone).Format(time.DateOnly)
	})
	rapid.Check(t, func(t *rapid.T) {
		change := rapid.SampledFrom(all).Draw(t, "change")
		spec := schedule.Spec{Zone: change.Zone, Offset: -rapid.IntRange(0, 30).Draw(t, "offset")}
		spec.Size = rapid.SampledFrom([]period.Size{period.Minute, period.Hour}).Draw(t, "size")
		if rapid.Bool().Draw(t, "cron") {
			spec.Cron = parseCron(t, randomCrontab(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }).text)
			spec.Size = spec.Cron.Size()
		}
		if spec.Size == period.Day {
			return
		}
		s := schedule.New(spec)
		from, _ := change.Around(reach)
		var day period.Period
		var inside []schedule.Slot
		n := 0
		for slot := range s.Slots(from) {
			if p := slot.Period.Outer(period.Day); p != day {
				day, inside = p, slices.Collect(s.Inside(p))
			}
			if !slices.Contains(inside, slot) {
				t.Fatalf("%s: %v is not among %v inside %s", change, slot, inside, day)
			}
			for _, other := range inside {
				if !day.Holds(other.Period) {
					t.Fatalf("%s: %v is not inside %s", change, other, day)
				}
			}
			if n++; n > 20 {
				return
			}
		}
	})
}
