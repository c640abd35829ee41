package router

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/schedule"
	"github.com/interlock-go/interlock/internal/store"
)

// fate is the decision on a due fire.
type fate int

const (
	opens      fate = iota // its run opens
	missing                // its window is over, a later fire replaces it, or an edit removed it
	suppressed             // the calendar excludes it
	settled                // nothing to do: its run exists, it was suppressed before, or a later fire of its period decides
)

// dueFire is a fire that is due.
type dueFire struct {
	schedule.Slot
	key  run.Key
	fate fate
}

// maxDue is how many fires are planned at once.
const maxDue = 2000

// plan lists the due fires that are not handled yet, oldest first, each with its fate.
func (t *fires) plan(ctx context.Context) error {
	t.due, t.next, t.more = nil, time.Time{}, false
	earlier, err := t.earlier(ctx)
	if err != nil {
		return err
	}
	for slot := range t.slots(earlier) {
		if slot.FireAt.IsZero() {
			break // nothing opens automatically
		}
		if slot.FireAt.After(t.now) {
			t.next = slot.FireAt
			break
		}
		if len(t.due) == maxDue {
			t.more = true
			break
		}
		key := run.Key{Pipeline: t.entry.ID, Schedule: pipeline.ByCron, Period: slot.Period}
		t.due = append(t.due, dueFire{Slot: slot, key: key})
	}
	if len(t.due) == 0 {
		return nil
	}
	if err := t.markHandled(ctx); err != nil {
		return err
	}
	t.judge()
	return nil
}

// slots yields the fires that are not handled yet. Up to the acceptance of the active file they are
// those of the version that was active at the time, which were expected then; after that they are
// its own. So an edit neither opens past fires nor drops any.
func (t *fires) slots(earlier []activeVersion) iter.Seq[schedule.Slot] {
	return func(yield func(schedule.Slot) bool) {
		from := t.from()
		for _, v := range earlier {
			for slot := range v.Schedule.Slots(period.Later(from, v.from)) {
				if slot.FireAt.IsZero() || !slot.FireAt.Before(v.until) {
					break
				}
				if slot.Excluded == "" {
					slot.Excluded = t.entry.Schedule.Excluded(slot.Period)
				}
				if !yield(slot) {
					return
				}
			}
		}
		t.entry.Schedule.Slots(period.Later(from, t.row.AcceptedAt))(yield)
	}
}

// from returns the instant from which fires are not handled yet. Fires before the pipeline's
// horizon never count.
func (t *fires) from() time.Time {
	if t.row.FiredThrough.IsZero() {
		return t.row.Horizon
	}
	return period.Later(t.row.Horizon, t.row.FiredThrough.Add(time.Nanosecond))
}

// markHandled marks the fires that need nothing: their run exists, or they were suppressed before.
func (t *fires) markHandled(ctx context.Context) error {
	keys, marks := make([]run.Key, len(t.due)), make([]string, len(t.due))
	for i, d := range t.due {
		keys[i], marks[i] = d.key, store.ExcludedMark(d.key)
	}
	there, err := t.handler.rows(ctx, t.entry, keys)
	if err != nil {
		return err
	}
	excluded, err := t.handler.store.Marked(ctx, marks)
	if err != nil {
		return fmt.Errorf("read the excluded periods of %s: %w", t.entry.ID, err)
	}
	for i := range t.due {
		d := &t.due[i]
		if there[d.key].Status != "" || excluded[store.ExcludedMark(d.key)] {
			d.fate = settled
		}
	}
	return nil
}

// dropped reports whether the active file has no such fire: an edit removed it after it was due.
func (t *fires) dropped(d dueFire) bool {
	return d.FireAt.Before(t.row.AcceptedAt) && !t.entry.Schedule.FireFor(d.Period).Equal(d.FireAt)
}

// moved reports whether an edit moved the fire to after its acceptance: then the new fire decides,
// now or later.
func (t *fires) moved(d dueFire) bool {
	return d.FireAt.Before(t.row.AcceptedAt) && !t.entry.Schedule.FireFor(d.Period).Before(t.row.AcceptedAt)
}

// activeVersion is a version of the file, and from when until when it was active.
type activeVersion struct {
	*pipeline.Definition
	from, until time.Time
}

// earlier returns the versions whose fires may not be handled yet, without the active one, oldest
// first. It leaves out those that cannot be read any more, and lists them in unreadable.
func (t *fires) earlier(ctx context.Context) ([]activeVersion, error) {
	var all []activeVersion
	t.unreadable = nil
	for i, a := range t.row.Earlier {
		until := t.row.AcceptedAt
		if i+1 < len(t.row.Earlier) {
			until = t.row.Earlier[i+1].At
		}
		if !t.from().Before(until) {
			continue
		}
		def, err := t.handler.catalog.Definition(ctx, t.entry.ID, a.Config)
		if catalog.IsGone(err) {
			t.unreadable = append(t.unreadable, unreadable{a, until, err})
			continue
		}
		if err != nil {
			return nil, err
		}
		if def.Opens == pipeline.ByCron {
			all = append(all, activeVersion{def, a.At, until})
		}
	}
	return all, nil
}

// unreadable is an earlier version whose fires cannot be known, until when it was active, and why.
type unreadable struct {
	store.Acceptance
	until time.Time
	why   error
}

// reportUnreadable reports once, as missed, the fires of each earlier version that cannot be read.
func (t *fires) reportUnreadable(ctx context.Context) error {
	for _, v := range t.unreadable {
		from := period.Stamp(period.Later(t.from(), v.At))
		message := fmt.Sprintf("any fires from %s to %s open nothing, because the file of that time cannot be read: %s", from, period.Stamp(v.until), v.why)
		about := event.About{Pipeline: t.entry.ID, Schedule: pipeline.ByCron, At: t.now, Which: v.Config + " until " + period.Stamp(v.until)}
		mark := fmt.Sprintf("fires-unreadable/%s/%s/%d", t.entry.ID, v.Config, v.until.UnixNano())
		err := t.handler.emitOnce(ctx, mark, event.New(event.ScheduleMissed, about, message, event.Missed{Dates: []string{}}), t.now)
		if err != nil {
			return err
		}
	}
	return nil
}

// judge decides which of the remaining fires are suppressed, open, or are missed.
func (t *fires) judge() {
	latest, closed, last := -1, map[run.Key]bool{}, map[run.Key]int{}
	for i, d := range t.due {
		last[d.key] = i
	}
	for i := range t.due {
		d := &t.due[i]
		switch {
		case d.fate == settled:
		case closed[d.key]:
			d.fate = settled // it was suppressed at its fire before an edit moved that
		case d.Excluded != "":
			d.fate = suppressed
			closed[d.key] = true
		case t.moved(*d) || last[d.key] > i:
			d.fate = settled // the later fire of its period decides
		case t.windowOver(*d) || t.dropped(*d):
			d.fate = missing
		default:
			d.fate = opens
			if latest >= 0 && t.entry.CatchUp == pipeline.CatchUpLatest {
				t.due[latest].fate = missing
			}
			latest = i
		}
	}
	if latest >= 0 && t.more && t.entry.CatchUp == pipeline.CatchUpLatest {
		t.due[latest].fate = missing // a later fire is beyond this plan
	}
}

// windowOver reports whether the window of a fire would be over by now.
func (t *fires) windowOver(d dueFire) bool {
	return !t.now.Before(t.entry.FireWindowEnd(d.Period, d.FireAt))
}
