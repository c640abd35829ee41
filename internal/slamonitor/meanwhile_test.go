package slamonitor_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/slamonitor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// meanwhile is a store in which something happens just before the first commit that changes a
// deadline.
type meanwhile struct {
	*memory.Store
	do func()
}

func (s *meanwhile) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	if do := s.do; do != nil && len(b.Deadlines) > 0 {
		s.do = nil
		do()
	}
	return s.Store.Commit(ctx, b, now)
}

// slow returns a monitor in which do happens just before its first commit.
func (c *controller) slow(do func()) *slamonitor.Monitor {
	return slamonitor.New(&meanwhile{c.Store, do}, c.Catalog)
}

// basis is the pipeline as it is now.
func (c *controller) basis() slamonitor.Basis {
	c.Helper()
	e, row, err := c.Catalog.Active(ctx, "orders")
	c.Check(err)
	return slamonitor.Basis{Entry: e, Row: row}
}

// pause is hold without any change handled yet.
func (c *controller) pause() {
	c.Helper()
	_, err := c.Router.Pause(ctx, "orders", store.Pause{By: "ada", Why: "maintenance", HoldSLA: true}, c.Now())
	c.Check(err)
}

// react handles the changes, but no task.
func (c *controller) react() {
	for c.React() {
	}
}

// armTasks arms with a monitor in which do happens meanwhile.
func (c *controller) armTasks(do func()) {
	c.Helper()
	claims, err := c.Store.Claim(ctx, store.ClaimQuery{
		Replica: "two", Limit: 10, Lease: time.Minute, Kinds: []store.TaskKind{store.Arm},
	}, c.Now())
	c.Check(err)
	m := c.slow(do)
	for _, claim := range claims {
		if err := m.Arm(ctx, claim, c.Now()); !errors.Is(err, store.ErrConflict) { // a removal ends the task
			c.Check(err)
		}
	}
	c.Settle()
}

const atNoon = "schedule: {cron: \"0 12 * * *\"}\n"

// fromNoon is atNoon with a deadline.
func fromNoon(deadline string) string { return atNoon + "sla: {deadline: \"" + deadline + "\"}\n" }

// A write may be handled before this controller has loaded the version that another one accepted.
func TestReadingIsHandledWithTheActiveVersion(t *testing.T) {
	c := newController(t, relative)
	other := catalog.New(c.Store, all.Kinds())
	c.Check(other.Load(ctx))
	text := "pipeline: {id: orders, owner: t}\n" + untilReady + c.job
	_, err := other.Apply(ctx, catalog.Files{Pipelines: []pipeline.Source{{File: "0.yaml", Data: []byte(text)}}}, c.Now())
	c.Check(err)
	c.Put("orders", "a", "status=pending")
	for _, change := range c.Changes() {
		if change.Kind == store.ReadingWritten {
			c.Check(c.Router.Handle(ctx, change, c.Now()))
		}
	}
	c.ledger()
}

// What is acknowledged while deadlines are being armed counts, even if it is handled before they
// are stored.
func TestArmingHeedsWhatIsAcknowledgedMeanwhile(t *testing.T) {
	for _, c := range []struct {
		name      string
		meanwhile func(*controller)
		want      []string
	}{
		{"a pause", (*controller).pause, nil},
		{"a removal", func(c *controller) { c.file("") }, nil},
		{"an edit without deadline", func(c *controller) { c.file(atNoon) }, nil},
		{
			"an edit of the time", func(c *controller) { c.file(fromNoon("15:00")) },
			[]string{"2026-03-03 absolute ARMED 03T15:00"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newController(t, "schedule: {cron: \"0 9 * * *\"}\n")
			w.file(fromNoon("14:00"))
			w.armTasks(func() {
				c.meanwhile(w)
				w.react()
			})
			w.ledger(c.want...)
			w.until("14:30")
			w.wantBreaches()
		})
	}
}

func TestDeadlineOfAReadingHeedsWhatIsAcknowledgedMeanwhile(t *testing.T) {
	for name, do := range map[string]func(*controller){
		"a pause":   (*controller).pause,
		"a removal": func(c *controller) { c.file("") },
		"an edit":   func(c *controller) { c.file(untilReady) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newController(t, relative)
			m := c.slow(func() {
				do(c)
				c.react()
			})
			err := m.ArmRelative(ctx, c.basis(), c.Period("2026-03-03"), c.Now(), c.Now())
			if !errors.Is(err, store.ErrConflict) {
				t.Errorf("got %v, want a conflict", err)
			}
			c.Settle()
			c.ledger()
		})
	}
}

// The reading was written before the pause, so its deadline comes with the end of the pause.
func TestReadingHandledDuringAPauseArmsItsDeadlineAfterwards(t *testing.T) {
	c := newController(t, relative)
	c.Put("orders", "a", "status=pending")
	c.pause()
	c.Settle()
	c.ledger()
	c.until("10:00")
	c.resume()
	c.ledger("2026-03-03 relative ARMED 03T13:10")
}

func TestDeadlineOfAManualRunHeedsAPauseAcknowledgedMeanwhile(t *testing.T) {
	c := newController(t, "")
	c.file("sla: {deadline: \"14:00\"}\n")
	c.Settle()
	m := c.slow(func() {
		c.pause()
		c.react()
	})
	c.Check(m.ArmOpened(ctx, c.Key("orders/manual/2026-03-03"), c.Now()))
	c.ledger("2026-03-03 absolute CANCELLED 03T14:00 paused")
	c.Check(c.Monitor.ArmOpened(ctx, c.Key("orders/manual/2026-03-03"), c.Now())) // its next attempt
	c.wantCancellations("03T09:10 2026-03-03 03T14:00 paused")
	c.resume()
	c.ledger("2026-03-03 absolute ARMED 03T14:00")
}

// A removal is handled when the file is back: its deadlines stay armed.
func TestDeadlinesOfAFileThatIsBackStayArmed(t *testing.T) {
	c := newController(t, fromNoon("14:00"))
	c.file("")
	m := c.slow(func() {
		c.file(fromNoon("14:00"))
		c.Settle()
	})
	c.Check(m.CancelAll(ctx, "orders", c.Now()))
	c.Settle()
	c.ledger("2026-03-03 absolute ARMED 03T14:00")
}

// What was acknowledged by a deadline's instant counts, even if it has not been handled then.
func TestFiringHeedsWhatWasAcknowledged(t *testing.T) {
	const cancelled = "2026-03-03 absolute CANCELLED 03T14:00 "
	for _, c := range []struct {
		name string
		do   func(*controller)
		want string
	}{
		{"a pause", (*controller).pause, cancelled + "paused"},
		{"a removal", func(c *controller) { c.file("") }, cancelled + "removed"},
		{"an edit without deadline", func(c *controller) { c.file(atNoon) }, cancelled + "replaced"},
		{"an edit of the time", func(c *controller) { c.file(fromNoon("15:00")) }, "2026-03-03 absolute ARMED 03T15:00"},
	} {
		for _, when := range []string{"before it fires", "while it fires"} {
			t.Run(c.name+" "+when, func(t *testing.T) {
				w := newController(t, fromNoon("14:00"))
				w.Move(at(t, "14:00"))
				m := w.Monitor
				if when == "while it fires" {
					m = w.slow(func() { c.do(w) })
				} else {
					c.do(w)
				}
				d := store.Deadline{Key: w.Key("orders/cron/2026-03-03"), Kind: store.Absolute}
				w.Check(m.FireOverdue(ctx, d, w.Now()))
				w.wantBreaches()
				w.ledger(c.want)
			})
		}
	}
}

// What came after the deadline does not undo its breach, whatever is handled first.
func TestWhatFollowsABreachDoesNotUndoIt(t *testing.T) {
	for name, do := range map[string]func(*controller){
		"a pause":                  (*controller).pause,
		"a removal":                func(c *controller) { c.file("") },
		"an edit without deadline": func(c *controller) { c.file(atNoon) },
		"an edit of the time":      func(c *controller) { c.file(fromNoon("16:00")) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newController(t, fromNoon("14:00"))
			c.down("14:30")
			do(c)
			c.react()
			c.armTasks(nil)
			c.wantBreaches("03T14:30 SLA_BREACH 2026-03-03: not completed by 2026-03-03T14:00:00Z: there is no run yet")
		})
	}
}

// A commit about one deadline of a run does not touch the timer of the other.
func TestEachDeadlineHasItsOwnTimer(t *testing.T) {
	const twoDeadlines = untilReady + "sla: {deadline: \"10:00\", maxDuration: 4h}\n"
	key := "orders/stream/2026-03-03"
	relativeToo := func(c *controller, m *slamonitor.Monitor) {
		c.Check(store.Again(func() error { return m.ArmRelative(ctx, c.basis(), c.Period("2026-03-03"), c.Now(), c.Now()) }))
	}
	absolute := "03T10:00 SLA_BREACH 2026-03-03: not completed by 2026-03-03T10:00:00Z: there is no run yet; not satisfied: a (no reading)"
	rel := "03T13:10 RELATIVE_SLA_BREACH 2026-03-03: not completed by 2026-03-03T13:10:00Z: there is no run yet; not satisfied: a (no reading)"
	for _, c := range []struct {
		name  string
		steps func(c *controller)
		want  []string
	}{
		{"the absolute one is armed with the relative one", func(c *controller) {
			c.file(twoDeadlines)
			relativeToo(c, c.slow(c.Settle))
		}, []string{absolute, rel}},
		{"the absolute one is cancelled with the relative one", func(c *controller) {
			c.edit(twoDeadlines)
			m := c.slow(func() { relativeToo(c, c.Monitor) })
			c.Check(m.CancelFor(ctx, c.Key(key), slamonitor.Replaced, c.Now()))
		}, []string{rel}},
		{"the absolute one fires when the relative one is armed", func(c *controller) {
			c.edit(twoDeadlines)
			c.Move(at(c.T, "10:00"))
			m := c.slow(func() {
				c.Check(c.Monitor.ArmRelative(ctx, c.basis(), c.Period("2026-03-03"), at(c.T, "09:10"), c.Now()))
			})
			c.Check(m.FireOverdue(ctx, store.Deadline{Key: c.Key(key), Kind: store.Absolute}, c.Now()))
		}, []string{absolute, rel}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newController(t, untilReady)
			c.steps(w)
			w.Settle()
			w.until("14:00")
			w.wantBreaches(c.want...)
		})
	}
}

// A timer may be lost more than once while its deadline does not change.
func TestTimerThatIsLostAgainIsStoredAgain(t *testing.T) {
	c := newController(t, fromNoon("14:00"))
	d := store.Deadline{Key: c.Key("orders/cron/2026-03-03"), Kind: store.Absolute}
	for n := range 2 {
		b := store.Batch{ID: fmt.Sprintf("lose it %d", n), Finished: []string{slamonitor.TaskID(d.Key, d.Kind)}}
		c.Check(c.Store.Commit(ctx, b, c.Now()))
		c.down(fmt.Sprintf("10:%d0", n))
		c.Check(c.Monitor.FireOverdue(ctx, d, c.Now()))
		if _, err := c.Store.Task(ctx, slamonitor.TaskID(d.Key, d.Kind)); err != nil {
			t.Errorf("lost %d times: %v", n+1, err)
		}
	}
}
