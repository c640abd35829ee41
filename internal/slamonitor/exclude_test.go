package slamonitor_test

import (
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/router"
)

var closed = strings.Replace(everyDay, "schedule: {", holiday, 1)

func TestSuppressedPeriodHasNoDeadlineWhenItsExclusionIsLifted(t *testing.T) {
	c := newController(t, closed)
	c.until("11:10") // the fire of ten was suppressed
	c.edit(everyDay)
	c.until("20:00")
	c.ledger("2026-03-04 absolute ARMED 04T14:00")
	c.wantBreaches()
}

// The arming task may run before the one that finds that the fire was suppressed.
func TestPeriodSuppressedDuringDowntimeBreachesNothing(t *testing.T) {
	for _, first := range []string{"arm/orders", "reopen/orders"} {
		t.Run(first, func(t *testing.T) {
			c := newController(t, closed)
			c.down("11:10")
			c.file(everyDay)
			c.first(first)
			c.until("20:00")
			c.wantBreaches()
		})
	}
}

func TestDeadlineOfAnExcludedPeriodIsCancelled(t *testing.T) {
	c := newController(t, everyDay)
	c.edit(closed)
	c.ledger("2026-03-03 absolute CANCELLED 03T14:00 excluded", "2026-03-04 absolute ARMED 04T14:00")
}

func TestDeadlineReturnsIfItsExclusionIsLiftedInTime(t *testing.T) {
	c := newController(t, everyDay)
	c.edit(closed)
	c.until("09:50")
	c.edit(everyDay)
	c.ledger("2026-03-03 absolute ARMED 03T14:00", "2026-03-04 absolute ARMED 04T14:00")
}

func TestDeadlineDoesNotReturnOnceItsPeriodWasSuppressed(t *testing.T) {
	c := newController(t, everyDay)
	c.edit(closed)
	c.until("10:10")
	c.edit(everyDay)
	c.ledger("2026-03-03 absolute CANCELLED 03T14:00 excluded", "2026-03-04 absolute ARMED 04T14:00")
}

func TestReadingForASuppressedPeriodArmsNoDeadline(t *testing.T) {
	c := newController(t, strings.Replace(relative, "schedule: {", holiday, 1))
	c.Write("orders", "a", "status=ready")
	c.edit(relative)
	c.Write("orders", "a", "status=ready", "n=2")
	c.ledger()
}

// A write suppresses tomorrow before it begins. The day after is the next expected one.
func TestPeriodAfterASuppressedOneIsArmed(t *testing.T) {
	const open = untilReady + "sla: {deadline: \"14:00\"}\n"
	c := newController(t, strings.Replace(open, "schedule: {", "schedule: {exclude: {dates: [2026-03-04]}, ", 1))
	c.Write("orders", "a#2026-03-04", "status=ready")
	c.edit(open)
	c.ledger("2026-03-03 absolute ARMED 03T14:00", "2026-03-05 absolute ARMED 05T14:00")
}

func TestForcedRunOfAnExcludedPeriodHasNoDeadline(t *testing.T) {
	for _, sections := range []string{closed, "schedule: {exclude: {dates: [2026-03-03]}}\nsla: {deadline: \"14:00\"}\n"} {
		c := newController(t, sections)
		_, err := c.Router.Trigger(ctx, router.TriggerRequest{ID: "1", Pipeline: "orders", Period: c.Period("2026-03-03"), By: "ada", Reason: "tested", Force: true}, c.Now())
		c.Check(err)
		c.Settle()
		c.until("20:00")
		c.wantBreaches()
	}
}
