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

// Fire opens every fire, or listed day, that has come since the last one that was dealt with: it is the handler of Fire
// tasks. One whose window is over is told as missed. Each run that opens is one Batch, and the place up to which fires
// are dealt with moves with it, so that a crash in between neither repeats nor forgets one.
func (h *fireHandler) Fire(ctx context.Context, claim store.Claim, now time.Time) error {
	return again(func() error { return h.fire(ctx, claim.Task.Pipeline, &claim.Lease, now) })
}

// CatchUp is Fire for somebody who found fires that nobody dealt with.
func (h *fireHandler) CatchUp(ctx context.Context, id pipeline.ID, now time.Time) error {
	return again(func() error { return h.fire(ctx, id, nil, now) })
}

func (h *fireHandler) fire(ctx context.Context, id pipeline.ID, lease *store.Lease, now time.Time) error {
	e, row, err := h.catalog.InForce(ctx, id)
	if err != nil {
		return err
	}
	t := &fires{handler: h, entry: e, row: row, lease: lease, now: now}
	if e == nil || e.Opens != pipeline.ByCron || row.Paused() {
		return t.rest(ctx) // an acceptance or the end of the pause asks again
	}
	for {
		if err := t.plan(ctx); err != nil {
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
	row     store.Pipeline // as it stands after the steps so far
	lease   *store.Lease
	now     time.Time

	due  []dueFire
	next time.Time // the first fire that has not come yet; zero if there is none
	more bool      // there are due fires beyond this plan
	told bool      // the task has been moved or finished
}

// step deals with the first due fires in one Batch: with those up to the next that opens, or with that one.
func (t *fires) step(ctx context.Context) error {
	b := store.Batch{Lease: t.lease}
	n := t.settle(&b)
	if n == 0 {
		if err := t.open(&b, t.due[0]); err != nil {
			return err
		}
		n = 1
	}
	t.advance(&b, t.due[n-1].FireAt)
	if n == len(t.due) && !t.more {
		t.move(&b)
	}
	if err := t.handler.commit(ctx, b, t.now); err != nil {
		return err
	}
	t.due = t.due[n:]
	return nil
}

// advance moves the place up to which fires are dealt with.
func (t *fires) advance(b *store.Batch, through time.Time) {
	// Another pass may have decided on the same row at another instant, and so otherwise.
	b.ID = fmt.Sprintf("fire/%s/v%d/%d/%d", t.row.ID, t.row.Version, t.now.UnixNano(), through.UnixNano())
	next := t.row
	next.FiredThrough = period.Instant(through)
	b.SwapPipeline(t.row, next)
	next.Version = t.row.Version + 1
	t.row = next
}

// move has the task come back at the next fire.
func (t *fires) move(b *store.Batch) {
	t.told = true
	if t.next.IsZero() {
		b.Finish(firePrefix + string(t.row.ID))
		return
	}
	b.Schedule(pipelineTask(store.Fire, firePrefix, t.row.ID, t.next))
}

// done ends the pass, unless its last step has done so.
func (t *fires) done(ctx context.Context) error {
	if t.told {
		return nil
	}
	b := store.Batch{ID: fmt.Sprintf("fire/%s/v%d/next/%d", t.row.ID, t.row.Version, t.now.UnixNano()), Lease: t.lease}
	t.move(&b)
	return t.handler.commit(ctx, b, t.now)
}

// rest puts the task away.
func (t *fires) rest(ctx context.Context) error {
	if t.lease == nil {
		return nil
	}
	b := store.Batch{ID: fmt.Sprintf("%s/rest/%d", t.lease.Task, t.lease.Token), Lease: t.lease}
	b.Finish(t.lease.Task)
	return t.handler.commit(ctx, b, t.now)
}

// open puts the run of a fire into b.
func (t *fires) open(b *store.Batch, d dueFire) error {
	o := order{cause: run.CauseCron, causedBy: "fire/" + period.Stamp(d.FireAt), message: "the fire of " + period.Stamp(d.FireAt)}
	if t.entry.Schedule.Listed() {
		o.cause, o.message = run.CauseInclude, d.Period.String()+" is an include date"
	}
	_, err := t.handler.begin(b, t.entry, d.key, o, t.now)
	return err
}

// What one Batch may hold of fires that open nothing: marks are rows, and an event is read by people.
const (
	maxMarks  = 5
	maxMissed = 1000
)

// suppressMany records excluded fires beyond those that fit beside the others, so that what was missed among them is told
// in one event.
func (t *fires) suppressMany(ctx context.Context) error {
	var excluded []*dueFire
	for i := range t.due {
		if t.due[i].fate == suppressed {
			excluded = append(excluded, &t.due[i])
		}
	}
	for len(excluded) > maxMarks {
		b := store.Batch{ID: "exclude/" + excluded[0].key.String() + "/and-more", Lease: t.lease}
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

// settle puts the fires before the first that opens into b, and says how many they are.
func (t *fires) settle(b *store.Batch) int {
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
	t.tellMissed(b, missed)
	return n
}

// tellMissed tells of fires whose window is over, all together.
func (t *fires) tellMissed(b *store.Batch, missed []dueFire) {
	if len(missed) == 0 {
		return
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
		Pipeline: t.entry.ID, Schedule: t.entry.Opens, Date: last.Period, At: t.now, Which: dates[0] + ".." + last.Period.String(),
	}
	message := fmt.Sprintf("%d %s passed without a run, from %s to %s; ", len(missed), what, dates[0], last.Period)
	if len(missed) == 1 {
		message = fmt.Sprintf("%s passed without a run; ", last.Period)
	}
	if t.windowOver(last) {
		message += "the window is over"
	} else {
		message += "only the latest is opened"
	}
	b.Emit(event.New(kind, about, message, event.Missed{Dates: dates}))
}
