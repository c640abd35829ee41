package explain

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/reason"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// never explains why a period has no run. The first obstacle is the summary.
func (b *builder) never(ctx context.Context) error {
	x := &b.x
	x.State = NotOpened
	if b.def == nil {
		b.gone()
		return nil
	}
	if b.key.Schedule != b.def.Opens {
		b.sum("other-schedule", "there is no such run: runs of %s have schedule %s, not %s", b.key.Pipeline, b.def.Opens, b.key.Schedule)
		return nil
	}
	var err error
	if b.marked, err = store.IsMarked(ctx, b.Store, store.ExcludedMark(b.key)); err != nil {
		return err
	}
	if why := b.excluded(); why != "" {
		b.sum("excluded", "the calendar excludes this period: %s", why)
		b.because("excluded", "only a forced trigger opens it")
		b.opens("trigger", "a forced trigger: `interlock trigger %s --date %s --force --reason TEXT`", b.key.Pipeline, b.key.Period)
		b.paused()
		b.triggered = true
		return b.needs(ctx)
	}
	paused := b.paused()
	if err := b.notYet(ctx); err != nil {
		return err
	}
	if until := b.row.PausedUntil(); paused && !b.triggered && (until.IsZero() || x.opensAt.Before(until)) {
		b.sum("paused", "the pipeline is paused, so no run opens")
		if b.def.Opens == pipeline.ByStream {
			x.resumesAt = until // start conditions that are met then open their runs
		}
	}
	return b.needs(ctx)
}

// needs adds the rules, and what they need. The start condition opens the run, which does not start
// without the other rules. A run that is triggered needs only those.
func (b *builder) needs(ctx context.Context) error {
	rules, err := b.live(ctx, b.def, nil)
	if err != nil {
		return err
	}
	gates := []*rule.Gate{b.def.Gate}
	start := b.def.Start
	switch {
	case b.def.Opens != pipeline.ByStream || start == nil:
		b.x.Gate = rules
	default:
		condition, err := b.live(ctx, b.def, start.Gate)
		if err != nil {
			return err
		}
		if !b.triggered {
			gates = []*rule.Gate{start.Gate, b.def.Gate}
			b.x.Gate = condition.and(rules)
			break
		}
		b.x.Gate = rules
		err = b.hints(ctx, b.def, "that run also needs ", gates...)
		b.x.Gate = condition.and(rules)
		return err
	}
	prefix := ""
	if b.triggered {
		prefix = "that run also needs "
	}
	return b.hints(ctx, b.def, prefix, gates...)
}

func (b *builder) gone() {
	switch {
	case b.row.Removed() && !b.row.RemovedAt.IsZero():
		b.sum("removed", "the pipeline's file was removed %s, so no run opens", b.when(b.row.RemovedAt))
	case b.row.Problem != "":
		b.sum("rejected", "the pipeline's file was rejected, and no version of it is active")
		for _, problem := range b.row.Problems() {
			b.because("file", "%s", problem)
		}
	default:
		b.sum("not-active", "no version of the pipeline is active")
	}
}

// excluded returns why nothing opens the period by itself: the calendar excludes it, now or when it
// was due, or retention deleted its run.
func (b *builder) excluded() string {
	if why := b.def.Schedule.Excluded(b.key.Period); why != "" {
		return why
	}
	for _, e := range b.events {
		if x, ok := e.Detail.Extra.(event.Exclusion); ok {
			return x.Rule + ", when it was due"
		}
	}
	if b.marked { // and the event is no longer stored
		return store.WhyExcluded
	}
	return ""
}

// notYet says what would open the run.
func (b *builder) notYet(ctx context.Context) error {
	switch b.def.Opens {
	case pipeline.ByCron:
		return b.noFire(ctx)
	case pipeline.ByStream:
		return b.noStart(ctx)
	case pipeline.ByHand:
	}
	if external(b.def) {
		b.sum("manual", "the pipeline has no schedule: a worker or `interlock trigger` opens the run")
		b.opens("exec", "a worker, which opens it and runs the command once the gate is open: interlock exec %s --date %s -- COMMAND", b.key.Pipeline, b.key.Period)
		b.trigger()
		return nil
	}
	b.sum("manual", "the pipeline has no schedule: `interlock trigger` opens the run")
	b.trigger()
	return nil
}

// noFire explains a period that its schedule has not opened.
func (b *builder) noFire(ctx context.Context) error {
	fire := b.def.Schedule.FireFor(b.key.Period)
	switch {
	case fire.IsZero():
		b.sum("no-fire", "the schedule has no fire for this period")
		if size := b.def.Schedule.Size(); b.key.Period.Size() != size {
			b.because("period-size", "each run of this pipeline is for one %s", size)
		}
	case fire.After(b.now):
		b.sum("opens-at", "the schedule opens this run %s", b.when(fire))
		b.x.opensAt = fire
		return nil
	case fire.Before(b.horizon()):
		b.sum("before-first-version", "its fire at %s came before the pipeline was first accepted, %s", reason.On("fire", fire), b.when(b.horizon()))
	default:
		missed, err := b.missed(ctx)
		if err != nil {
			return err
		}
		switch {
		case missed != "":
			b.sum("missed", "its fire at %s was missed: %s", reason.On("fire", fire), missed)
		case fire.Before(b.row.AcceptedAt):
			b.sum("before-this-version", "its fire at %s came before this version of the file was accepted, %s", reason.On("fire", fire), b.when(b.row.AcceptedAt))
			b.because("no-past", "an edit does not open past periods")
		case fire.After(b.row.FiredThrough) && b.row.Paused() && !b.now.Before(b.def.FireWindowEnd(b.key.Period, fire)):
			b.sum("missed", "the window of its fire at %s ended %s, while the pipeline was paused", reason.On("fire", fire), b.when(b.def.FireWindowEnd(b.key.Period, fire)))
		case fire.After(b.row.FiredThrough):
			b.sum("opening", "its fire at %s has not opened the run yet", reason.On("fire", fire))
			return nil
		default:
			b.sum("missed", "its fire at %s opened no run", reason.On("fire", fire))
		}
	}
	b.trigger()
	return nil
}

// missed finds the event that reported a missed fire.
func (b *builder) missed(ctx context.Context) (string, error) {
	for _, t := range []event.Type{event.ScheduleMissed, event.IrregularScheduleMissed} {
		page, err := b.Store.Events(ctx, store.EventQuery{Pipeline: b.key.Pipeline, Type: t, Limit: 100})
		if err != nil {
			return "", fmt.Errorf("read events: %w", err)
		}
		for _, e := range page.Items {
			if x, ok := e.Detail.Extra.(event.Missed); ok && slices.Contains(x.Dates, b.key.Period.String()) {
				return e.Detail.Message, nil
			}
		}
	}
	return "", nil
}

// noStart explains a period that neither its start condition nor its upstreams have opened.
func (b *builder) noStart(ctx context.Context) error {
	x := &b.x
	unmet, g := "not all upstream runs are COMPLETED", b.def.Gate
	if b.def.Start != nil {
		unmet, g = "the start condition is not met", b.def.Start.Gate
	}
	view, err := b.live(ctx, b.def, g)
	if err != nil {
		return err
	}
	x.Gate = view
	deadline := startDeadline(b.def, b.key)
	over := !deadline.IsZero() && !b.now.Before(deadline)
	switch opens := b.def.Schedule.OpensFrom(b.key.Period); {
	case view.Open() && over && !view.written().Before(deadline):
		b.sum("start-deadline", "the start condition was met only after its deadline, %s", b.when(deadline))
		b.trigger()
	case view.Open():
		b.unopened(view.written())
	case over:
		b.sum("start-deadline", "the start condition was not met before its deadline, %s", b.when(deadline))
		b.trigger()
	case opens.After(b.now):
		b.sum("not-begun", "%s; the period begins %s", unmet, b.when(opens))
	default:
		b.sum("not-met", "%s", unmet)
	}
	if !over && !view.Open() && !deadline.IsZero() {
		x.startBy = deadline
		b.because("start-deadline", "the start condition must be met before its deadline, %s", b.when(deadline))
	}
	return nil
}

// unopened explains a period whose start condition is met, or whose upstreams are done, but that
// has no run: the write was not handled when it came, and the watchdog recovers only recent ones.
func (b *builder) unopened(at time.Time) {
	x := &b.x
	met, when := "the last upstream run completed", b.when(at)
	if b.def.Start != nil {
		met = "the start condition was met"
	}
	switch {
	case at.Before(b.horizon()):
		b.sum("before-first-version", "%s %s, before the pipeline was first accepted, %s", met, when, b.when(b.horizon()))
		b.because("no-past", "a new pipeline does not open past periods")
	case at.Before(b.row.AcceptedAt):
		b.sum("before-this-version", "%s %s, before this version of the file was accepted, %s", met, when, b.when(b.row.AcceptedAt))
		b.because("no-past", "an edit does not open past periods")
	case x.DryRun:
		b.sum("dry-run-expired", "%s %s, but there is no record of its dry run; it may have expired", met, when)
	case at.Before(b.now.Add(-watchdog.LookBack)):
		b.sum("overlooked", "%s %s, longer ago than the watchdog looks back (%s)", met, when, reason.For("lookBack", watchdog.LookBack))
	default:
		b.sum("opening", "%s %s; the run opens within one watchdog interval", met, when)
		return
	}
	b.trigger()
}

// trigger names the command that opens the run, if nothing else does.
func (b *builder) trigger() {
	b.triggered = true
	if b.def.Opens != pipeline.ByHand {
		b.because("not-automatic", "the run no longer opens automatically")
	}
	b.opens("trigger", "a trigger: `interlock trigger %s --date %s`", b.key.Pipeline, b.key.Period)
}

// startDeadline returns when the start condition's deadline closes the automatic window of a run;
// zero without one.
func startDeadline(def *pipeline.Definition, key run.Key) time.Time {
	if def == nil || def.Start == nil || def.Start.Deadline == nil {
		return time.Time{}
	}
	return sla.Close(*def.Start.Deadline, key.Period, def.Schedule)
}

func (b *builder) horizon() time.Time {
	if e := b.Catalog.Current().Get(b.key.Pipeline); e != nil {
		return e.Horizon
	}
	return b.row.Horizon
}
