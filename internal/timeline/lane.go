package timeline

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/schedule"
	"github.com/interlock-go/interlock/internal/store"
)

// builder builds one lane.
type builder struct {
	reader  *Reader
	e       *catalog.Entry
	zone    *time.Location
	row     store.Pipeline
	due     ledger
	seen    map[run.Key]bool
	width   time.Duration // width of buckets; 0 without buckets
	buckets map[int]*Bucket
	newest  run.Run // the ended run of the latest period
	lane    Lane
}

func newBuilder(r *Reader, e *catalog.Entry) *builder {
	return &builder{
		reader: r, e: e, zone: e.Schedule.Zone(), row: r.rows[e.ID], seen: map[run.Key]bool{}, buckets: map[int]*Bucket{},
		lane: Lane{Pipeline: e.ID, Counts: map[Phase]int{}},
	}
}

// build collects the periods: those with runs, then expected ones, then those with only a deadline,
// then the open ones and the last that ended.
func (b *builder) build(ctx context.Context) error {
	b.chooseWidth()
	steps := []func(context.Context) error{b.ledger, b.inRange, b.dryRuns, b.elsewhere, b.expected, b.owed, b.standing}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if b.width == 0 && len(b.lane.Slots) > 2*maxSlots { // more runs than the schedule expects
		b.rebuild()
	}
	slices.SortStableFunc(b.lane.Slots, func(a, b Slot) int { return a.Start.Compare(b.Start) })
	if b.width > 0 {
		b.lane.Buckets, b.lane.Width = b.sorted(), b.width
	}
	return b.causes(ctx)
}

// chooseWidth decides whether the lane uses buckets.
func (b *builder) chooseWidth() {
	q := b.reader.Query
	span := q.To.Sub(q.From)
	if b.width = q.Width; b.width > 0 {
		b.width = max(b.width, span/(8*maxBuckets), time.Minute)
		return
	}
	if span > longSpan && b.e.Schedule.Size() < period.Week || b.crowded() {
		b.width = widthFor(span)
	}
}

// crowded reports whether the schedule expects more periods than can be shown individually.
func (b *builder) crowded() bool {
	n := 0
	for range b.slots() {
		if n++; n > maxSlots {
			return true
		}
	}
	return false
}

// rebuild moves the slots of a lane into buckets after all.
func (b *builder) rebuild() {
	b.width = widthFor(b.reader.To.Sub(b.reader.From))
	all := b.lane.Slots
	b.lane.Slots = nil
	for _, s := range all {
		if s.Outside || s.Run.Status.Open() || s.Key == b.newest.Key {
			b.lane.Slots = append(b.lane.Slots, s)
		}
		if !s.Outside {
			b.tally(s)
		}
	}
}

// place returns the position of a slot on the axis.
func (b *builder) place(s Slot) (start, end time.Time) {
	if b.reader.Axis != ByExecution {
		return s.Start, s.End
	}
	return b.execution(s)
}

// execution returns the time in which a period ran, is running, or is expected to open.
func (b *builder) execution(s Slot) (start, end time.Time) {
	switch {
	case s.Run.Status == "" && s.FireAt.IsZero():
		return s.Start, s.End
	case s.Run.Status == "":
		return s.FireAt, s.FireAt.Add(time.Nanosecond)
	case s.Run.Status.Open():
		return s.Run.OpenedAt, b.reader.now.Add(time.Nanosecond)
	}
	return s.Run.OpenedAt, s.Run.EndedAt.Add(time.Nanosecond)
}

// shows reports whether a slot belongs to the range. With buckets the axis decides; without, a
// period is shown if it, its execution, or its deadline overlaps the range.
func (b *builder) shows(s Slot) bool {
	q := b.reader.Query
	if b.width > 0 {
		return q.overlaps(b.place(s))
	}
	return q.overlaps(s.Start, s.End) || q.overlaps(b.execution(s)) || q.holds(s.Breach) || b.due.inWindow[s.Key]
}

// add adds a slot to the lane if it belongs there.
func (b *builder) add(s Slot) {
	if b.seen[s.Key] || !b.shows(s) {
		return
	}
	b.seen[s.Key] = true
	b.lane.Counts[s.Phase]++
	if b.width > 0 {
		b.tally(s)
		return
	}
	b.lane.Slots = append(b.lane.Slots, s)
}

// addRun adds the slot of a run.
func (b *builder) addRun(r run.Run) {
	if r.Status.Ended() && (b.newest.Status == "" || r.Period.Compare(b.newest.Period) > 0) {
		b.newest = r
	}
	b.add(b.ofRun(r))
}

// inRange reads the runs whose periods lie in the range.
func (b *builder) inRange(ctx context.Context) error {
	size := max(b.e.Schedule.Size(), period.Day)
	q := store.RunQuery{
		Pipeline: b.e.ID, From: period.At(b.reader.From, size, b.zone), To: period.At(b.reader.To, period.Minute, b.zone), Limit: store.MaxPage,
	}
	for {
		page, err := b.reader.Store.Runs(ctx, q)
		if err != nil {
			return err
		}
		b.lane.Read += len(page.Items)
		for _, r := range page.Items {
			b.addRun(r)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return nil
		}
	}
}

// elsewhere reads the runs of periods outside the range that still touch it: they fire, ran, or are
// due in it.
func (b *builder) elsewhere(ctx context.Context) error {
	var keys []run.Key
	want := func(key run.Key) {
		if !b.seen[key] && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if b.width == 0 || b.reader.Axis == ByExecution {
		for slot := range b.slots() {
			if !b.reader.overlaps(slot.Period.Start(b.zone), slot.Period.End(b.zone)) {
				want(b.e.Key(slot.Period))
			}
		}
		executed, err := b.executed(ctx)
		if err != nil {
			return err
		}
		for _, key := range executed {
			want(key)
		}
	}
	if b.width == 0 {
		for key := range b.due.inWindow {
			want(key)
		}
	}
	if len(keys) == 0 || b.e.DryRun {
		return nil
	}
	runs, err := b.reader.Store.RunsAt(ctx, keys)
	if err != nil {
		return err
	}
	b.lane.Read += len(runs)
	for _, key := range keys {
		if r, there := runs[key]; there {
			b.addRun(r)
		}
	}
	return nil
}

// slots iterates over the expected periods that may touch the range, from the pipeline's first
// acceptance on.
func (b *builder) slots() iter.Seq[schedule.Slot] {
	return func(yield func(schedule.Slot) bool) {
		if b.e.Opens == pipeline.ByHand {
			return
		}
		from, until := b.reach()
		for slot := range b.e.Schedule.Slots(from) {
			begins := slot.Begins(b.zone)
			if !begins.Before(until) || b.reader.now.Before(begins) && b.e.DryRun {
				return
			}
			if slot.Period.IsZero() || !b.touches(slot, begins) {
				continue
			}
			if !yield(slot) {
				return
			}
		}
	}
}

// reach returns the interval in which the periods that touch the range may open. Those that end in
// the range open at their beginning or later, and the last one that begins in it opens before the
// following period does.
func (b *builder) reach() (from, until time.Time) {
	s, q := b.e.Schedule, b.reader.Query
	from, until = period.At(q.From, s.Size(), b.zone).Start(b.zone), q.To
	if d := b.e.SLA.Deadline; d != nil && b.width == 0 {
		from = from.AddDate(0, 0, -b.e.SLA.DayOffset-2).Add(-s.Size().Longest())
	}
	if after := period.At(q.To.Add(-1), s.Size(), b.zone).Add(1, b.zone); !after.IsZero() {
		until = period.Later(until, s.OpensFrom(after))
	}
	return period.Later(from, b.e.Horizon), until
}

// touches reports whether an expected period belongs to the range, whether or not it has a run.
func (b *builder) touches(slot schedule.Slot, begins time.Time) bool {
	q := b.reader.Query
	start, end := slot.Period.Start(b.zone), slot.Period.End(b.zone)
	if b.width > 0 && b.reader.Axis != ByExecution {
		return q.overlaps(start, end)
	}
	if q.overlaps(start, end) || q.holds(begins) {
		return true
	}
	return b.width == 0 && q.holds(b.e.SLA.For(slot.Period, slot.FireAt, b.e.Schedule).Breach)
}

// expected adds the periods that have no run.
func (b *builder) expected(context.Context) error {
	for slot := range b.slots() {
		if !b.seen[b.e.Key(slot.Period)] {
			b.add(b.without(slot))
		}
	}
	return nil
}

// maxStanding is how many open runs outside the range, or besides buckets, a lane lists. All of
// them are counted.
const maxStanding = 100

// standing adds what is shown regardless of the range: the open runs and the last one that ended.
func (b *builder) standing(ctx context.Context) error {
	open := b.reader.open[b.e.ID]
	for i, r := range open {
		if i < maxStanding {
			b.stand(r)
		} else if !b.seen[r.Key] {
			b.lane.Counts[Phase(r.Phase(b.reader.now))]++
		}
	}
	if b.newest.Status == "" || b.reader.To.Before(b.reader.now) {
		page, err := b.reader.Store.Runs(ctx, store.RunQuery{Pipeline: b.e.ID, Limit: min(len(open)+1, store.MaxPage)})
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(page.Items, func(r run.Run) bool { return r.Status.Ended() }); i >= 0 {
			b.newest = page.Items[i]
		}
	}
	if b.newest.Status != "" && !b.e.DryRun {
		b.stand(b.newest)
	}
	return nil
}

// stand adds a run that is shown regardless of the range.
func (b *builder) stand(r run.Run) {
	s := b.ofRun(r)
	b.fire(&s)
	if !b.seen[s.Key] {
		b.seen[s.Key] = true
		s.Outside = true
		b.lane.Counts[s.Phase]++
	} else if b.width == 0 {
		return // it is listed already
	}
	b.lane.Slots = append(b.lane.Slots, s)
}
