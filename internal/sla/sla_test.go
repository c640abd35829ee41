package sla_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/period/periodtest"
	"github.com/interlock-go/interlock/internal/schedule"
	"github.com/interlock-go/interlock/internal/sla"
)

func clock(t testing.TB, text string) *schedule.Clock {
	t.Helper()
	c, err := schedule.ParseClock(text)
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

func cron(t testing.TB, expr string, offset int, zone *time.Location) *schedule.Schedule {
	t.Helper()
	c, err := schedule.ParseCron(expr)
	if err != nil {
		t.Fatal(err)
	}
	return schedule.New(schedule.Spec{Cron: c, Size: c.Size(), Offset: offset, Zone: zone})
}

// text writes an instant for a table; "" for none.
func text(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("2006-01-02T15:04:05Z")
}

func TestAbsoluteDeadlines(t *testing.T) {
	newYork, santiago := periodtest.Load(t, "America/New_York"), periodtest.Load(t, "America/Santiago")
	daily := schedule.New(schedule.Spec{Size: period.Day, Zone: newYork})
	hourly := schedule.New(schedule.Spec{Size: period.Hour, Zone: newYork})
	minutes := schedule.New(schedule.Spec{Size: period.Minute, Zone: newYork})
	listed := schedule.New(schedule.Spec{
		Size: period.Day, Zone: newYork, Time: clock(t, "09:00"), Opens: true, Include: []period.Period{periodtest.Parse(t, "2026-03-03")},
	})
	weekly := schedule.New(schedule.Spec{Size: period.Week, Zone: newYork})
	monthly := schedule.New(schedule.Spec{Size: period.Month, Zone: newYork})
	quarterly := schedule.New(schedule.Spec{Size: period.Quarter, Zone: newYork})
	quarterlyCron := schedule.New(schedule.Spec{Cron: cron(t, "0 5 3 1,4,7,10 *", 0, newYork).Cron(), Size: period.Quarter, Offset: -1, Zone: newYork})
	weeklyCron := schedule.New(schedule.Spec{Cron: cron(t, "0 5 * * 3", 0, newYork).Cron(), Size: period.Week, Offset: -1, Zone: newYork})
	monthlyFire := schedule.New(schedule.Spec{Cron: cron(t, "0 5 1 * *", 0, newYork).Cron(), Size: period.Week, Zone: newYork})
	for _, c := range []struct {
		name, period, deadline string
		on                     *schedule.Schedule
		zone                   *time.Location
		days                   int
		want                   string
	}{
		{"a day ends at the first such time after its fire", "2026-03-03", "08:00", cron(t, "0 5 * * *", 0, newYork), newYork, 0, "2026-03-03T13:00:00Z"},
		{"a time before the fire is the next day's", "2026-03-03", "02:00", cron(t, "0 22 * * *", 0, newYork), newYork, 0, "2026-03-04T07:00:00Z"},
		{"at the fire itself", "2026-03-03", "05:00", cron(t, "0 5 * * *", 0, newYork), newYork, 0, "2026-03-03T10:00:00Z"},
		{"an offset leaves the deadline with the fire", "2026-03-02", "08:00", cron(t, "0 5 * * *", -1, newYork), newYork, 0, "2026-03-03T13:00:00Z"},
		{"another zone for the deadline", "2026-03-03", "08:00", cron(t, "0 5 * * *", 0, newYork), time.UTC, 0, "2026-03-04T08:00:00Z"},
		{"a day offset after a fire", "2026-03-03", "08:00", cron(t, "0 5 * * *", 0, newYork), newYork, 1, "2026-03-04T13:00:00Z"},
		{"without a fire from the day's beginning", "2026-03-03", "08:00", daily, newYork, 0, "2026-03-03T13:00:00Z"},
		{"a listed day's opening does not matter", "2026-03-03", "08:00", listed, newYork, 0, "2026-03-03T13:00:00Z"},
		{"midnight without a fire is the beginning", "2026-03-03", "00:00", daily, newYork, 0, "2026-03-03T05:00:00Z"},
		{"data of the day before", "2026-03-03", "08:00", daily, newYork, 1, "2026-03-04T13:00:00Z"},
		{"in another zone the first after the beginning", "2026-03-03", "02:00", daily, time.UTC, 0, "2026-03-04T02:00:00Z"},
		{"a time that the day lacks", "2026-03-08", "02:30", daily, newYork, 0, "2026-03-08T07:00:00Z"},
		{"a time that the day before lacks", "2026-03-08", "02:30", daily, newYork, 1, "2026-03-09T06:30:00Z"},
		{"a time that the day after lacks", "2026-03-07", "02:30", daily, newYork, 1, "2026-03-08T07:00:00Z"},
		{"a time that the day has twice", "2026-11-01", "01:30", daily, newYork, 0, "2026-11-01T05:30:00Z"},
		{"days are calendar days", "2026-03-07", "08:00", daily, newYork, 1, "2026-03-08T12:00:00Z"},
		{"a day without midnight", "2026-09-06", "00:00", schedule.New(schedule.Spec{Size: period.Day, Zone: santiago}), santiago, 0, "2026-09-06T04:00:00Z"},
		{"an hour ends at the next such minute", "2026-03-03T10", ":30", hourly, newYork, 0, "2026-03-03T16:30:00Z"},
		{"an hour may end as it closes", "2026-03-03T10", ":00", hourly, newYork, 0, "2026-03-03T16:00:00Z"},
		{"an hour with a time of day", "2026-03-03T10", "10:30", hourly, newYork, 0, "2026-03-04T15:30:00Z"},
		{"an hour knows no day offset", "2026-03-03T10", "12:00", hourly, newYork, 1, "2026-03-03T17:00:00Z"},
		{"an hour's fire does not matter", "2026-03-03T10", ":30", cron(t, "5 * * * *", -1, newYork), newYork, 0, "2026-03-03T16:30:00Z"},
		{"the first of two hours", "2026-11-01T01", ":30", hourly, newYork, 0, "2026-11-01T06:30:00Z"},
		{"the second of two hours", "2026-11-01T01-05:00", ":30", hourly, newYork, 0, "2026-11-01T07:30:00Z"},
		{"a day that no fire is for has none", "2026-03-04", "08:00", cron(t, "0 5 * * 1,2", 0, newYork), newYork, 0, ""},
		{"an hour that no fire is for has none", "2026-03-03T09", ":30", cron(t, "0 6,18 * * *", 0, newYork), newYork, 0, ""},
		{"a week ends on the Monday after it", "2026-W09", "08:00", weekly, newYork, 0, "2026-03-02T13:00:00Z"},
		{"a week is due in the zone of the deadline", "2026-W09", "08:00", weekly, time.UTC, 0, "2026-03-02T08:00:00Z"},
		{"a week moved by days", "2026-W09", "08:00", weekly, newYork, 2, "2026-03-04T13:00:00Z"},
		{"a week after a clock change", "2026-W10", "08:00", weekly, newYork, 0, "2026-03-09T12:00:00Z"},
		{"a week's fire does not matter", "2026-W09", "08:00", weeklyCron, newYork, 0, "2026-03-02T13:00:00Z"},
		{"a week that no fire is for has none", "2026-W08", "08:00", monthlyFire, newYork, 0, ""},
		{"a month ends on the first of the next", "2026-02", "08:00", monthly, newYork, 0, "2026-03-01T13:00:00Z"},
		{"a month moved by days", "2025-12", "08:00", monthly, newYork, 4, "2026-01-05T13:00:00Z"},
		{"a quarter ends on the first of the next", "2025-Q4", "08:00", quarterly, newYork, 0, "2026-01-01T13:00:00Z"},
		{"a quarter after a clock change", "2026-Q1", "08:00", quarterly, newYork, 0, "2026-04-01T12:00:00Z"},
		{"a quarter is due in the zone of the deadline", "2026-Q1", "08:00", quarterly, time.UTC, 0, "2026-04-01T08:00:00Z"},
		{"a quarter's fire does not matter, its day offset does", "2026-Q1", "08:00", quarterlyCron, newYork, 9, "2026-04-10T12:00:00Z"},
		{"minutes have none", "2026-03-03T10:15", ":30", minutes, newYork, 0, ""},
		{"another size has none", "2026-03-03T10", "08:00", daily, newYork, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := periodtest.Parse(t, c.period)
			spec := sla.Spec{Deadline: clock(t, c.deadline), Zone: c.zone, DayOffset: c.days, Expected: 30 * time.Minute}
			got := spec.For(p, c.on.FireFor(p), c.on)
			if text(got.Breach) != c.want {
				t.Errorf("%s breaches at %s, want %s", p, text(got.Breach), c.want)
			}
			if c.want == "" && !got.Warn.IsZero() || c.want != "" && got.Breach.Sub(got.Warn) != 30*time.Minute {
				t.Errorf("%s warns at %s", p, text(got.Warn))
			}
		})
	}
}

func TestWithoutADeadlineThereIsNone(t *testing.T) {
	on := schedule.New(schedule.Spec{Size: period.Day})
	if got := (sla.Spec{Zone: time.UTC}).For(periodtest.Parse(t, "2026-03-03"), time.Time{}, on); got != (sla.Instants{}) {
		t.Errorf("%+v", got)
	}
	if got := (sla.Spec{Zone: time.UTC, Deadline: clock(t, "08:00")}).For(period.Period{}, time.Time{}, on); got != (sla.Instants{}) {
		t.Errorf("undated: %+v", got)
	}
}

func TestWithoutAnExpectedDurationThereIsNoWarning(t *testing.T) {
	got := sla.Spec{Deadline: clock(t, "08:00")}.For(periodtest.Parse(t, "2026-03-03"), time.Time{}, schedule.New(schedule.Spec{Size: period.Day}))
	if !got.Warn.IsZero() || text(got.Breach) != "2026-03-03T08:00:00Z" {
		t.Errorf("%+v", got)
	}
}

func TestRelativeDeadlines(t *testing.T) {
	arrived := time.Date(2026, 3, 3, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name          string
		expected, max time.Duration
		want          []string
	}{
		{"three quarters of the way", 0, 2 * time.Hour, []string{"2026-03-03T11:30:00Z", "2026-03-03T12:00:00Z"}},
		{"expectedDuration before the breach", 45 * time.Minute, 2 * time.Hour, []string{"2026-03-03T11:15:00Z", "2026-03-03T12:00:00Z"}},
		{"expectedDuration that leaves no time", 2 * time.Hour, 2 * time.Hour, []string{"2026-03-03T11:30:00Z", "2026-03-03T12:00:00Z"}},
		{"no maxDuration", 45 * time.Minute, 0, []string{"", ""}},
	} {
		got := sla.Spec{Expected: c.expected, Max: c.max}.Relative(arrived)
		if diff := cmp.Diff(c.want, []string{text(got.Warn), text(got.Breach)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestClose(t *testing.T) {
	newYork, late := periodtest.Load(t, "America/New_York"), clock(t, "20:00")
	on := func(size period.Size, offset int, earliest *schedule.Clock) *schedule.Schedule {
		return schedule.New(schedule.Spec{Size: size, Offset: offset, Time: earliest, Zone: newYork})
	}
	daily, hourly := on(period.Day, 0, nil), on(period.Hour, 0, nil)
	for _, c := range []struct {
		name, clock, period string
		on                  *schedule.Schedule
		want                string
	}{
		{"a day at its time", "10:00", "2026-03-03", daily, "2026-03-03T15:00:00Z"},
		{"a day at a time it lacks", "02:30", "2026-03-08", daily, "2026-03-08T07:00:00Z"},
		{"a day that is handled on the next", "10:00", "2026-03-03", on(period.Day, -1, nil), "2026-03-04T15:00:00Z"},
		{"a time before the earliest start is the next day's", "02:00", "2026-03-03", on(period.Day, 0, late), "2026-03-04T07:00:00Z"},
		{"a time before the fire is the next day's", "02:00", "2026-03-03", cron(t, "0 22 * * *", 0, newYork), "2026-03-04T07:00:00Z"},
		{"an offset leaves it with the fire", "10:00", "2026-03-03", cron(t, "0 8 * * *", -1, newYork), "2026-03-04T15:00:00Z"},
		{"an hour after its end", ":30", "2026-03-03T10", hourly, "2026-03-03T16:30:00Z"},
		{"an hour that is handled in the next", ":30", "2026-03-03T10", on(period.Hour, -1, nil), "2026-03-03T16:30:00Z"},
		{"an hour that is handled much later", ":30", "2026-03-03T10", on(period.Hour, -3, nil), "2026-03-03T18:30:00Z"},
		{"an hour after its fire", ":03", "2026-03-03T10", cron(t, "5 * * * *", -1, newYork), "2026-03-03T17:03:00Z"},
		{"a repeated hour after its end", ":15", "2026-11-01T01-05:00", hourly, "2026-11-01T07:15:00Z"},
		{"a minute after its end", ":30", "2026-03-03T10:15", hourly, "2026-03-03T15:30:00Z"},
		{"a day with a minute of the hour after its end", ":30", "2026-03-03", daily, "2026-03-04T05:30:00Z"},
	} {
		if got := text(sla.Close(*clock(t, c.clock), periodtest.Parse(t, c.period), c.on)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if got := sla.Close(*clock(t, "10:00"), period.Period{}, daily); !got.IsZero() {
		t.Errorf("undated closes at %s", got)
	}
}

func TestADeadlineIsNeverBeforeWhatItIsFor(t *testing.T) {
	zones := []*time.Location{time.UTC, periodtest.Load(t, "America/New_York"), periodtest.Load(t, "Australia/Lord_Howe"), periodtest.Load(t, "Africa/Casablanca")}
	rapid.Check(t, func(t *rapid.T) {
		zone, slaZone := rapid.SampledFrom(zones).Draw(t, "zone"), rapid.SampledFrom(zones).Draw(t, "sla zone")
		size := rapid.SampledFrom([]period.Size{period.Hour, period.Day}).Draw(t, "size")
		deadline := schedule.Clock{Hour: rapid.IntRange(-1, 23).Draw(t, "hour"), Minute: rapid.IntRange(0, 59).Draw(t, "minute")}
		on := schedule.New(schedule.Spec{Size: size, Zone: zone})
		p := period.At(time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "sec"), 0), size, zone)
		spec := sla.Spec{Deadline: &deadline, Zone: slaZone}
		from := p.Start(zone)
		if size == period.Hour || deadline.Hourly() {
			from = p.End(zone)
		}
		limit := 26 * time.Hour
		if deadline.Hourly() {
			limit = 2*time.Hour + 30*time.Minute
		}
		got := spec.For(p, time.Time{}, on)
		if got.Breach.Before(from) || got.Breach.Sub(from) > limit {
			t.Fatalf("%s of %s breaches at %s", deadline, p, text(got.Breach))
		}
		if next := spec.For(p.Add(1, zone), time.Time{}, on); next.Breach.Before(got.Breach) {
			t.Fatalf("the slice after %s breaches before it", p)
		}
	})
}
