// Package controllertest provides a controller with a manual clock, for tests of the handlers of
// changes and tasks: an in-memory store, all handlers, and a time that tests move. When a call
// returns, everything it caused has happened.
package controllertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/presence"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// Tuesday is the time at which tests begin: Tuesday 3 March 2026, 09:10 UTC.
var Tuesday = time.Date(2026, 3, 3, 9, 10, 0, 0, time.UTC)

var ctx = context.Background()

// T is the common part of *testing.T and *rapid.T.
type T interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// Controller is one replica that a test drives step by step.
type Controller struct {
	*controller.Controller
	T     T
	Store *memory.Store
	// Probe handles tasks that run a probe. By default it finishes the task without running the
	// probe.
	Probe func(ctx context.Context, c store.Claim, now func() time.Time) error

	mu    sync.Mutex
	now   time.Time
	since time.Time // since when the controller has been up
}

// New returns a controller at Tuesday, without pipelines. The store may have been used before. jobs
// are the available job types.
func New(t T, s *memory.Store, jobs map[string]job.Type) *Controller {
	t.Helper()
	c := &Controller{T: t, Store: s, now: Tuesday, since: Tuesday}
	c.Controller = controller.New(controller.Parts{
		Store: s, Catalog: catalog.New(s, all.Kinds()), Now: c.Now, Steps: orchestrator.Deps{Replica: "one", Jobs: jobs},
		Limits: router.Limits{RunTimeout: 4 * time.Hour, StartTries: 3, StartBackoff: 30 * time.Second},
	})
	c.Check(c.Catalog.Load(ctx))
	c.Probe = func(ctx context.Context, claim store.Claim, now func() time.Time) error {
		b := store.Batch{ID: fmt.Sprintf("%s/%d/none", claim.Task.ID, claim.Lease.Token), Lease: &claim.Lease}
		b.Finish(claim.Task.ID)
		return s.Commit(ctx, b, now())
	}
	return c
}

// Check fails the test if err is not nil.
func (c *Controller) Check(err error) {
	c.T.Helper()
	if err != nil {
		c.T.Fatal(err)
	}
}

// Now returns the current time of the test.
func (c *Controller) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Move sets the time. Nothing runs meanwhile.
func (c *Controller) Move(to time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = to
}

// Down moves the time by d, while the controller is down.
func (c *Controller) Down(d time.Duration) {
	c.T.Helper()
	c.attend()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.since = c.now
}

// attend records that the controller has been up until now.
func (c *Controller) attend() {
	c.T.Helper()
	c.mu.Lock()
	since, now := c.since, c.now
	c.mu.Unlock()
	if now.Before(since) { // the clock was set back
		since = now
	}
	c.Check(presence.Record(ctx, c.Store, run.Span{From: since, To: now}, 0))
}

// Apply activates exactly these files. It fails the test if one is rejected.
func (c *Controller) Apply(files ...string) {
	c.T.Helper()
	if report := c.Offer(files...); len(report.Rejected) > 0 {
		c.T.Fatalf("rejected: %v", report.Problems)
	}
}

// Offer is like Apply, but files may be rejected.
func (c *Controller) Offer(files ...string) catalog.Report {
	c.T.Helper()
	var sources []pipeline.Source
	for i, text := range files {
		sources = append(sources, pipeline.Source{File: fmt.Sprintf("%d.yaml", i), Data: []byte(text)})
	}
	report, err := c.Catalog.Apply(ctx, catalog.Files{Pipelines: sources}, c.Now())
	c.Check(err)
	return report
}

// Put writes a reading: undated, or dated by a "#period" suffix of its key. Pairs are field=value.
func (c *Controller) Put(id, key string, pairs ...string) {
	c.T.Helper()
	name, p, err := sensor.ParseKey(key)
	c.Check(err)
	fields := sensor.Fields{}
	for _, pair := range pairs {
		field, value, _ := strings.Cut(pair, "=")
		fields[field] = value
	}
	reading := sensor.Reading{Key: name, Period: p, Fields: fields, Source: "etl"}
	_, err = c.Store.PutReadings(ctx, []store.Write{{Pipeline: pipeline.ID(id), Reading: reading}}, c.Now())
	c.Check(err)
}

// Delete deletes a reading; key is as in Put.
func (c *Controller) Delete(id, key string) {
	c.T.Helper()
	name, p, err := sensor.ParseKey(key)
	c.Check(err)
	reading := sensor.Reading{Key: name, Period: p, Source: "ada", Deleted: true}
	_, err = c.Store.PutReadings(ctx, []store.Write{{Pipeline: pipeline.ID(id), Reading: reading}}, c.Now())
	c.Check(err)
}

// Write is Put followed by Settle.
func (c *Controller) Write(id, key string, pairs ...string) {
	c.T.Helper()
	c.Put(id, key, pairs...)
	c.Settle()
}

// Settle handles all changes and tasks that are due at the current time, and those that follow from
// them.
func (c *Controller) Settle() {
	c.T.Helper()
	c.attend()
	for range 1000 {
		if !c.React() && !c.Work() {
			return
		}
	}
	c.T.Fatal("still not settled: each round finds more changes or tasks")
}

// React handles all pending changes, and reports whether there were any.
func (c *Controller) React() bool {
	c.T.Helper()
	changes := c.Changes()
	for _, change := range changes {
		c.Check(c.Router.Handle(ctx, change, c.Now()))
	}
	return len(changes) > 0
}

// Changes receives and acknowledges the pending changes.
func (c *Controller) Changes() []store.Change {
	c.T.Helper()
	n, _, err := c.Store.Backlog(ctx, controller.Group)
	c.Check(err)
	if n == 0 {
		return nil
	}
	changes, err := c.Store.Receive(ctx, controller.Group, "one", 100)
	c.Check(err)
	c.Check(c.Store.Done(ctx, controller.Group, changes))
	return changes
}

// Work performs one due task, and reports whether there was one.
func (c *Controller) Work() bool {
	c.T.Helper()
	claims, err := c.Store.Claim(ctx, store.ClaimQuery{Replica: "one", Limit: 1, Lease: time.Minute}, c.Now())
	c.Check(err)
	for _, claim := range claims {
		if err := c.Perform(claim); err != nil && !errors.Is(err, store.ErrConflict) {
			c.T.Fatalf("%s: %v", claim.Task.ID, err)
		}
	}
	return len(claims) > 0
}

// Perform performs one task.
func (c *Controller) Perform(claim store.Claim) error {
	if claim.Task.Kind == store.RunProbe {
		return c.Probe(ctx, claim, c.Now)
	}
	return c.Controller.Perform(ctx, claim)
}

// Pass advances the time by d, task by task.
func (c *Controller) Pass(d time.Duration) {
	c.T.Helper()
	until := c.Now().Add(d)
	for range 10000 {
		next, err := c.Store.NextDue(ctx, store.ClaimQuery{})
		c.Check(err)
		if next.IsZero() || next.After(until) {
			c.Move(until)
			c.Settle()
			return
		}
		if next.After(c.Now()) {
			c.Move(next)
		}
		c.Settle()
	}
	c.T.Fatal("still not settled: each round finds more changes or tasks")
}

// Key parses a run key, such as orders/stream/2026-03-03.
func (c *Controller) Key(text string) run.Key {
	c.T.Helper()
	k, err := run.ParseKey(text)
	c.Check(err)
	return k
}

// Period parses a period, such as 2026-03-03.
func (c *Controller) Period(text string) period.Period {
	c.T.Helper()
	p, err := period.Parse(text)
	c.Check(err)
	return p
}

// Idle is a job type whose jobs run until a result is reported.
type Idle struct{}

// Start starts a job.
func (Idle) Start(_ context.Context, a job.Attempt) (job.Started, error) {
	return job.Started{Handle: run.Handle("handle of " + a.ID)}, nil
}

// Status reports that the job is still running.
func (Idle) Status(context.Context, job.Attempt, run.Handle) (job.Status, error) {
	return job.Status{}, nil
}
