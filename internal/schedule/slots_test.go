package schedule_test

import (
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/period/periodtest"
	"github.com/interlock-go/interlock/internal/schedule"
)

func days(t testing.TB, names ...string) []period.Period {
	t.Helper()
	var all []period.Period
	for _, name := range names {
		p, err := period.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

func one(t testing.TB, name string) period.Period { return days(t, name)[0] }

func list[T any](seq iter.Seq[T], limit int) []string {
	var all []string
	for v := range seq {
		if len(all) == limit {
			break
		}
		text := fmt.Sprint(v)
		if slot, ok := any(v).(schedule.Slot); ok {
			text = slot.Period.String()
			if !slot.FireAt.IsZero() {
				text += " at " + slot.FireAt.Format("2006-01-02T15:04Z")
			}
			if slot.Excluded != "" {
				text += " not: " + slot.Excluded
			}
		}
		all = append(all, text)
	}
	return all
}

func TestSlots(t *testing.T) {
	newYork, noon := periodtest.Load(t, "America/New_York"), clock(t, "12:00")
	holidays := schedule.Calendar{Name: "us-holidays", Dates: days(t, "2026-03-04")}
	inline := schedule.Calendar{Days: []time.Weekday{time.Saturday, time.Sunday}, Dates: days(t, "2026-03-05")}
	for _, c := range []struct {
		name string
		spec schedule.Spec
		from string
		want []string
	}{
		{
			"each fire opens the slice that holds it",
			schedule.Spec{Cron: parseCron(t, "0 5 * * *"), Size: period.Day, Zone: newYork},
			"2026-03-03T10:00:00Z",
			[]string{"2026-03-03 at 2026-03-03T10:00Z", "2026-03-04 at 2026-03-04T10:00Z"},
		},
		{
			"an offset moves the period, not the fire",
			schedule.Spec{Cron: parseCron(t, "5 * * * *"), Size: period.Hour, Offset: -1},
			"2026-03-03T11:05:00Z",
			[]string{"2026-03-03T10 at 2026-03-03T11:05Z", "2026-03-03T11 at 2026-03-03T12:05Z"},
		},
		{
			"an offset steps over an hour that is not there",
			schedule.Spec{Cron: parseCron(t, "5 * * * *"), Size: period.Hour, Offset: -1, Zone: newYork},
			"2026-03-08T07:00:00Z",
			[]string{"2026-03-08T01 at 2026-03-08T07:05Z", "2026-03-08T03 at 2026-03-08T08:05Z"},
		},
		{
			"a repeated hour has a fire of its own",
			schedule.Spec{Cron: parseCron(t, "5 * * * *"), Size: period.Hour, Zone: newYork},
			"2026-11-01T05:00:00Z",
			[]string{"2026-11-01T01 at 2026-11-01T05:05Z", "2026-11-01T01-05:00 at 2026-11-01T06:05Z", "2026-11-01T02 at 2026-11-01T07:05Z"},
		},
		{
			"two fires in one period open it once",
			schedule.Spec{Cron: parseCron(t, "15 2,3 * * *"), Size: period.Hour, Zone: newYork},
			"2026-03-08T05:00:00Z",
			[]string{"2026-03-08T03 at 2026-03-08T07:00Z", "2026-03-09T02 at 2026-03-09T06:15Z", "2026-03-09T03 at 2026-03-09T07:15Z"},
		},
		{
			"the second of two fires opens nothing",
			schedule.Spec{Cron: parseCron(t, "15 2,3 * * *"), Size: period.Hour, Zone: newYork},
			"2026-03-08T07:01:00Z",
			[]string{"2026-03-09T02 at 2026-03-09T06:15Z"},
		},
		{
			"excluded ones come with their reason",
			schedule.Spec{Cron: parseCron(t, "@daily"), Size: period.Day, Exclude: []schedule.Calendar{inline, holidays}},
			"2026-03-03T00:00:00Z",
			[]string{
				"2026-03-03 at 2026-03-03T00:00Z", `2026-03-04 at 2026-03-04T00:00Z not: calendar "us-holidays"`, "2026-03-05 at 2026-03-05T00:00Z not: listed date",
				"2026-03-06 at 2026-03-06T00:00Z", "2026-03-07 at 2026-03-07T00:00Z not: weekend",
			},
		},
		{
			"an exclusion is tested on the period, not on the fire",
			schedule.Spec{Cron: parseCron(t, "@daily"), Size: period.Day, Offset: -1, Exclude: []schedule.Calendar{inline}},
			"2026-03-07T00:00:00Z",
			[]string{"2026-03-06 at 2026-03-07T00:00Z", "2026-03-07 at 2026-03-08T00:00Z not: weekend", "2026-03-08 at 2026-03-09T00:00Z not: weekend"},
		},
		{
			"schedule.time leaves the fire where it is",
			schedule.Spec{Cron: parseCron(t, "@daily"), Size: period.Day, Time: &noon},
			"2026-03-03T00:00:00Z",
			[]string{"2026-03-03 at 2026-03-03T00:00Z"},
		},
		{
			"without cron every slice is expected",
			schedule.Spec{Size: period.Hour, Zone: newYork, Offset: -1},
			"2026-11-01T04:30:00Z",
			[]string{"2026-11-01T01", "2026-11-01T01-05:00", "2026-11-01T02"},
		},
		{
			"a slice that starts at the instant is the first",
			schedule.Spec{Size: period.Day},
			"2026-03-03T00:00:00Z",
			[]string{"2026-03-03", "2026-03-04"},
		},
		{
			"listed days open as they begin",
			schedule.Spec{Size: period.Day, Zone: newYork, Opens: true, Include: days(t, "2026-03-31", "2026-02-28", "2026-03-31")},
			"2026-02-28T05:00:00Z",
			[]string{"2026-02-28 at 2026-02-28T05:00Z", "2026-03-31 at 2026-03-31T04:00Z", ""},
		},
		{
			"listed days open at schedule.time",
			schedule.Spec{Size: period.Day, Zone: newYork, Opens: true, Time: &noon, Offset: -1, Include: days(t, "2026-02-28", "2026-03-31")},
			"2026-02-28T17:00:01Z",
			[]string{"2026-03-31 at 2026-03-31T16:00Z", ""},
		},
		{
			"listed days of an hourly pipeline open one hour",
			schedule.Spec{Size: period.Hour, Opens: true, Time: &noon, Include: days(t, "2026-02-28")},
			"2026-01-01T00:00:00Z",
			[]string{"2026-02-28T12 at 2026-02-28T12:00Z", ""},
		},
		{
			"listed days that wait for data are only expected",
			schedule.Spec{Size: period.Day, Include: days(t, "2026-02-28", "2026-03-31"), Time: &noon},
			"2026-02-28T00:00:01Z",
			[]string{"2026-03-31", ""},
		},
		{
			"a listed day may be excluded",
			schedule.Spec{Size: period.Day, Include: days(t, "2026-02-28"), Exclude: []schedule.Calendar{inline}},
			"2026-02-28T00:00:00Z",
			[]string{"2026-02-28 not: weekend", ""},
		},
		{
			"every hour of a listed day is expected",
			schedule.Spec{Size: period.Hour, Include: days(t, "2026-02-28", "2026-03-31")},
			"2026-02-28T21:30:00Z",
			[]string{"2026-02-28T22", "2026-02-28T23", "2026-03-31T00"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := list(schedule.New(c.spec).Slots(at(t, c.from)), len(c.want))
			if len(got) == len(c.want)-1 {
				got = append(got, "") // it ended
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFireForIsTheInverseOfSlots(t *testing.T) {
	all := periodtest.Changes(t)
	rapid.Check(t, func(t *rapid.T) {
		change := rapid.SampledFrom(all).Draw(t, "change")
		cron := parseCron(t, randomCrontab(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }).text)
		s := schedule.New(schedule.Spec{Cron: cron, Zone: change.Zone, Size: cron.Size(), Offset: -rapid.IntRange(0, 3).Draw(t, "offset")})
		from, _ := change.Around(reach)
		n := 0
		var last schedule.Slot
		for slot := range s.Slots(from) {
			if got := s.FireFor(slot.Period); !got.Equal(slot.FireAt) {
				t.Fatalf("%s: %s opens at %s, but FireFor says %s", change, slot.Period, slot.FireAt, got)
			}
			if got := s.PeriodAt(slot.FireAt); got != slot.Period || !slot.FireAt.After(last.FireAt) || slot.Period == last.Period {
				t.Fatalf("%s: %v follows %v; its fire is for %s", change, slot, last, got)
			}
			if n++; n > 50 {
				break
			}
			last = slot
		}
	})
}

func TestNoFireForWhatNothingOpens(t *testing.T) {
	daily := schedule.New(schedule.Spec{Cron: parseCron(t, "0 5 * * 1-5"), Size: period.Day})
	listed := schedule.New(schedule.Spec{Size: period.Day, Opens: true, Include: days(t, "2026-03-03")})
	waiting := schedule.New(schedule.Spec{Size: period.Day, Include: days(t, "2026-03-03")})
	for name, c := range map[string]struct {
		on     *schedule.Schedule
		period period.Period
		want   string
	}{
		"a weekday":               {daily, one(t, "2026-03-03"), "2026-03-03T05:00:00Z"},
		"a weekend":               {daily, one(t, "2026-03-07"), "0001-01-01T00:00:00Z"},
		"another size":            {daily, one(t, "2026-03-03T05"), "0001-01-01T00:00:00Z"},
		"undated":                 {daily, period.Period{}, "0001-01-01T00:00:00Z"},
		"a listed day":            {listed, one(t, "2026-03-03"), "2026-03-03T00:00:00Z"},
		"a day not listed":        {listed, one(t, "2026-03-04"), "0001-01-01T00:00:00Z"},
		"a listed day that waits": {waiting, one(t, "2026-03-03"), "0001-01-01T00:00:00Z"},
	} {
		if got := c.on.FireFor(c.period).Format(time.RFC3339); got != c.want {
			t.Errorf("%s: %s opens at %s, want %s", name, c.period, got, c.want)
		}
	}
}

func TestCurrentPeriodBetweenFiresIsThatOfTheLastFire(t *testing.T) {
	quarters := schedule.Spec{Cron: parseCron(t, "*/15 * * * *"), Size: period.Minute}
	late := quarters
	late.Offset = -1
	for _, c := range []struct {
		name, now, want string
		spec            schedule.Spec
	}{
		{"between two fires", "2026-03-03T18:06:00Z", "2026-03-03T18:00", quarters},
		{"at a fire", "2026-03-03T18:15:00Z", "2026-03-03T18:15", quarters},
		{"in the minute of a fire", "2026-03-03T18:15:59Z", "2026-03-03T18:15", quarters},
		{"between two fires, for the minute before each", "2026-03-03T18:06:00Z", "2026-03-03T17:59", late},
		{"every six hours", "2026-03-03T08:30:00Z", "2026-03-03T06", schedule.Spec{Cron: parseCron(t, "0 */6 * * *"), Size: period.Hour}},
		{"a day whose fire is still to come", "2026-03-03T04:00:00Z", "2026-03-03", schedule.Spec{Cron: parseCron(t, "0 5 * * 1-5"), Size: period.Day}},
		{"a day without a fire", "2026-03-08T04:00:00Z", "2026-03-06", schedule.Spec{Cron: parseCron(t, "0 5 * * 1-5"), Size: period.Day}},
		{"an excluded day", "2026-03-08T04:00:00Z", "2026-03-08", schedule.Spec{Cron: parseCron(t, "0 5 * * *"), Size: period.Day, Exclude: []schedule.Calendar{{Days: []time.Weekday{time.Sunday}}}}},
		{"no cron", "2026-03-03T18:06:00Z", "2026-03-03T18:06", schedule.Spec{Size: period.Minute}},
	} {
		if got := schedule.New(c.spec).Current(at(t, c.now)); got != one(t, c.want) {
			t.Errorf("%s: it is %s, want %s", c.name, got, c.want)
		}
	}
}

func TestExcludedSaysWhy(t *testing.T) {
	s := schedule.New(schedule.Spec{Size: period.Hour, Exclude: []schedule.Calendar{
		{Days: []time.Weekday{time.Saturday, time.Sunday, time.Monday}, Dates: days(t, "2026-03-04")},
		{Name: "closing", Days: []time.Weekday{time.Monday, time.Friday}, Dates: days(t, "2026-03-04", "2026-03-05")},
	}})
	for name, want := range map[string]string{
		"2026-03-07": "weekend", "2026-03-08T23": "weekend", "2026-03-02T10": "listed weekday", "2026-03-03": "",
		"2026-03-04T00:15": "listed date", "2026-03-05": `calendar "closing"`, "2026-03-06": `calendar "closing"`,
	} {
		if got := s.Excluded(one(t, name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := s.Excluded(period.Period{}); got != "" {
		t.Errorf("undated: %q", got)
	}
	saturdays := schedule.New(schedule.Spec{Size: period.Day, Exclude: []schedule.Calendar{{Days: []time.Weekday{time.Saturday}}}})
	if got := saturdays.Excluded(one(t, "2026-03-07")); got != "listed weekday" {
		t.Errorf("one day of the weekend: %q", got)
	}
	listed := schedule.New(schedule.Spec{Size: period.Day, Include: days(t, "2026-03-03")})
	if got := listed.Excluded(one(t, "2026-03-04T07")); got != "not an include date" {
		t.Errorf("a day not listed: %q", got)
	}
}

func TestExpected(t *testing.T) {
	newYork, lordHowe := periodtest.Load(t, "America/New_York"), periodtest.Load(t, "Australia/Lord_Howe")
	noon := clock(t, "12:00")
	mondays := []schedule.Calendar{{Days: []time.Weekday{time.Monday}}}
	for _, c := range []struct {
		name, of string
		spec     schedule.Spec
		want     []string
	}{
		{"all fires inside a day", "2026-03-03", schedule.Spec{Cron: parseCron(t, "0 8,20 * * *"), Size: period.Hour}, []string{"2026-03-03T08", "2026-03-03T20"}},
		{
			"an offset moves the fires that count", "2026-03-03",
			schedule.Spec{Cron: parseCron(t, "0 0,12 * * *"), Size: period.Hour, Offset: -1},
			[]string{"2026-03-03T11", "2026-03-03T23"},
		},
		{"fires of a clock-change day", "2026-03-08", schedule.Spec{Cron: parseCron(t, "15 2,3 * * *"), Size: period.Hour, Zone: newYork}, []string{"2026-03-08T03"}},
		{
			"minutes of a repeated half hour", "2026-04-05T01+10:30",
			schedule.Spec{Cron: parseCron(t, "*/15 * * * *"), Size: period.Minute, Zone: lordHowe},
			[]string{"2026-04-05T01:30+10:30", "2026-04-05T01:45+10:30"},
		},
		{"excluded ones are not waited for", "2026-03-02", schedule.Spec{Cron: parseCron(t, "@hourly"), Size: period.Hour, Exclude: mondays}, nil},
		{"the day that holds an hour", "2026-03-03T07", schedule.Spec{Cron: parseCron(t, "@daily"), Size: period.Day}, []string{"2026-03-03"}},
		{"the day that holds an hour has no fire", "2026-03-07T07", schedule.Spec{Cron: parseCron(t, "0 0 * * 1-5"), Size: period.Day}, nil},
		{"the same size", "2026-03-03", schedule.Spec{Size: period.Day}, []string{"2026-03-03"}},
		{"the same size, excluded", "2026-03-02", schedule.Spec{Size: period.Day, Exclude: mondays}, nil},
		{"an hour that the zone skips", "2026-03-08T02", schedule.Spec{Size: period.Hour, Zone: newYork}, nil},
		{"a repetition that the zone does not have", "2026-11-01T01-05:00", schedule.Spec{Size: period.Hour}, nil},
		{"the hours of a listed day that opens", "2026-03-03", schedule.Spec{Size: period.Hour, Opens: true, Time: &noon, Include: days(t, "2026-03-03")}, []string{"2026-03-03T12"}},
		{"a day not listed", "2026-03-04", schedule.Spec{Size: period.Day, Include: days(t, "2026-03-03")}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := list(schedule.New(c.spec).Expected(one(t, c.of)), 100)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.of, diff)
			}
		})
	}
	hours := list(schedule.New(schedule.Spec{Size: period.Hour, Zone: newYork}).Expected(one(t, "2026-11-01")), 100)
	if len(hours) != 25 || hours[2] != "2026-11-01T01-05:00" {
		t.Errorf("the long day has %d hours: %v", len(hours), hours)
	}
	if got := list(schedule.New(schedule.Spec{Size: period.Day}).Expected(period.Period{}), 100); got != nil {
		t.Errorf("undated waits for %v", got)
	}
}

func TestEarliestStart(t *testing.T) {
	newYork, early := periodtest.Load(t, "America/New_York"), clock(t, "02:30")
	for _, c := range []struct {
		name, of string
		spec     schedule.Spec
		want     string
	}{
		{"schedule.time on the day", "2026-03-03", schedule.Spec{Size: period.Day, Zone: newYork, Time: &early}, "2026-03-03T07:30:00Z"},
		{"schedule.time in the gap", "2026-03-08", schedule.Spec{Size: period.Day, Zone: newYork, Time: &early}, "2026-03-08T07:00:00Z"},
		{"the day an offset leads to", "2026-03-02", schedule.Spec{Size: period.Day, Zone: newYork, Time: &early, Offset: -1}, "2026-03-03T07:30:00Z"},
		{"a listed day, which no offset moves", "2026-03-03", schedule.Spec{Size: period.Day, Zone: newYork, Time: &early, Offset: -1, Opens: true, Include: days(t, "2026-03-03")}, "2026-03-03T07:30:00Z"},
		{"a listed day that waits for data, which an offset moves", "2026-03-03", schedule.Spec{Size: period.Day, Zone: newYork, Time: &early, Offset: -1, Include: days(t, "2026-03-03")}, "2026-03-04T07:30:00Z"},
		{"an hour's day", "2026-03-03T10", schedule.Spec{Size: period.Hour, Zone: newYork, Time: &early}, "2026-03-03T07:30:00Z"},
		{"the first instant without schedule.time", "2026-03-02", schedule.Spec{Size: period.Day, Zone: newYork, Offset: -1}, "2026-03-02T05:00:00Z"},
	} {
		if got := schedule.New(c.spec).EarliestStart(one(t, c.of)).Format(time.RFC3339); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestListedDayOpensForItself(t *testing.T) {
	ten := clock(t, "10:00")
	for _, size := range []period.Size{period.Day, period.Hour} {
		s := schedule.New(schedule.Spec{Size: size, Opens: true, Time: &ten, Offset: -1, Include: days(t, "2026-03-03")})
		for slot := range s.Slots(at(t, "2026-01-01T00:00:00Z")) {
			if got := s.PeriodAt(slot.FireAt); got != slot.Period {
				t.Errorf("%s opens at %s, which is for %s", slot.Period, slot.FireAt, got)
			}
			if got := s.OpensFrom(slot.Period); !got.Equal(slot.FireAt) || !s.EarliestStart(slot.Period).Equal(got) {
				t.Errorf("%s opens at %s, but not before %s", slot.Period, slot.FireAt, got)
			}
		}
	}
}

func TestSliceStartDoesNotMoveByTheOffset(t *testing.T) {
	s := schedule.New(schedule.Spec{Cron: parseCron(t, "5 * * * *"), Size: period.Hour, Offset: -1, Zone: periodtest.Load(t, "Asia/Kathmandu")})
	fire := at(t, "2026-03-03T05:20:00Z") // 11:05
	if got := s.SliceStart(fire).Format(time.RFC3339); got != "2026-03-03T05:15:00Z" {
		t.Errorf("the slice starts at %s", got)
	}
	if got := s.SliceEnd(fire).Format(time.RFC3339); got != "2026-03-03T06:15:00Z" {
		t.Errorf("the slice ends at %s", got)
	}
	if got := s.PeriodAt(fire); got != one(t, "2026-03-03T10") || s.Size() != period.Hour || s.Zone().String() != "Asia/Kathmandu" {
		t.Errorf("the fire is for %s", got)
	}
}
