package router

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/schedule"
	"github.com/interlock-go/interlock/internal/slamonitor"
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
	before, err := t.before(ctx)
	if err != nil {
		return err
	}
	for slot := range t.slots(before) {
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
		t.due = append(t.due, dueFire{Slot: slot, key: t.entry.Key(slot.Period)})
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
// those of the previous version, which were expected at the time; after that they are its own. So
// an edit neither opens past fires nor drops any.
func (t *fires) slots(before *pipeline.Definition) iter.Seq[schedule.Slot] {
	return func(yield func(schedule.Slot) bool) {
		from := t.from()
		if before != nil && before.Opens == t.entry.Opens {
			for slot := range before.Schedule.Slots(from) {
				if slot.FireAt.IsZero() || !slot.FireAt.Before(t.row.AcceptedAt) {
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
		keys[i], marks[i] = d.key, slamonitor.ExcludedMark(d.key)
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
		if there[d.key].Status != "" || excluded[slamonitor.ExcludedMark(d.key)] {
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

// before returns the version before the active one; nil if it is not needed, or there is none.
func (t *fires) before(ctx context.Context) (*pipeline.Definition, error) {
	if !t.from().Before(t.row.AcceptedAt) {
		return nil, nil
	}
	configs, err := t.handler.store.Configs(ctx, t.entry.ID)
	if err != nil {
		return nil, fmt.Errorf("list versions of pipeline %s: %w", t.entry.ID, err)
	}
	for _, c := range configs {
		if c.Version == t.row.Config {
			continue
		}
		return store.IfFound(t.handler.catalog.Definition(ctx, t.entry.ID, c.Version))
	}
	return nil, nil
}

// judge decides which of the remaining fires are suppressed, open, or are missed.
func (t *fires) judge() {
	latest, closed := -1, map[run.Key]bool{}
	for i := range t.due {
		d := &t.due[i]
		switch {
		case d.fate == settled:
		case closed[d.key]:
			d.fate = settled // it was suppressed at its fire before an edit moved that
		case d.Excluded != "":
			d.fate = suppressed
			closed[d.key] = true
		case t.moved(*d):
			d.fate = settled
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
