package router

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// fireHandler opens the runs of a schedule.
type fireHandler struct{ opener }

// Fire handles Fire tasks: it opens the run of every fire, or listed day, that is due and not
// handled yet. It reports a fire whose window is over as missed. Each opened run is one Batch that
// also moves FiredThrough, so that a crash neither repeats nor skips a fire.
func (h *fireHandler) Fire(ctx context.Context, claim store.Claim, now time.Time) error {
	return store.Again(func() error { return h.fire(ctx, claim.Task.Pipeline, &claim.Lease, now) })
}

// CatchUp is Fire without a task, for the watchdog when it finds unhandled fires.
func (h *fireHandler) CatchUp(ctx context.Context, id pipeline.ID, now time.Time) error {
	return store.Again(func() error { return h.fire(ctx, id, nil, now) })
}

func (h *fireHandler) fire(ctx context.Context, id pipeline.ID, lease *store.Lease, now time.Time) error {
	e, row, err := h.catalog.Active(ctx, id)
	if err != nil {
		return err
	}
	t := &fires{handler: h, entry: e, row: row, lease: lease, now: now}
	if e == nil || row.Paused() || e.Opens != pipeline.ByCron && len(row.Earlier) == 0 {
		return t.rest(ctx) // an acceptance or the end of the pause schedules the task again
	}
	for {
		if err := t.plan(ctx); err != nil {
			return err
		}
		if err := t.reportUnreadable(ctx); err != nil {
			return err
		}
		if err := t.suppressMany(ctx); err != nil {
			return err
		}
		for len(t.due) > 0 {
			if err := t.step(ctx); err != nil {
				return err
			}
		}
		if !t.more {
			return t.done(ctx)
		}
	}
}

// fires is one pass over the fires of a pipeline.
type fires struct {
	handler *fireHandler
	entry   *catalog.Entry
	row     store.Pipeline // as of the last step
	lease   *store.Lease
	now     time.Time

	due         []dueFire
	next        time.Time    // the next fire that is not due yet; zero if there is none
	more        bool         // there are due fires beyond this plan
	unreadable  []unreadable // earlier versions that the plan leaves out
	rescheduled bool         // the task has been rescheduled or finished
}

// step handles the first due fires in one Batch: those before the next that opens, or that one.
func (t *fires) step(ctx context.Context) error {
	b := store.Batch{Lease: t.lease}
	n, err := t.addUnopened(ctx, &b)
	if err != nil {
		return err
	}
	if n == 0 {
		if err := t.open(&b, t.due[0]); err != nil {
			return err
		}
		n = 1
	}
	through := t.due[n-1].FireAt
	last := n == len(t.due) && !t.more
	if last && through.Before(t.row.AcceptedAt) {
		through = t.row.AcceptedAt // nothing before it is left, and fires of this version count from there
	}
	t.advance(&b, through)
	if last {
		t.move(&b)
	}
	if err := t.handler.commit(ctx, b, t.now); err != nil {
		return err
	}
	t.due = t.due[n:]
	return nil
}

// advance moves FiredThrough.
func (t *fires) advance(b *store.Batch, through time.Time) {
	// Another pass may have decided differently on the same row at another instant.
	b.ID = fmt.Sprintf("fire/%s/v%d/%d/%d", t.row.ID, t.row.Version, t.now.UnixNano(), through.UnixNano())
	next := t.row
	next.FiredThrough = period.Instant(through)
	if !through.Before(t.row.AcceptedAt) {
		next.Earlier = nil
	}
	b.SwapPipeline(t.row, next)
	next.Version = t.row.Version + 1
	t.row = next
}

// move reschedules the task for the next fire.
func (t *fires) move(b *store.Batch) {
	t.rescheduled = true
	if t.next.IsZero() {
		b.Finish(store.PipelineTaskID(store.Fire, t.row.ID))
		return
	}
	b.Schedule(store.PipelineTask(store.Fire, t.row.ID, t.next))
}

// done reschedules the task, unless the last step has done so. No fire is left: those of earlier
// versions are handled.
func (t *fires) done(ctx context.Context) error {
	if t.rescheduled {
		return nil
	}
	b := store.Batch{ID: fmt.Sprintf("fire/%s/v%d/next/%d", t.row.ID, t.row.Version, t.now.UnixNano()), Lease: t.lease}
	if t.row.FiredThrough.Before(t.row.AcceptedAt) {
		t.advance(&b, t.row.AcceptedAt)
	}
	t.move(&b)
	return t.handler.commit(ctx, b, t.now)
}

// rest finishes the task.
func (t *fires) rest(ctx context.Context) error {
	if t.lease == nil {
		return nil
	}
	b := store.Batch{ID: fmt.Sprintf("%s/rest/%d", t.lease.Task, t.lease.Token), Lease: t.lease}
	b.Finish(t.lease.Task)
	return t.handler.commit(ctx, b, t.now)
}

// open adds the run of a fire to b, which swaps the row.
func (t *fires) open(b *store.Batch, d dueFire) error {
	o := order{
		asks: byFire, cause: run.CauseCron, causedBy: "fire/" + period.Stamp(d.FireAt), message: "the fire of " + period.Stamp(d.FireAt),
		entry: t.entry, row: t.row, run: run.Run{Key: d.key, DryRun: t.entry.DryRun}, barred: d.Excluded,
	}
	if t.entry.Schedule.Listed() {
		o.cause, o.message = run.CauseInclude, d.Period.String()+" is an include date"
	}
	_, _, err := t.handler.open(b, o, t.now)
	return err
}

// The limits of one Batch for fires that open nothing: each mark is a row, and people read the
// event.
const (
	maxMarks  = 5
	maxMissed = 1000
)

// suppressMany records the excluded fires that do not fit in one Batch with the others, so that the
// missed fires among them are reported in one event.
func (t *fires) suppressMany(ctx context.Context) error {
	var excluded []*dueFire
	for i := range t.due {
		if t.due[i].fate == suppressed {
			excluded = append(excluded, &t.due[i])
		}
	}
	for len(excluded) > maxMarks {
		b := store.Batch{ID: fmt.Sprintf("exclude/%s/v%d/%d", excluded[0].key, t.row.Version, t.now.UnixNano()), Lease: t.lease}
		for _, d := range excluded[:maxMarks] {
			suppress(&b, d.key, d.Excluded, t.now)
			d.fate = settled
		}
		if err := t.handler.commit(ctx, b, t.now); err != nil {
			return err
		}
		excluded = excluded[maxMarks:]
	}
	return nil
}

// addUnopened adds the fires before the first that opens to b, and returns how many they are.
func (t *fires) addUnopened(ctx context.Context, b *store.Batch) (int, error) {
	var missed []dueFire
	n := 0
	for ; n < len(t.due) && t.due[n].fate != opens; n++ {
		d := t.due[n]
		if len(missed) == maxMissed {
			break
		}
		switch d.fate {
		case suppressed:
			suppress(b, d.key, d.Excluded, t.now)
		case missing:
			missed = append(missed, d)
		case opens, settled:
		}
	}
	return n, t.reportMissed(ctx, b, missed)
}

// reportMissed reports all fires whose window is over, in one event.
func (t *fires) reportMissed(ctx context.Context, b *store.Batch, missed []dueFire) error {
	if len(missed) == 0 {
		return nil
	}
	dates := make([]string, len(missed))
	for i, d := range missed {
		dates[i] = d.Period.String()
	}
	last := missed[len(missed)-1]
	kind, what := event.ScheduleMissed, "fires"
	if t.entry.Schedule.Listed() {
		kind, what = event.IrregularScheduleMissed, "include dates"
	}
	about := event.About{
		Pipeline: t.entry.ID, Schedule: last.key.Schedule, Date: last.Period, At: t.now, Which: dates[0] + ".." + last.Period.String(),
	}
	message := fmt.Sprintf("%d %s passed without a run, from %s to %s; ", len(missed), what, dates[0], last.Period)
	if len(missed) == 1 {
		message = fmt.Sprintf("%s passed without a run; ", last.Period)
	}
	switch {
	case t.windowOver(last):
		message += "the window is over"
	case t.dropped(last):
		message += "the schedule was edited and no longer has this fire"
	default:
		message += "only the latest is opened"
	}
	view, err := t.handler.evaluate(ctx, t.entry, nil, last.Period, t.now)
	if err != nil {
		return err
	}
	b.Emit(event.New(kind, about, message+view.Unmet(t.now), event.Missed{Dates: dates}))
	return nil
}
