package slamonitor_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/controllertest"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// controller is a whole controller with one pipeline. It starts at ten past nine, and its jobs run
// until a test reports their result.
type controller struct {
	*testing.T
	*controllertest.Controller
	job string // the section of its file
}

// newController returns a controller with a job that may take all day.
func newController(t *testing.T, sections string) *controller {
	t.Helper()
	return controllerWith(t, "job: {type: command, config: {command: x}, jobPollWindowSeconds: 86400}\n", sections)
}

func controllerWith(t *testing.T, section, sections string) *controller {
	t.Helper()
	c := &controller{t, controllertest.New(t, memory.New(), map[string]job.Type{"command": controllertest.Idle{}}), section}
	c.edit(sections)
	return c
}

// edit activates a new version of the pipeline's file; none removes it.
func (c *controller) edit(sections string) {
	c.Helper()
	c.file(sections)
	c.Settle()
}

// file is edit without any task running yet.
func (c *controller) file(sections string) {
	c.Helper()
	if sections == "" {
		c.Apply()
		return
	}
	c.Apply("pipeline: {id: orders, owner: t}\n" + sections + c.job)
}

// until advances the clock.
func (c *controller) until(when string) {
	c.Helper()
	c.Pass(at(c.T, when).Sub(c.Now()))
}

// down advances the clock while the controller is down.
func (c *controller) down(when string) { c.Move(at(c.T, when)) }

// hold pauses the pipeline together with its deadlines; "" means until resumed.
func (c *controller) hold(until string) {
	c.Helper()
	p := store.Pause{By: "ada", Why: "maintenance", HoldSLA: true}
	if until != "" {
		p.Until = at(c.T, until)
	}
	_, err := c.Router.Pause(ctx, "orders", p, c.Now())
	c.Check(err)
	c.Settle()
}

func (c *controller) resume() {
	c.Helper()
	c.Check(c.Router.Resume(ctx, "orders", "ada", "done", c.Now()))
	c.Settle()
}

func (c *controller) trigger(date string) {
	c.Helper()
	_, err := c.Router.Trigger(ctx, router.TriggerRequest{ID: "trigger " + date, Pipeline: "orders", Period: c.Period(date), By: "ada", Reason: "tested"}, c.Now())
	c.Check(err)
	c.Settle()
}

// report reports the result of a run's job.
func (c *controller) report(key string, result run.Result) {
	c.Helper()
	_, err := c.Router.Report(ctx, run.Outcome{Key: c.Key(key), Report: run.Report{Result: result}}, c.Now())
	c.Check(err)
	c.Settle()
}

// first runs a task before anything else that is due.
func (c *controller) first(task string) {
	c.Helper()
	claims, err := c.Store.Claim(ctx, store.ClaimQuery{Replica: "one", Limit: 100, Lease: time.Minute}, c.Now())
	c.Check(err)
	i := slices.IndexFunc(claims, func(claim store.Claim) bool { return claim.Task.ID == task })
	claims[0], claims[i] = claims[i], claims[0]
	for i, claim := range claims {
		if _, err := c.Store.Task(ctx, claim.Task.ID); i > 0 && errors.Is(err, store.ErrNotFound) {
			continue // an earlier one has finished it
		}
		c.Check(c.Perform(claim))
	}
	c.Settle()
}

// ledger fails unless these are the deadlines, each as "date kind state breach", with the reason if
// cancelled.
func (c *controller) ledger(want ...string) {
	c.Helper()
	page, err := c.Store.Deadlines(ctx, store.DeadlineQuery{Pipeline: "orders", Limit: 100})
	c.Check(err)
	var got []string
	for _, d := range page.Items {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", d.Key.Period, d.Kind, d.State, d.BreachAt.Format("02T15:04"), d.Reason)))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		c.Errorf("ledger at %s (-want +got):\n%s", c.Now().Format("02T15:04"), diff)
	}
}

// wantBreaches fails unless these are the breaches reported, each as "time type date: message".
func (c *controller) wantBreaches(want ...string) {
	c.Helper()
	var got []string
	for _, e := range c.events() {
		if e.Type == event.SLABreach || e.Type == event.RelativeSLABreach {
			got = append(got, fmt.Sprintf("%s %s %s: %s", e.Time.Format("02T15:04"), e.Type, e.Detail.Date, e.Detail.Message))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		c.Errorf("breaches (-want +got):\n%s", diff)
	}
}

func (c *controller) want(want, got []string) {
	c.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		c.Errorf("(-want +got):\n%s", diff)
	}
}

// only returns the one event of a type.
func (c *controller) only(t event.Type) event.Event {
	c.Helper()
	found := slices.DeleteFunc(c.events(), func(e event.Event) bool { return e.Type != t })
	if len(found) != 1 {
		c.Fatalf("%d events %s, want one", len(found), t)
	}
	return found[0]
}

func (c *controller) events() []event.Event {
	c.Helper()
	stored, err := c.Store.EventsAfter(ctx, 0, 1000)
	c.Check(err)
	events := make([]event.Event, len(stored))
	for i, s := range stored {
		events[i] = s.Event
	}
	return events
}
