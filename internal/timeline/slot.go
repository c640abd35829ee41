package timeline

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/schedule"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// bare returns what the schedule alone says about a period. Buckets on the period axis need only
// its position.
func (b *builder) bare(key run.Key) Slot {
	s := Slot{Key: key, Start: key.Period.Start(b.zone), End: key.Period.End(b.zone), Deadline: b.due.of[key].state}
	if b.width == 0 || b.reader.Axis == ByExecution {
		b.fire(&s)
	}
	return s
}

// fire fills in when a period opens and is due.
func (b *builder) fire(s *Slot) {
	s.FireAt = b.e.Schedule.FireFor(s.Key.Period)
	s.Warn, s.Breach = b.dueAt(s.Key, s.FireAt)
}

// dueAt returns when the deadline of a period warns and breaches: as the file says or, if that has
// none for it, as it was armed.
func (b *builder) dueAt(key run.Key, fire time.Time) (warn, breach time.Time) {
	if due := b.e.SLA.For(key.Period, fire, b.e.Schedule); !due.Breach.IsZero() {
		return due.Warn, due.Breach
	}
	armed := b.due.of[key]
	return armed.warn, armed.breach
}

// ofRun returns the slot of a run.
func (b *builder) ofRun(r run.Run) Slot {
	s := b.bare(r.Key)
	s.Run, s.Phase, s.RetryAt = r, Phase(r.Phase(b.reader.now)), retryAt(r, b.reader.now)
	return s
}

// without returns the slot of an expected period that has no run.
func (b *builder) without(slot schedule.Slot) Slot {
	s := b.bare(b.e.Key(slot.Period))
	s.FireAt, s.Excluded, s.DryRun = slot.FireAt, slot.Excluded, b.e.DryRun
	_, breach := b.dueAt(s.Key, slot.FireAt)
	s.Phase = vacant(slot.Excluded, slot.Begins(b.zone), b.lastCall(slot, breach), b.row, b.reader.now)
	if s.Phase == Missing && (b.e.DryRun || slot.FireAt.IsZero() && breach.IsZero()) {
		// A dry run is never missing: its row may have expired. Nor is a period without a fire or a
		// deadline: it may still open.
		s.Phase = Due
	}
	return s
}

// lastCall returns from when on a period without a run is missing: its fire or, if a sensor or an
// upstream opens it, the later of its end and its deadline.
func (b *builder) lastCall(slot schedule.Slot, breach time.Time) time.Time {
	if !slot.FireAt.IsZero() {
		return slot.FireAt.Add(grace)
	}
	return period.Later(breach, slot.Period.End(b.zone))
}

// ledger is the state of a lane's deadlines.
type ledger struct {
	of       map[run.Key]due
	inWindow map[run.Key]bool // a deadline lies in the range
}

// due is the deadline of a period, the worse one if it has two.
type due struct {
	state        string
	warn, breach time.Time
}

// Warned is the state of an armed deadline that has warned.
const Warned = "WARNED"

// weight orders the states of deadlines, the worst last.
var weight = map[string]int{string(sla.Cancelled): 1, string(sla.Met): 2, string(sla.Armed): 3, Warned: 4, string(sla.Breached): 5}

// StateOf returns the state of a deadline as shown in a timeline.
func StateOf(d store.Deadline) string {
	if d.State == sla.Armed && d.Warned {
		return Warned
	}
	return string(d.State)
}

// ledger reads the deadlines of the periods in the range. A deadline may be up to two days after
// the beginning of its period, plus the days that the file adds and the length of a period longer
// than a day.
func (b *builder) ledger(ctx context.Context) error {
	b.due = ledger{of: map[run.Key]due{}, inWindow: map[run.Key]bool{}}
	spec, q := b.e.SLA, b.reader.Query
	if spec.Deadline == nil && spec.Max == 0 {
		return nil
	}
	until := q.To.AddDate(0, 0, spec.DayOffset+2).Add(b.e.Schedule.Size().Longest())
	want := store.DeadlineQuery{Pipeline: b.e.ID, From: q.From.AddDate(0, 0, -1), To: until, Limit: store.MaxPage}
	for {
		page, err := b.reader.Store.Deadlines(ctx, want)
		if err != nil {
			return err
		}
		for _, d := range page.Items {
			if state := StateOf(d); weight[state] > weight[b.due.of[d.Key].state] {
				b.due.of[d.Key] = due{state, d.WarnAt, d.BreachAt}
			}
			if q.holds(d.BreachAt) {
				b.due.inWindow[d.Key] = true
			}
		}
		if want.Cursor = page.Next; want.Cursor == "" {
			return nil
		}
	}
}

// owed adds the periods that have a deadline and no run, and that the schedule does not list: the
// first reading of the start condition set it, the pipeline was accepted during the period, or the
// file had another schedule then.
func (b *builder) owed(ctx context.Context) error {
	var keys []run.Key
	for key, d := range b.due.of {
		if !b.seen[key] && weight[d.state] >= weight[string(sla.Armed)] {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	runs, err := b.reader.Store.RunsAt(ctx, keys)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if _, there := runs[key]; !there {
			s := b.without(schedule.Slot{Period: key.Period, FireAt: b.e.Schedule.FireFor(key.Period), Excluded: b.e.Schedule.Excluded(key.Period)})
			s.Key = key
			b.add(s)
		}
	}
	return nil
}

// lookBack is how long before the range an attempt may have opened that still ran in it.
const lookBack = 24 * time.Hour

// maxOpened bounds how many attempt openings are read per lane.
const maxOpened = 5000

// executed lists the runs of which an attempt opened in the range or shortly before it.
func (b *builder) executed(ctx context.Context) ([]run.Key, error) {
	if b.e.DryRun || b.reader.From.After(b.reader.now) {
		return nil, nil
	}
	var keys []run.Key
	err := b.events(ctx, event.TriggerStarted, maxOpened, func(e event.Event) {
		keys = append(keys, keyOf(e))
	})
	return keys, err
}

// events iterates over the events of one type from the end of the range back to shortly before it.
func (b *builder) events(ctx context.Context, t event.Type, most int, each func(event.Event)) error {
	oldest := b.reader.From.Add(-lookBack)
	q := store.EventQuery{Pipeline: b.e.ID, Type: t, Limit: 100, Cursor: b.reader.cursor}
	for read := 0; read < most; {
		page, err := b.reader.Store.Events(ctx, q)
		if err != nil {
			return err
		}
		for _, e := range page.Items {
			if e.Time.Before(oldest) {
				return nil
			}
			each(e)
		}
		read += len(page.Items)
		if q.Cursor = page.Next; q.Cursor == "" {
			return nil
		}
		q.Limit = store.MaxPage
	}
	return nil
}
