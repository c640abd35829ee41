package explain

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/reason"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// never explains why a period has no run. The first obstacle is the summary.
func (l *look) never(ctx context.Context) error {
	x := &l.x
	x.State = NotOpened
	if l.def == nil {
		l.gone()
		return nil
	}
	if l.key.Schedule != l.def.Opens {
		l.sum("other-schedule", "there is no such run: runs of %s have schedule %s, not %s", l.key.Pipeline, l.def.Opens, l.key.Schedule)
		return nil
	}
	if why := l.excluded(); why != "" {
		l.sum("excluded", "the calendar excludes this period: %s", why)
		l.because("excluded", "only a forced trigger opens it")
		l.opens("trigger", "`interlock trigger %s --date %s --force --reason TEXT`", l.key.Pipeline, l.key.Period)
		return nil
	}
	paused := l.paused()
	if err := l.notYet(ctx); err != nil {
		return err
	}
	if until := l.row.PausedUntil(); paused && !l.triggered && (until.IsZero() || x.opensAt.Before(until)) {
		l.sum("paused", "the pipeline is paused, so no run opens")
		if l.def.Opens == pipeline.ByStream {
			x.resumesAt = until // start conditions that are met then open their runs
		}
	}
	if x.Gate == nil {
		var err error
		if x.Gate, err = l.live(ctx, l.def, nil); err != nil {
			return err
		}
	}
	switch {
	case !l.triggered:
		return l.hints(ctx, "")
	case l.def.Opens == pipeline.ByStream:
		return nil // a manually triggered run does not need its start condition
	}
	return l.hints(ctx, "that run also needs ")
}

func (l *look) gone() {
	switch {
	case !l.row.RemovedAt.IsZero():
		l.sum("removed", "the pipeline's file was removed %s, so no run opens", l.when(l.row.RemovedAt))
	case l.row.Problem != "":
		l.sum("rejected", "the pipeline's file was rejected, and no version of it is active")
		for _, problem := range l.row.Problems() {
			l.because("file", "%s", problem)
		}
	default:
		l.sum("not-active", "no version of the pipeline is active")
	}
}

// excluded returns why the calendar excludes the period, now or when it was due.
func (l *look) excluded() string {
	if why := l.def.Schedule.Excluded(l.key.Period); why != "" {
		return why
	}
	for _, e := range l.events {
		if x, ok := e.Detail.Extra.(event.Exclusion); ok {
			return x.Rule + ", when it was due"
		}
	}
	return ""
}

// notYet says what would open the run.
func (l *look) notYet(ctx context.Context) error {
	switch l.def.Opens {
	case pipeline.ByCron:
		return l.noFire(ctx)
	case pipeline.ByStream:
		return l.noStart(ctx)
	case pipeline.ByHand:
	}
	if external(l.def) {
		l.sum("manual", "the pipeline has no schedule: a worker or `interlock trigger` opens the run")
		l.opens("exec", "`interlock exec %s --date %s -- COMMAND` opens it, and runs the command once the gate is open", l.key.Pipeline, l.key.Period)
		l.triggered = true
		return nil
	}
	l.sum("manual", "the pipeline has no schedule: `interlock trigger` opens the run")
	l.trigger()
	return nil
}

// noFire explains a period that its schedule has not opened.
func (l *look) noFire(ctx context.Context) error {
	fire := l.def.Schedule.FireFor(l.key.Period)
	switch {
	case fire.IsZero():
		l.sum("no-fire", "the schedule has no fire for this period")
		if size := l.def.Schedule.Size(); l.key.Period.Size() != size {
			l.because("period-size", "each run of this pipeline is for one %s", size)
		}
	case fire.After(l.now):
		l.sum("opens-at", "the schedule opens this run %s", l.when(fire))
		l.x.opensAt = fire
		return nil
	case fire.Before(l.horizon()):
		l.sum("before-first-version", "its fire at %s came before the pipeline was first accepted, %s", reason.On("fire", fire), l.when(l.horizon()))
	default:
		missed, err := l.missed(ctx)
		if err != nil {
			return err
		}
		switch {
		case missed != "":
			l.sum("missed", "its fire at %s was missed: %s", reason.On("fire", fire), missed)
		case fire.Before(l.row.AcceptedAt):
			l.sum("before-this-version", "its fire at %s came before this version of the file was accepted, %s", reason.On("fire", fire), l.when(l.row.AcceptedAt))
			l.because("no-past", "an edit does not open past periods")
		case fire.After(l.row.FiredThrough) && l.row.Paused() && !l.now.Before(l.def.FireWindowEnd(l.key.Period, fire)):
			l.sum("missed", "the window of its fire at %s ended %s, while the pipeline was paused", reason.On("fire", fire), l.when(l.def.FireWindowEnd(l.key.Period, fire)))
		case fire.After(l.row.FiredThrough):
			l.sum("opening", "its fire at %s has not opened the run yet", reason.On("fire", fire))
			return nil
		default:
			l.sum("missed", "its fire at %s opened no run", reason.On("fire", fire))
		}
	}
	l.trigger()
	return nil
}

// missed finds the event that reported a missed fire.
func (l *look) missed(ctx context.Context) (string, error) {
	for _, t := range []event.Type{event.ScheduleMissed, event.IrregularScheduleMissed} {
		page, err := l.Store.Events(ctx, store.EventQuery{Pipeline: l.key.Pipeline, Type: t, Limit: 100})
		if err != nil {
			return "", fmt.Errorf("read events: %w", err)
		}
		for _, e := range page.Items {
			if x, ok := e.Detail.Extra.(event.Missed); ok && slices.Contains(x.Dates, l.key.Period.String()) {
				return e.Detail.Message, nil
			}
		}
	}
	return "", nil
}

// noStart explains a period that neither its start condition nor its upstreams have opened.
func (l *look) noStart(ctx context.Context) error {
	x := &l.x
	unmet, g := "not all upstream runs are COMPLETED", l.def.Gate
	if l.def.Start != nil {
		unmet, g = "the start condition is not met", l.def.Start.Gate
	}
	view, err := l.live(ctx, l.def, g)
	if err != nil {
		return err
	}
	x.Gate = view
	deadline := startDeadline(l.def, l.key)
	over := !deadline.IsZero() && !l.now.Before(deadline)
	switch opens := l.def.Schedule.OpensFrom(l.key.Period); {
	case view.Open() && over && !view.written().Before(deadline):
		l.sum("start-deadline", "the start condition was met only after its deadline, %s", l.when(deadline))
		l.trigger()
	case view.Open():
		l.unopened(view.written())
	case over:
		l.sum("start-deadline", "the start condition was not met before its deadline, %s", l.when(deadline))
		l.trigger()
	case opens.After(l.now):
		l.sum("not-begun", "%s; the period begins %s", unmet, l.when(opens))
	default:
		l.sum("not-met", "%s", unmet)
	}
	if !over && !view.Open() && !deadline.IsZero() {
		x.startBy = deadline
		l.because("start-deadline", "the start condition must be met before its deadline, %s", l.when(deadline))
	}
	return nil
}

// unopened explains a period whose start condition is met, or whose upstreams are done, but that has no run: the
// write was not handled when it came, and the watchdog recovers only recent ones.
func (l *look) unopened(at time.Time) {
	x := &l.x
	met, when := "the last upstream run completed", l.when(at)
	if l.def.Start != nil {
		met = "the start condition was met"
	}
	switch {
	case at.Before(l.horizon()):
		l.sum("before-first-version", "%s %s, before the pipeline was first accepted, %s", met, when, l.when(l.horizon()))
		l.because("no-past", "a new pipeline does not open past periods")
	case at.Before(l.row.AcceptedAt):
		l.sum("before-this-version", "%s %s, before this version of the file was accepted, %s", met, when, l.when(l.row.AcceptedAt))
		l.because("no-past", "an edit does not open past periods")
	case x.DryRun:
		l.sum("dry-run-expired", "%s %s, but there is no record of its dry run; it may have expired", met, when)
	case at.Before(l.now.Add(-watchdog.LookBack)):
		l.sum("overlooked", "%s %s, longer ago than the watchdog looks back (%s)", met, when, reason.For("lookBack", watchdog.LookBack))
	default:
		l.sum("opening", "%s %s; the run opens within one watchdog interval", met, when)
		return
	}
	l.trigger()
}

// trigger names the command that opens the run, if nothing else does.
func (l *look) trigger() {
	l.triggered = true
	if l.def.Opens != pipeline.ByHand {
		l.because("not-automatic", "the run no longer opens automatically")
	}
	l.opens("trigger", "`interlock trigger %s --date %s`", l.key.Pipeline, l.key.Period)
}

// startDeadline returns when the start condition's deadline closes the automatic window of a run; zero without one.
func startDeadline(def *pipeline.Definition, key run.Key) time.Time {
	if def == nil || def.Start == nil || def.Start.Deadline == nil {
		return time.Time{}
	}
	return sla.Close(*def.Start.Deadline, key.Period, def.Schedule)
}

func (l *look) horizon() time.Time {
	if e := l.Catalog.Current().Get(l.key.Pipeline); e != nil {
		return e.Horizon
	}
	return l.row.Horizon
}
