package slamonitor_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
)

// wantCancellations fails unless these were reported, each as "time date breach reason".
func (c *controller) wantCancellations(want ...string) {
	c.Helper()
	var got []string
	for _, e := range c.events() {
		if d, is := e.Detail.Extra.(event.Deadline); is && e.Type == event.SLACancelled {
			got = append(got, fmt.Sprintf("%s %s %s %s", e.Time.Format("02T15:04"), e.Detail.Date, d.Deadline.Format("02T15:04"), d.Reason))
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		c.Errorf("cancellations (-want +got):\n%s", diff)
	}
}

func TestEveryCancellationIsReported(t *testing.T) {
	c := newController(t, relative)
	c.Write("orders", "a", "status=pending")
	c.hold("")
	c.until("10:00")
	c.resume()
	c.until("10:30")
	c.hold("")
	c.wantCancellations("03T09:10 2026-03-03 03T13:10 paused", "03T10:30 2026-03-03 03T13:10 paused")
}

// Both deadlines of a run may be for the same time.
func TestDeadlinesOfTheSameTimeAreReportedApart(t *testing.T) {
	c := newController(t, untilReady+"sla: {deadline: \"13:10\", maxDuration: 4h}\n")
	c.Write("orders", "a", "status=pending")
	c.hold("")
	var today int
	for _, e := range c.events() {
		if e.Type == event.SLACancelled && e.Detail.Date.String() == "2026-03-03" {
			today++
		}
	}
	if today != 2 {
		t.Errorf("%d cancellations were reported, want 2", today)
	}
}

// A later pause replaces an earlier one: if it does not hold deadlines, they come back.
func TestPauseThatHoldsNoDeadlinesBringsThemBack(t *testing.T) {
	later := store.Pause{By: "bob", Why: "longer than thought"}
	for name, again := range map[string]func(*controller){
		"its own": func(c *controller) {
			c.hold("")
			c.until("10:00")
			_, err := c.Router.Pause(ctx, "orders", later, c.Now())
			c.Check(err)
		},
		"of all": func(c *controller) {
			all := store.Pause{By: "ada", Why: "maintenance", HoldSLA: true}
			_, err := c.Router.PauseAll(ctx, all, c.Now())
			c.Check(err)
			c.until("10:00")
			_, err = c.Router.PauseAll(ctx, later, c.Now())
			c.Check(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newController(t, relative)
			c.Write("orders", "a", "status=pending")
			again(c)
			c.Settle()
			c.ledger("2026-03-03 relative ARMED 03T13:10")
			c.until("18:00")
			c.wantBreaches("03T13:10 RELATIVE_SLA_BREACH 2026-03-03: not completed by 2026-03-03T13:10:00Z: there is no run yet; not satisfied: a (status is \"pending\", needs \"ready\")")
		})
	}
}
