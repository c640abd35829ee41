package pipeline_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/period/periodtest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/schedule"
)

func TestUpstreamOfAnotherZoneCountsByTheInstantsOfItsPeriods(t *testing.T) {
	for _, c := range []struct {
		name          string
		up, down      string // schedules
		of            string
		first, last   string
		number        int
		reverse, back string // a period of the upstream, and what follows it
	}{
		{
			"hours of a day", "{cron: '@hourly'}", "{timezone: Etc/GMT+1, period: day, after: [up]}", "2026-03-03",
			"2026-03-03T01", "2026-03-04T00", 24, "2026-03-04T00", "2026-03-03",
		},
		{
			"hours that overlap two days", "{cron: '@hourly'}", "{timezone: Asia/Kolkata, period: day, after: [up]}", "2026-03-03",
			"2026-03-02T18", "2026-03-03T18", 25, "2026-03-02T18", "2026-03-03 2026-03-02",
		},
		{
			"a day of the same name", "{cron: '@daily'}", "{timezone: Europe/Berlin, period: day, after: [up]}", "2026-03-03",
			"2026-03-03", "2026-03-03", 1, "2026-03-03", "2026-03-03",
		},
		{
			"the day of an hour", "{cron: '@daily'}", "{timezone: Europe/Berlin, period: hour, after: [up]}", "2026-03-03T00",
			"2026-03-02", "2026-03-02", 1, "2026-03-02", "",
		},
		{
			"the day of an hour, and one that is excluded", "{cron: '@daily', exclude: {weekends: true}}", "{timezone: Asia/Kolkata, period: hour, after: [up]}",
			"2026-03-07T05", "2026-03-06", "2026-03-06", 1, "2026-03-06", "",
		},
		{
			"excluded days of an hour", "{cron: '@daily', exclude: {weekends: true}}", "{timezone: Asia/Kolkata, period: hour, after: [up]}",
			"2026-03-08T05", "2026-03-07", "2026-03-08", 2, "2026-03-07", "",
		},
		{
			"weeks of a month", "{cron: '0 5 * * MON', period: week}", "{timezone: Europe/Berlin, period: month, after: [up]}", "2026-03",
			"2026-W10", "2026-W13", 4, "2026-W14", "2026-04",
		},
		{
			"one zone", "{cron: '@hourly', timezone: Europe/Berlin}", "{timezone: Europe/Berlin, period: day, after: [up]}", "2026-03-03",
			"2026-03-03T00", "2026-03-03T23", 24, "2026-03-03T00", "2026-03-03",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := load("pipeline: {id: up, owner: t}\nschedule: "+c.up+"\n", "pipeline: {id: down, owner: t}\nschedule: "+c.down+"\n")
			if set.Failed() {
				t.Fatal(report(set))
			}
			up, down := set.Find("up"), set.Find("down")
			got := down.Awaited(up, periodtest.Parse(t, c.of))
			if len(got) != c.number || got[0] != periodtest.Parse(t, c.first) || got[len(got)-1] != periodtest.Parse(t, c.last) {
				t.Errorf("%s waits for %v", c.of, got)
			}
			if c.back == "" {
				return
			}
			back := ""
			for _, p := range down.Following(up, periodtest.Parse(t, c.reverse)) {
				back += " " + p.String()
			}
			if diff := cmp.Diff(" "+c.back, back); diff != "" {
				t.Errorf("after %s (-want +got):\n%s", c.reverse, diff)
			}
		})
	}
}

// A run wakes exactly those periods whose gate reads it.
func TestRunOfAnUpstreamIsAwaitedByThePeriodsThatFollowIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		up, down := drawSchedule(t, "upstream"), drawSchedule(t, "dependent")
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 366*24*60).Draw(t, "minute")) * time.Minute)
		u, d := &pipeline.Definition{ID: "up", Schedule: up}, &pipeline.Definition{ID: "down", Schedule: down}
		p := slotAt(down, at)
		for _, k := range d.Awaited(u, p) {
			if got := d.Following(u, k); !slices.Contains(got, p) {
				t.Fatalf("%s waits for %s of the upstream, whose run affects only %v", p, k, got)
			}
			if up.Excluded(k) != "" && (k.Size() < p.Size() || expectsSome(up, d.Awaited(u, p))) {
				t.Fatalf("%s waits for %s, which the calendar excludes", p, k)
			}
		}
		k := slotAt(up, at)
		if up.Excluded(k) != "" && k.Size() <= down.Size() {
			return
		}
		for _, p := range d.Following(u, k) {
			if got := d.Awaited(u, p); !slices.Contains(got, k) {
				t.Fatalf("a run for %s affects %s, which waits only for %v", k, p, got)
			}
		}
	})
}

// expectsSome reports whether the calendar leaves one of the periods.
func expectsSome(s *schedule.Schedule, periods []period.Period) bool {
	return slices.ContainsFunc(periods, func(p period.Period) bool { return s.Excluded(p) == "" })
}

// drawSchedule draws a schedule of days, or of what is near them.
func drawSchedule(t *rapid.T, label string) *schedule.Schedule {
	zone, err := time.LoadLocation(rapid.SampledFrom([]string{
		"UTC", "Etc/GMT+1", "Etc/GMT-14", "Asia/Kolkata", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Chatham",
	}).Draw(t, label+" zone"))
	if err != nil {
		t.Fatal(err)
	}
	spec := schedule.Spec{Zone: zone, Size: rapid.SampledFrom([]period.Size{period.Hour, period.Day, period.Week, period.Month}).Draw(t, label+" size")}
	if spec.Size == period.Hour && rapid.Bool().Draw(t, label+" has cron") {
		expr := rapid.SampledFrom([]string{"30 * * * *", "5 3,20 * * *"}).Draw(t, label+" cron")
		if spec.Cron, err = schedule.ParseCron(expr); err != nil {
			t.Fatal(err)
		}
		spec.Offset = rapid.IntRange(-2, 0).Draw(t, label+" offset")
	}
	if rapid.Bool().Draw(t, label+" excludes weekends") {
		spec.Exclude = []schedule.Calendar{{Days: []time.Weekday{time.Saturday, time.Sunday}}}
	}
	return schedule.New(spec)
}

// slotAt returns the first period of s that begins at an instant or later.
func slotAt(s *schedule.Schedule, at time.Time) period.Period {
	for slot := range s.Slots(at) {
		return slot.Period
	}
	return period.Period{}
}

func TestUpstreamOfAnotherZoneIsAWarning(t *testing.T) {
	set := load(
		"pipeline: {id: up, owner: t}\nschedule: {period: hour}\n",
		"pipeline: {id: day, owner: t}\nschedule: {timezone: Europe/Berlin, after: [up]}\n",
		"pipeline: {id: same, owner: t}\nschedule: {after: [up]}\n",
		"pipeline: {id: hour, owner: t}\nschedule: {timezone: Europe/Berlin, period: hour, after: [up, day]}\n",
		"pipeline: {id: minute, owner: t}\nschedule: {timezone: Europe/Berlin, period: minute, after: [up]}\n",
	)
	want := []string{
		`warning: b.yaml:2:45: schedule.after[0]: up is in the zone UTC, this pipeline in Europe/Berlin: each day waits for every hour that overlaps it`,
		`warning: d.yaml:2:59: schedule.after[0]: up is in the zone UTC, this pipeline in Europe/Berlin: each hour waits for the hour of the same name, which begins at another instant`,
		`warning: e.yaml:2:61: schedule.after[0]: up is in the zone UTC, this pipeline in Europe/Berlin: each minute waits for the hours that overlap it`,
	}
	if diff := cmp.Diff(want, report(set)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
