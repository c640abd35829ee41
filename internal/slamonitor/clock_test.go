package slamonitor_test

import (
	"testing"

	"github.com/interlock-go/interlock/internal/run"
)

// The clock ran ahead when the run completed and has been set back since. A deadline armed now is
// still to come, and the run is already complete: it has met the deadline, although its recorded
// end is after the breach time.
func TestDeadlineArmedAfterAClockWasSetBackIsMetByACompletedRun(t *testing.T) {
	t.Run("relative", func(t *testing.T) {
		c := newController(t, relative)
		c.trigger("2026-03-03")
		c.down("14:00")
		c.report("orders/stream/2026-03-03", run.ResultSuccess)
		c.down("09:30")
		c.Write("orders", "a", "status=ready")
		c.ledger("2026-03-03 relative MET 03T13:30")
		c.wantBreaches()
	})
	t.Run("absolute", func(t *testing.T) {
		c := newController(t, untilReady)
		c.trigger("2026-03-03")
		c.down("14:00")
		c.report("orders/stream/2026-03-03", run.ResultSuccess)
		c.down("09:30")
		c.edit(untilReady + "sla: {deadline: '13:00'}\n")
		c.ledger("2026-03-03 absolute MET 03T13:00", "2026-03-04 absolute ARMED 04T13:00")
		c.wantBreaches()
	})
}
