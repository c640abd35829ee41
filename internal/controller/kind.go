package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// Class groups kinds of tasks by the workers that carry them out: tasks of one class never wait for
// those of another.
type Class int

// The classes.
const (
	Steps   Class = iota // what calls the targets of jobs
	Urgent               // timers that are claimed before anything else
	Timers               // what waits for an instant, and takes little time
	Probes               // what runs probes, which may take long; it shares the workers of Timers if it has none
	Changes              // changes that could not be handled in their turn
)

// handler carries out a task.
type handler = func(ctx context.Context, c store.Claim, now time.Time) error

// kinds is the table of the kinds of tasks that are claimed when due: their class, and who carries
// them out. Hosts carry out the last two themselves.
var kinds = []struct {
	kind  store.TaskKind
	class Class
	by    func(c *Controller) handler
}{
	{store.Advance, Steps, func(c *Controller) handler { return c.step }},
	{store.AdvanceDry, Steps, func(c *Controller) handler { return c.step }},
	{store.CheckLeft, Steps, func(c *Controller) handler { return c.Router.CheckLeft }},
	{store.FireDeadline, Urgent, func(c *Controller) handler { return c.Monitor.Fire }},
	{store.Fire, Urgent, func(c *Controller) handler { return c.Router.Fire }},
	{store.Arm, Timers, func(c *Controller) handler { return c.Monitor.Arm }},
	{store.ReopenPeriods, Timers, func(c *Controller) handler { return c.Router.Reopen }},
	{store.ResumePaused, Timers, func(c *Controller) handler { return c.Router.ResumeDue }},
	{store.CheckPostRun, Timers, func(c *Controller) handler { return c.Router.CheckPostRun }},
	{store.RunProbe, Probes, func(c *Controller) handler { return c.probe }},
	{store.HandleChange, Changes, nil},
	{store.Deliver, Timers, nil},
}

// Of lists the kinds of those classes.
func Of(classes ...Class) []store.TaskKind {
	var all []store.TaskKind
	for _, k := range kinds {
		if slices.Contains(classes, k.class) {
			all = append(all, k.kind)
		}
	}
	return all
}

// Kinds lists the kinds of tasks that Perform carries out.
func (c *Controller) Kinds() []store.TaskKind {
	var all []store.TaskKind
	for _, k := range kinds {
		if c.carriesOut(k.kind) != nil {
			all = append(all, k.kind)
		}
	}
	return all
}

// carriesOut returns the handler of a kind; nil if this controller has none.
func (c *Controller) carriesOut(kind store.TaskKind) handler {
	for _, k := range kinds {
		if k.kind == kind && k.by != nil && !slices.Contains(c.elsewhere, kind) && (kind != store.RunProbe || c.Prober != nil) {
			return k.by(c)
		}
	}
	return nil
}

// Perform carries out a claimed task. A task of an unknown kind fails like any other, so that it is
// reported and backs off: a newer version that shares the store may know it.
func (c *Controller) Perform(ctx context.Context, claim store.Claim) error {
	handle := c.carriesOut(claim.Task.Kind)
	if handle == nil {
		return fmt.Errorf("this version does not know tasks of kind %q; a newer one may have stored it", claim.Task.Kind)
	}
	return handle(ctx, claim, c.clock())
}

func (c *Controller) step(ctx context.Context, claim store.Claim, _ time.Time) error {
	_, err := c.Steps.Step(ctx, claim, c.clock)
	return err
}

func (c *Controller) probe(ctx context.Context, claim store.Claim, _ time.Time) error {
	return c.Prober.Run(ctx, claim, c.clock)
}
