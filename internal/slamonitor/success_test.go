package slamonitor_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// acknowledge reports a success without completing the run.
func (c *controller) acknowledge(at time.Time) {
	c.Helper()
	o := run.Outcome{Key: c.Key("orders/stream/2026-03-03"), Report: run.Report{Result: run.ResultSuccess, By: "etl", At: at}}
	_, err := c.Router.Report(ctx, o, c.Now())
	c.Check(err)
}

// A success counts from its acknowledgement, even if the controller completes the run much later.
func TestDeadlineIsJudgedByWhenTheSuccessWasAcknowledged(t *testing.T) {
	for _, c := range []struct {
		acknowledged, back string
		want               []string
	}{
		{"12:50", "13:30", []string{"13:30 SLA_MET: completed 10m0s before its deadline"}},
		{"12:50", "12:55", []string{"12:55 SLA_MET: completed 10m0s before its deadline"}},
		{"13:00", "13:30", []string{"13:30 SLA_MET: completed 0s before its deadline"}},
		{"13:10", "13:30", []string{"13:30 SLA_BREACH: completed 10m0s after its deadline"}},
	} {
		for _, first := range []string{"completes the run", "fires the deadline"} {
			t.Run(fmt.Sprintf("%s, back at %s, first it %s", c.acknowledged, c.back, first), func(t *testing.T) {
				w := newController(t, untilReady+"sla: {deadline: \"13:00\", expectedDuration: 10m}\n")
				w.Write("orders", "a", "status=ready")
				w.until("12:40")
				w.Move(at(t, c.acknowledged))
				w.acknowledge(time.Time{})
				w.Move(at(t, c.back))
				if first == "fires the deadline" {
					w.first("deadline/orders/stream/2026-03-03/absolute")
				}
				w.Settle()
				w.wantSLA(c.want...)
			})
		}
	}
}

// The file was edited before the deadline, and the controller was down before it could move it.
func TestDeadlineIsJudgedByAnEditAcknowledgedBeforeIt(t *testing.T) {
	const due = untilReady + "sla: {deadline: \"13:00\"}\n"
	const replaced = "14:00 SLA_CANCELLED: the deadline no longer applies: replaced"
	const completes, fires = "completes the run", "fires the deadline"
	for _, c := range []struct {
		edited, to, acknowledged, first string
		want                            []string
	}{
		{"12:40", "13:30", "13:10", completes, []string{replaced, "14:00 SLA_MET: completed 20m0s before its deadline"}},
		{"12:40", "13:30", "13:10", fires, []string{replaced, "14:00 SLA_MET: completed 20m0s before its deadline"}},
		{"12:40", "13:30", "13:40", completes, []string{replaced, "14:00 SLA_BREACH: completed 10m0s after its deadline"}},
		{"12:40", "13:30", "13:40", fires, []string{replaced, "14:00 SLA_BREACH: completed 10m0s after its deadline"}},
		{"12:40", "13:30", "", fires, []string{replaced, "14:00 SLA_BREACH: not completed by 2026-03-03T13:30:00Z: attempt 1 is RUNNING"}},
		{"12:40", "12:50", "12:55", fires, []string{replaced, "14:00 SLA_BREACH: completed 5m0s after its deadline"}},
		{"12:40", "12:30", "12:55", fires, []string{"14:00 SLA_MET: completed 5m0s before its deadline"}},
		{"13:05", "13:30", "13:10", fires, []string{"14:00 SLA_BREACH: completed 10m0s after its deadline"}},
	} {
		t.Run(fmt.Sprintf("at %s to %s, success at %s, first it %s", c.edited, c.to, c.acknowledged, c.first), func(t *testing.T) {
			w := newController(t, due)
			w.Write("orders", "a", "status=ready")
			w.until("12:30")
			w.Move(at(t, c.edited))
			w.file(strings.Replace(due, "13:00", c.to, 1))
			if c.acknowledged != "" {
				w.Move(at(t, c.acknowledged))
				w.acknowledge(time.Time{})
			}
			w.Move(at(t, "14:00"))
			task := "deadline/orders/stream/2026-03-03/absolute"
			if c.first == completes {
				task = "advance/orders/stream/2026-03-03"
			}
			w.first(task)
			w.wantSLA(c.want...)
		})
	}
}

// wantSLA fails unless these events of today's deadline were emitted, each as "time type: message".
func (c *controller) wantSLA(want ...string) {
	c.Helper()
	var got []string
	for _, e := range c.events() {
		if t := string(e.Type); len(t) > 4 && t[:4] == "SLA_" && e.Detail.Date.String() == "2026-03-03" {
			got = append(got, fmt.Sprintf("%s %s: %s", e.Time.Format("15:04"), t, e.Detail.Message))
		}
	}
	c.want(want, got)
}

// A report may reach the controller after the breach, although the store acknowledged it before.
// The breach stands, and the run is not shown as done before its deadline.
func TestReportedBreachStandsWhenAnEarlierSuccessIsHandled(t *testing.T) {
	c := newController(t, untilReady+"sla: {deadline: \"13:00\"}\n")
	c.Write("orders", "a", "status=ready")
	c.until("13:10")
	c.acknowledge(at(t, "12:50"))
	c.Settle()
	c.ledger("2026-03-03 absolute BREACHED 03T13:00", "2026-03-04 absolute ARMED 04T13:00")
	page, err := c.Store.Deadlines(ctx, store.DeadlineQuery{Key: c.Key("orders/stream/2026-03-03")})
	c.Check(err)
	if d := page.Items[0]; !d.DoneAt.Equal(d.BreachAt) {
		t.Errorf("breached at %s, done at %s", d.BreachAt, d.DoneAt)
	}
}

// A late success breaches no deadline that a pause, a removal or an edit had ended, even if that
// has not been handled then, or is acknowledged only while the completion is stored.
func TestLateSuccessHeedsWhatWasAcknowledged(t *testing.T) {
	const start, due = "schedule: {trigger: {key: a, check: exists}}\n", "sla: {deadline: \"14:00\"}\n"
	const cancelled = "2026-03-03 absolute CANCELLED 03T14:00 "
	for _, c := range []struct {
		name string
		do   func(*controller)
		want string
	}{
		{"a pause", (*controller).pause, cancelled + "paused"},
		{"a removal", func(c *controller) { c.file("") }, cancelled + "removed"},
		{"an edit without deadline", func(c *controller) { c.file(start) }, cancelled + "replaced"},
	} {
		for _, when := range []string{"before it completes", "while it completes", "before the deadline fires"} {
			t.Run(c.name+" "+when, func(t *testing.T) {
				w := newController(t, start+due)
				w.Write("orders", "a", "n=1")
				w.Move(at(t, "14:00"))
				s := &meanwhile{Store: w.Store}
				if when == "while it completes" {
					s.do = func() {
						w.Move(at(t, "14:00"))
						c.do(w)
						w.Move(at(t, "14:10"))
					}
				} else {
					c.do(w)
				}
				w.Move(at(t, "14:10"))
				w.acknowledge(time.Time{})
				if when == "before the deadline fires" {
					d := store.Deadline{Key: w.Key("orders/stream/2026-03-03"), Kind: store.Absolute}
					w.Check(w.Monitor.FireOverdue(ctx, d, w.Now()))
				}
				w.complete(s)
				w.wantBreaches()
				page, err := w.Store.Deadlines(ctx, store.DeadlineQuery{Key: w.Key("orders/stream/2026-03-03")})
				w.Check(err)
				d := page.Items[0]
				if got := fmt.Sprintf("2026-03-03 %s %s 03T14:00 %s", d.Kind, d.State, d.Reason); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		}
	}
}

// complete takes the next step of the run with a store of its own.
func (c *controller) complete(s *meanwhile) {
	c.Helper()
	steps := orchestrator.New(orchestrator.Deps{Store: s, Catalog: c.Catalog, Replica: "one"})
	for range 2 { // a conflict is decided again
		claims, err := c.Store.Claim(ctx, store.ClaimQuery{
			Replica: "one", Task: "advance/orders/stream/2026-03-03", Limit: 1, Lease: time.Minute,
		}, c.Now())
		c.Check(err)
		for _, claim := range claims {
			if _, err := steps.Step(ctx, claim, c.Now); err != nil {
				if !errors.Is(err, store.ErrConflict) {
					c.Fatal(err)
				}
				c.Check(c.Store.Release(ctx, []store.Lease{claim.Lease}, c.Now()))
			}
		}
	}
}
