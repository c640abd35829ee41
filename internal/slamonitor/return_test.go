package slamonitor_test

import (
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/run"
)

const (
	untilReady = "schedule: {trigger: {key: a, check: equals, field: status, value: ready}}\n"
	relative   = untilReady + "sla: {maxDuration: 4h}\n"
	holiday    = "schedule: {exclude: {dates: [2026-03-03]}, "
)

func TestRelativeDeadlineReturnsWithItsOriginalTimes(t *testing.T) {
	again := func(c *controller) { c.edit(relative) }
	for _, c := range []struct {
		name, why  string
		away, back func(c *controller)
	}{
		{"after a pause", "paused", func(c *controller) { c.hold("") }, (*controller).resume},
		{"after a pause that ends by itself", "paused", func(c *controller) { c.hold("11:00") }, func(*controller) {}},
		{"with its file", "removed", func(c *controller) { c.edit("") }, again},
		{"with its line in the file", "replaced", func(c *controller) { c.edit(untilReady) }, again},
		{"with its day in the calendar", "excluded", func(c *controller) { c.edit(strings.Replace(relative, "schedule: {", holiday, 1)) }, again},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newController(t, relative)
			w.Write("orders", "a", "status=pending")
			w.ledger("2026-03-03 relative ARMED 03T13:10")
			w.until("10:00")
			c.away(w)
			w.ledger("2026-03-03 relative CANCELLED 03T13:10 " + c.why)
			w.until("11:00")
			c.back(w)
			w.ledger("2026-03-03 relative ARMED 03T13:10")
			w.Write("orders", "a", "status=almost") // it is not the first
			w.until("18:00")
			w.wantBreaches("03T13:10 RELATIVE_SLA_BREACH 2026-03-03: not completed by 2026-03-03T13:10:00Z: there is no run yet; not satisfied: a (status is \"almost\", needs \"ready\")")
		})
	}
}

func TestReadingDuringAPauseDoesNotMoveTheDeadline(t *testing.T) {
	c := newController(t, relative)
	c.Write("orders", "a", "status=pending")
	c.hold("")
	c.until("10:00")
	c.Write("orders", "a", "status=almost")
	c.until("11:00")
	c.resume()
	c.ledger("2026-03-03 relative ARMED 03T13:10")
}

func TestBothDeadlinesReturnAfterAPause(t *testing.T) {
	c := newController(t, both)
	c.Write("orders", "a", "status=pending")
	c.hold("10:00")
	c.until("12:00")
	c.ledger("2026-03-03 relative ARMED 03T13:10", "2026-03-03 absolute ARMED 03T14:00", "2026-03-04 absolute ARMED 04T14:00")
}

func TestDeadlinePassedDuringAPauseDoesNotReturn(t *testing.T) {
	c := newController(t, relative)
	c.Write("orders", "a", "status=pending")
	c.hold("")
	c.until("13:10")
	c.resume()
	c.until("18:00")
	c.ledger("2026-03-03 relative CANCELLED 03T13:10 paused")
	c.wantBreaches()
}

func TestDeadlineDroppedDuringAPauseDoesNotReturn(t *testing.T) {
	c := newController(t, relative)
	c.Write("orders", "a", "status=pending")
	c.hold("")
	c.edit(untilReady)
	c.resume()
	c.ledger("2026-03-03 relative CANCELLED 03T13:10 paused")
}

func TestDeadlineOfARunCompletedDuringAPauseIsMet(t *testing.T) {
	c := newController(t, relative)
	c.Write("orders", "a", "status=ready")
	c.hold("")
	c.until("10:00")
	c.report("orders/stream/2026-03-03", run.ResultSuccess)
	c.resume()
	c.ledger("2026-03-03 relative MET 03T13:10")
}

// A deadline that an operator ended stays cancelled.
func TestDeadlineOfARunCancelledDuringAPauseDoesNotReturn(t *testing.T) {
	c := newController(t, both)
	c.Write("orders", "a", "status=ready")
	c.hold("")
	_, err := c.Router.Cancel(ctx, c.Key("orders/stream/2026-03-03"), "ada", "not needed", c.Now())
	c.Check(err)
	c.Settle()
	c.resume()
	c.until("18:00")
	c.wantBreaches()
}

func TestDeadlineOfAManualRunReturnsAfterAPause(t *testing.T) {
	c := newController(t, "sla: {deadline: \"14:00\"}\n")
	c.trigger("2026-03-03")
	c.hold("")
	c.ledger("2026-03-03 absolute CANCELLED 03T14:00 paused")
	c.resume()
	c.ledger("2026-03-03 absolute ARMED 03T14:00")
}

// A returning file opens no past periods, but this run is open.
func TestDeadlineOfAnOpenRunReturnsWithItsFile(t *testing.T) {
	c := newController(t, everyDay)
	c.until("11:00")
	c.edit("")
	c.until("12:00")
	c.edit(everyDay)
	c.ledger("2026-03-03 absolute ARMED 03T14:00", "2026-03-04 absolute ARMED 04T14:00")
}
