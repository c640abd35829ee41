package explain

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// never explains a run that there is not: the first thing that stands against it is the summary.
func (l *look) never(ctx context.Context) error {
	x := &l.x
	x.State = NotOpened
	if l.def == nil {
		l.gone()
		return nil
	}
	if l.key.Schedule != l.def.Opens {
		x.Summary = fmt.Sprintf("there is no such run: %s opens its runs as %q, not %q", l.key.Pipeline, l.def.Opens, l.key.Schedule)
		return nil
	}
	if why := l.excluded(); why != "" {
		x.Summary = "the calendar suppresses this period: " + why
		l.because("nothing starts it later, except an operator who insists")
		l.opens("`interlock trigger %s --date %s --force --reason TEXT`", l.key.Pipeline, l.key.Period)
		return nil
	}
	if !l.row.Pause.Since.IsZero() {
		l.paused()
	}
	if err := l.notYet(ctx); err != nil {
		return err
	}
	if !l.row.Pause.Since.IsZero() {
		x.Summary = "the pipeline is paused: nothing opens"
	}
	if x.Gate == nil {
		var err error
		if x.Gate, err = l.live(ctx, l.def, nil); err != nil {
			return err
		}
	}
	return l.hints(ctx)
}

func (l *look) gone() {
	switch {
	case !l.row.RemovedAt.IsZero():
		l.x.Summary = "the pipeline's file was removed " + l.when(l.row.RemovedAt) + ": nothing opens"
	case l.row.Problem != "":
		l.x.Summary = "the pipeline's file has problems and no version of it is in force: " + l.row.Problem
	default:
		l.x.Summary = "no version of the pipeline is in force"
	}
}

// excluded says why the calendar suppresses the period, now or when it was due.
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

// notYet says what would have to happen for the run to open by itself.
func (l *look) notYet(ctx context.Context) error {
	switch l.def.Opens {
	case pipeline.ByCron:
		return l.noFire(ctx)
	case pipeline.ByStream:
		return l.noStart(ctx)
	case pipeline.ByHand:
	}
	l.x.Summary = "only an operator opens runs of this pipeline"
	l.opens("`interlock trigger %s --date %s`", l.key.Pipeline, l.key.Period)
	return nil
}

// noFire explains a period that its schedule has not opened.
func (l *look) noFire(ctx context.Context) error {
	x := &l.x
	fire := l.def.Schedule.FireFor(l.key.Period)
	switch {
	case fire.IsZero():
		x.Summary = "the schedule has no fire for this period"
		if p := l.def.Schedule.Size(); l.key.Period.Size() != p {
			l.because("its runs are for one %s each", p)
		}
	case fire.After(l.now):
		x.Summary = "the schedule is not reached: it opens " + l.when(fire)
		return nil
	case fire.Before(l.horizon()):
		x.Summary = "its fire at " + clock(fire) + " was before the pipeline was first accepted, " + l.when(l.horizon())
	default:
		missed, err := l.missed(ctx)
		if err != nil {
			return err
		}
		x.Summary = "its fire at " + clock(fire) + " has not opened it"
		if missed != "" {
			x.Summary = "its fire at " + clock(fire) + " was missed: " + missed
		}
	}
	l.opens("`interlock trigger %s --date %s`", l.key.Pipeline, l.key.Period)
	return nil
}

// missed looks for the event that told of a missed fire.
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

// noStart explains a period whose start condition, or upstream, has not opened it.
func (l *look) noStart(ctx context.Context) error {
	x := &l.x
	what, g := "the upstream runs are not all COMPLETED", l.def.Gate
	if l.def.Start != nil {
		what, g = "the start condition was never true", l.def.Start.Gate
	}
	view, err := l.live(ctx, l.def, g)
	if err != nil {
		return err
	}
	x.Gate = view
	opens := l.def.Schedule.OpensFrom(l.key.Period)
	switch {
	case l.def.Start != nil && l.closedFor():
		if x.Summary = what + ", and its deadline has passed"; view.Open() {
			x.Summary = "the start condition became true only after its deadline"
		}
		l.opens("`interlock trigger %s --date %s`", l.key.Pipeline, l.key.Period)
	case view.Open():
		x.Summary = "what opens it holds now: it opens within a watchdog interval at the latest"
	case opens.After(l.now):
		x.Summary = fmt.Sprintf("%s; the period begins %s", what, l.when(opens))
	default:
		x.Summary = what
	}
	return nil
}

// closedFor says that the start condition's own deadline is over.
func (l *look) closedFor() bool {
	deadline := l.def.Start.Deadline
	return deadline != nil && l.now.After(sla.Close(*deadline, l.key.Period, l.def.Schedule))
}

func (l *look) horizon() time.Time {
	if e := l.Catalog.Current().Get(l.key.Pipeline); e != nil {
		return e.Horizon
	}
	return l.row.Horizon
}
