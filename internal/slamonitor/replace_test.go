package slamonitor_test

import (
	"strings"
	"testing"
)

const everyDay = "schedule: {cron: \"0 10 * * *\"}\nsla: {deadline: \"14:00\"}\n"

// onDays is everyDay on fewer days of the week.
func onDays(days string) string { return strings.Replace(everyDay, "* * *", "* * "+days, 1) }

func TestPeriodDroppedByAnEditedCronHasNoDeadline(t *testing.T) {
	c := newController(t, everyDay)
	c.until("11:10")
	c.ledger("2026-03-03 absolute ARMED 03T14:00", "2026-03-04 absolute ARMED 04T14:00")
	c.edit(onDays("1,2,5"))
	c.ledger(
		"2026-03-03 absolute ARMED 03T14:00", "2026-03-04 absolute CANCELLED 04T14:00 replaced", "2026-03-06 absolute ARMED 06T14:00",
	)
	c.until("2d 15:00")
	c.wantBreaches("03T14:00 SLA_BREACH 2026-03-03: not completed by 2026-03-03T14:00:00Z: attempt 1 is RUNNING")
}

func TestDeadlineOfADroppedPeriodReturnsIfExpectedAgain(t *testing.T) {
	c := newController(t, everyDay)
	c.until("11:10")
	c.edit(onDays("1,2,5"))
	c.edit(everyDay)
	c.until("1d 09:00")
	c.ledger("2026-03-03 absolute BREACHED 03T14:00", "2026-03-04 absolute ARMED 04T14:00", "2026-03-06 absolute ARMED 06T14:00")
}

// The run continues under the version it opened with, and so does its deadline.
func TestOpenRunKeepsItsDeadlineWhenAnEditDropsItsPeriod(t *testing.T) {
	c := newController(t, everyDay)
	c.until("11:10")
	c.edit(onDays("5"))
	c.ledger(
		"2026-03-03 absolute ARMED 03T14:00", "2026-03-04 absolute CANCELLED 04T14:00 replaced", "2026-03-06 absolute ARMED 06T14:00",
	)
	c.hold("")
	c.resume()
	c.until("15:00")
	c.wantBreaches("03T14:00 SLA_BREACH 2026-03-03: not completed by 2026-03-03T14:00:00Z: attempt 1 is RUNNING")
}

func TestEditCancelsDeadlinesOfUnexpectedPeriods(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		want                []string
	}{
		{
			"hours of a cron",
			"schedule: {cron: \"30 * * * *\"}\nsla: {deadline: \":45\"}\n",
			"schedule: {cron: \"30 6,18 * * *\", period: hour}\nsla: {deadline: \":45\"}\n",
			[]string{"2026-03-03T09 absolute CANCELLED 03T10:45 replaced", "2026-03-03T18 absolute ARMED 03T19:45"},
		},
		{
			"slices of another size",
			"schedule: {trigger: {key: a, check: exists}}\nsla: {deadline: \"14:00\"}\n",
			"schedule: {trigger: {key: a, check: exists}, period: hour}\nsla: {deadline: \":30\"}\n",
			[]string{
				"2026-03-03T09 absolute ARMED 03T10:30", "2026-03-03T10 absolute ARMED 03T11:30",
				"2026-03-03 absolute CANCELLED 03T14:00 replaced", "2026-03-04 absolute CANCELLED 04T14:00 replaced",
			},
		},
		{
			"a day that is listed no longer",
			"schedule: {include: {dates: [2026-03-04, 2026-03-05]}}\nsla: {deadline: \"14:00\"}\n",
			"schedule: {include: {dates: [2026-03-05]}}\nsla: {deadline: \"14:00\"}\n",
			[]string{"2026-03-04 absolute CANCELLED 04T14:00 excluded", "2026-03-05 absolute ARMED 05T14:00"},
		},
		{
			"what a reading opened and a fire opens now",
			"schedule: {trigger: {key: a, check: exists}}\nsla: {deadline: \"14:00\"}\n",
			everyDay,
			[]string{
				"2026-03-03 absolute ARMED 03T14:00", "2026-03-03 absolute CANCELLED 03T14:00 replaced",
				"2026-03-04 absolute CANCELLED 04T14:00 replaced",
			},
		},
		{
			"a fire that would have come before the horizon",
			everyDay,
			"schedule: {cron: \"0 9 * * *\"}\nsla: {deadline: \"14:00\"}\n",
			[]string{"2026-03-03 absolute CANCELLED 03T14:00 replaced", "2026-03-04 absolute ARMED 04T14:00"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newController(t, c.before)
			w.edit(c.after)
			w.ledger(c.want...)
		})
	}
}

const both = "schedule: {trigger: {key: a, check: equals, field: status, value: ready}}\nsla: {deadline: \"14:00\", maxDuration: 4h}\n"

func TestEditThatDropsOneDeadlineLeavesTheOther(t *testing.T) {
	for _, c := range []struct {
		dropped string
		ledger  []string
		told    string
	}{
		{
			"deadline: \"14:00\", ",
			[]string{
				"2026-03-03 relative ARMED 03T13:10", "2026-03-03 absolute CANCELLED 03T14:00 replaced", "2026-03-04 absolute CANCELLED 04T14:00 replaced",
			},
			"03T13:10 RELATIVE_SLA_BREACH 2026-03-03: not completed by 2026-03-03T13:10:00Z: there is no run yet; not satisfied: a (status is \"pending\", needs \"ready\")",
		},
		{
			", maxDuration: 4h",
			[]string{
				"2026-03-03 relative CANCELLED 03T13:10 replaced", "2026-03-03 absolute ARMED 03T14:00", "2026-03-04 absolute ARMED 04T14:00",
			},
			"03T14:00 SLA_BREACH 2026-03-03: not completed by 2026-03-03T14:00:00Z: there is no run yet; not satisfied: a (status is \"pending\", needs \"ready\")",
		},
	} {
		t.Run(c.dropped, func(t *testing.T) {
			w := newController(t, both)
			w.Write("orders", "a", "status=pending")
			w.edit(strings.Replace(both, c.dropped, "", 1))
			w.ledger(c.ledger...)
			w.until("20:00")
			w.wantBreaches(c.told)
		})
	}
}

// A reading opens the run of exactly the period that it names.
func TestDeadlineOfAReadingForAnHourSurvivesAnEdit(t *testing.T) {
	const start = "schedule: {trigger: {key: a, check: equals, field: status, value: ready}}\n"
	c := newController(t, start+"sla: {maxDuration: 4h}\n")
	c.Write("orders", "a#2026-03-03T08", "status=pending")
	c.edit(start + "sla: {maxDuration: 4h}\nvalidation: {rules: [{key: b, check: exists}]}\n")
	c.ledger("2026-03-03T08 relative ARMED 03T13:10")
}

const twice = "schedule: {cron: \"0 6,18 * * *\", trigger: {key: a, check: exists}}\nsla: {maxDuration: 2h}\n"

func TestReadingForAPeriodWithoutAFireArmsNoDeadline(t *testing.T) {
	c := newController(t, twice)
	c.Write("orders", "a", "n=1")
	c.until("12:00")
	c.ledger()
	c.Write("orders", "a#2026-03-03T18", "n=1")
	c.ledger("2026-03-03T18 relative ARMED 03T14:00")
}

func TestReadingForAPeriodBeforeTheHorizonArmsNoDeadline(t *testing.T) {
	c := newController(t, twice)
	c.Write("orders", "a#2026-03-03T06", "n=1")
	c.ledger()
}

func TestReadingForAPeriodWithoutAFireCountsOnceTriggered(t *testing.T) {
	c := newController(t, twice)
	c.trigger("2026-03-03T09")
	c.Write("orders", "a", "n=1")
	c.ledger("2026-03-03T09 relative ARMED 03T11:10")
}
