package schedule_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/period/periodtest"
	"github.com/interlock-go/interlock/internal/schedule"
)

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestSlotsOfLongPeriods(t *testing.T) {
	newYork, six := periodtest.Load(t, "America/New_York"), clock(t, "06:00")
	weekdays := schedule.Calendar{Days: []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday}}
	weekends := schedule.Calendar{Days: []time.Weekday{time.Saturday, time.Sunday}}
	var march []period.Period
	for day := range one(t, "2026-03").Days() {
		march = append(march, day)
	}
	for _, c := range []struct {
		name, from string
		spec       schedule.Spec
		want       []string
	}{
		{
			"a fire on Monday for the week before", "2026-12-25T00:00:00Z",
			schedule.Spec{Cron: parseCron(t, "0 6 * * 1"), Size: period.Week, Offset: -1},
			[]string{"2026-W52 at 2026-12-28T06:00Z", "2026-W53 at 2027-01-04T06:00Z", "2027-W01 at 2027-01-11T06:00Z"},
		},
		{
			"a fire on the third for the month before, across a clock change", "2026-02-10T00:00:00Z",
			schedule.Spec{Cron: parseCron(t, "0 6 3 * *"), Size: period.Month, Offset: -1, Zone: newYork},
			[]string{"2026-02 at 2026-03-03T11:00Z", "2026-03 at 2026-04-03T10:00Z", "2026-04 at 2026-05-03T10:00Z"},
		},
		{
			"a fire on the fifth for the quarter before, across clock changes", "2026-02-10T00:00:00Z",
			schedule.Spec{Cron: parseCron(t, "0 6 5 1,4,7,10 *"), Size: period.Quarter, Offset: -1, Zone: newYork},
			[]string{"2026-Q1 at 2026-04-05T10:00Z", "2026-Q2 at 2026-07-05T10:00Z", "2026-Q3 at 2026-10-05T10:00Z"},
		},
		{
			"quarters that only a sensor opens", "2026-08-01T00:00:00Z",
			schedule.Spec{Size: period.Quarter, Zone: newYork},
			[]string{"2026-Q4", "2027-Q1", "2027-Q2"},
		},
		{
			"a month off does not exclude a quarter", "2026-01-01T00:00:00Z",
			schedule.Spec{Size: period.Quarter, Exclude: []schedule.Calendar{{Name: "closed", Dates: march}, weekends}},
			[]string{"2026-Q1", "2026-Q2", "2026-Q3"},
		},
		{
			"the first listed day of a quarter opens it", "2026-01-01T00:00:00Z",
			schedule.Spec{Size: period.Quarter, Opens: true, Time: &six, Include: days(t, "2026-03-31", "2026-04-01", "2026-06-30", "2026-12-31")},
			[]string{"2026-Q1 at 2026-03-31T06:00Z", "2026-Q2 at 2026-04-01T06:00Z", "2026-Q4 at 2026-12-31T06:00Z"},
		},
		{
			"weeks that only a sensor opens", "2026-03-01T00:00:00Z",
			schedule.Spec{Size: period.Week, Zone: newYork},
			[]string{"2026-W10", "2026-W11", "2026-W12"},
		},
		{
			"weekends do not exclude a week", "2026-03-01T00:00:00Z",
			schedule.Spec{Size: period.Week, Exclude: []schedule.Calendar{weekends}},
			[]string{"2026-W10", "2026-W11", "2026-W12"},
		},
		{
			"a week is excluded with all of its days", "2026-03-01T00:00:00Z",
			schedule.Spec{Size: period.Week, Exclude: []schedule.Calendar{weekdays, {Dates: days(t, "2026-03-14", "2026-03-15")}}},
			[]string{"2026-W10", "2026-W11 not: each of its days is excluded", "2026-W12"},
		},
		{
			"a month is excluded with all of its days", "2026-02-01T00:00:00Z",
			schedule.Spec{Size: period.Month, Exclude: []schedule.Calendar{{Name: "closed", Dates: march}}},
			[]string{"2026-02", `2026-03 not: calendar "closed"`, "2026-04"},
		},
		{
			"the first listed day of a week opens it", "2026-03-01T00:00:00Z",
			schedule.Spec{Size: period.Week, Opens: true, Time: &six, Include: days(t, "2026-03-04", "2026-03-06", "2026-03-16")},
			[]string{"2026-W10 at 2026-03-04T06:00Z", "2026-W12 at 2026-03-16T06:00Z"},
		},
		{
			"the weeks of listed days", "2026-03-01T00:00:00Z",
			schedule.Spec{Size: period.Week, Include: days(t, "2026-03-04", "2026-03-06", "2026-03-16")},
			[]string{"2026-W10", "2026-W12"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			on := schedule.New(c.spec)
			if diff := cmp.Diff(c.want, list(on.Slots(instant(t, c.from)), 3)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for slot := range on.Slots(instant(t, c.from)) {
				if fire := on.FireFor(slot.Period); fire != slot.FireAt {
					t.Errorf("%s fires at %s, FireFor says %s", slot.Period, slot.FireAt, fire)
				}
				if slot.Period.Start(time.UTC).Year() > 2026 {
					break
				}
			}
		})
	}
}

func TestInsideLongPeriods(t *testing.T) {
	for _, c := range []struct {
		name, of string
		spec     schedule.Spec
		want     []string
	}{
		{"days of a week", "2026-W01", schedule.Spec{Size: period.Day}, []string{"2025-12-29", "2025-12-30", "2025-12-31", "2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"}},
		{"weeks of a month have their Thursday in it", "2026-03", schedule.Spec{Size: period.Week}, []string{"2026-W10", "2026-W11", "2026-W12", "2026-W13"}},
		{"the last may end beyond it", "2026-04", schedule.Spec{Size: period.Week}, []string{"2026-W14", "2026-W15", "2026-W16", "2026-W17", "2026-W18"}},
		{"months of a quarter", "2026-Q4", schedule.Spec{Size: period.Month}, []string{"2026-10", "2026-11", "2026-12"}},
		{
			"weeks of a quarter have their Thursday in it", "2026-Q1",
			schedule.Spec{Size: period.Week, Cron: parseCron(t, "0 6 * * 1")},
			[]string{
				"2026-W01 at 2025-12-29T06:00Z", "2026-W02 at 2026-01-05T06:00Z", "2026-W03 at 2026-01-12T06:00Z", "2026-W04 at 2026-01-19T06:00Z",
				"2026-W05 at 2026-01-26T06:00Z", "2026-W06 at 2026-02-02T06:00Z", "2026-W07 at 2026-02-09T06:00Z", "2026-W08 at 2026-02-16T06:00Z",
				"2026-W09 at 2026-02-23T06:00Z", "2026-W10 at 2026-03-02T06:00Z", "2026-W11 at 2026-03-09T06:00Z", "2026-W12 at 2026-03-16T06:00Z",
				"2026-W13 at 2026-03-23T06:00Z",
			},
		},
		{
			"with fires for the month before", "2026-Q2",
			schedule.Spec{Size: period.Month, Cron: parseCron(t, "0 6 3 * *"), Offset: -1},
			[]string{"2026-04 at 2026-05-03T06:00Z", "2026-05 at 2026-06-03T06:00Z", "2026-06 at 2026-07-03T06:00Z"},
		},
		{
			"with fires for the week before", "2026-04",
			schedule.Spec{Size: period.Week, Cron: parseCron(t, "0 6 * * 2"), Offset: -1},
			[]string{
				"2026-W14 at 2026-04-07T06:00Z", "2026-W15 at 2026-04-14T06:00Z", "2026-W16 at 2026-04-21T06:00Z",
				"2026-W17 at 2026-04-28T06:00Z", "2026-W18 at 2026-05-05T06:00Z",
			},
		},
		{
			"fires of working days", "2026-W10",
			schedule.Spec{Size: period.Day, Cron: parseCron(t, "0 6 * * 1,5"), Offset: -1},
			[]string{"2026-03-05 at 2026-03-06T06:00Z", "2026-03-08 at 2026-03-09T06:00Z"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, list(schedule.New(c.spec).Inside(one(t, c.of)), 100)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.of, diff)
			}
		})
	}
}

func TestCronFitsPeriodsThatNeverHoldTwoFires(t *testing.T) {
	for expr, largest := range map[string]period.Size{
		"*/5 * * * *": period.Minute, "5 * * * *": period.Hour, "0 6 * * *": period.Day, "0 6 * * 1-5": period.Day,
		"0 6 * * 1": period.Week, "0 6 * * 0": period.Week, "@weekly": period.Week, "0 6 1,15 * *": period.Week,
		"0 6 1,5 * *": period.Day, "0 6 1 * *": period.Month, "0 6 31 * *": period.Month, "@monthly": period.Month, "0 6 1 1 *": period.Quarter,
		"0 6 1 1,4,7,10 *": period.Quarter, "0 6 1 */3 *": period.Quarter, "0 6 1 */2 *": period.Month, "@yearly": period.Quarter, "0 6 31 3,12 *": period.Quarter,
		"0 6 L * *": period.Month, "0 6 L 3,6,9,12 *": period.Quarter, "0 6 1,L * *": period.Day, "0 6 15,L * *": period.Week,
		"0 6 * * 5#3": period.Month, "0 6 * * 5#5": period.Month, "0 6 * * MON#1,MON#3": period.Week, "0 6 * 1 5#3,5#4": period.Week,
		"0 6 L * 5#3": period.Week, "0 6 * * 5#3,1": period.Day, "0 6,18 L * *": period.Hour,
		"0 6 1 * 1": period.Day, "0 6 * 3 1": period.Week,
	} {
		cron := parseCron(t, expr)
		for _, size := range period.Sizes() {
			if got := cron.Fits(size); got != (size <= largest) {
				t.Errorf("%q fits a %s: %t", expr, size, got)
			}
		}
	}
}

func TestLastSlicesEndInsideALongerPeriod(t *testing.T) {
	for _, c := range []struct {
		of   string
		size period.Size
		n    int
		want []string
	}{
		{"2026-03", period.Week, 2, []string{"2026-W12", "2026-W13"}}, // W14 begins in March; its Thursday is in April
		{"2026-04", period.Week, 2, []string{"2026-W17", "2026-W18"}},
		{"2026-Q1", period.Week, 2, []string{"2026-W12", "2026-W13"}},
		{"2026-Q1", period.Month, 4, []string{"2025-12", "2026-01", "2026-02", "2026-03"}},
		{"2026-Q1", period.Day, 1, []string{"2026-03-31"}},
		{"2026-Q1", period.Quarter, 3, []string{"2025-Q3", "2025-Q4", "2026-Q1"}},
		{"2026-03-31", period.Quarter, 2, []string{"2025-Q4", "2026-Q1"}},
		{"2026-W14", period.Quarter, 1, []string{"2026-Q2"}},
	} {
		on := schedule.New(schedule.Spec{Size: period.Day, Zone: periodtest.Load(t, "America/New_York")})
		var got []string
		for _, p := range on.LastSlices(one(t, c.of), c.size, c.n) {
			got = append(got, p.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("the last %d %ss of %s (-want +got):\n%s", c.n, c.size, c.of, diff)
		}
	}
}

func TestPeriodsAfterAnotherLeaveOutExcludedOnes(t *testing.T) {
	on := schedule.New(schedule.Spec{Size: period.Day, Exclude: []schedule.Calendar{{Days: []time.Weekday{time.Saturday, time.Sunday}}}})
	for n, want := range map[int]string{0: "2026-03-05", 1: "2026-03-06", 2: "2026-03-09", 7: "2026-03-16"} {
		if got := on.After(one(t, "2026-03-05"), n).String(); got != want {
			t.Errorf("%d after Thursday: %s, want %s", n, got, want)
		}
	}
}

func TestExpectedQuarterOfASmallerPeriod(t *testing.T) {
	on := schedule.New(schedule.Spec{Size: period.Quarter, Cron: parseCron(t, "0 6 5 1,4,7 *"), Offset: -1})
	for of, want := range map[string]string{"2026-03-31": "2026-Q1", "2026-02": "2026-Q1", "2026-W14": "2026-Q2", "2026-Q4": "2026-Q4", "2026-07": ""} {
		var got string
		for p := range on.Expected(one(t, of)) {
			got += p.String()
		}
		if got != want {
			t.Errorf("%s waits for %q, want %q", of, got, want)
		}
	}
}

func TestEarliestStartOfAWeekIsOnItsFirstDay(t *testing.T) {
	six := clock(t, "06:00")
	for offset, want := range map[int]string{0: "2026-03-02T06:00:00Z", -1: "2026-03-09T06:00:00Z"} {
		on := schedule.New(schedule.Spec{Size: period.Week, Time: &six, Offset: offset})
		if got := on.EarliestStart(one(t, "2026-W10")); got != instant(t, want) {
			t.Errorf("offset %d: %s, want %s", offset, got, want)
		}
	}
}
