package router

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// readingHandler reacts to readings: it opens runs, wakes those that wait, and has those that ended looked at again.
type readingHandler struct {
	opener
	deadlines deadlines
	late      lateHandler
	window    windowHandler
	postRun   postRunHandler
}

// news is a written reading as one of its readers sees it.
type news struct {
	store.Change
	entry *catalog.Entry
	row   store.Pipeline // the reader's

	start, gate, post bool                 // what the sensor is to the reader
	over              bool                 // its gate reads the sensor for several slices
	upstream          *pipeline.Definition // whose run it announces; nil for any other sensor
	overlooked        bool                 // nobody reacted when it was written
}

// readingWritten lets every pipeline that reads the sensor react. One that fails does not keep the others from it.
func (h *readingHandler) readingWritten(ctx context.Context, c store.Change, now time.Time) error {
	var errs []error
	for _, e := range h.catalog.Current().Readers(c.Pipeline, c.Sensor) {
		errs = append(errs, h.readBy(ctx, e, c, now))
	}
	return errors.Join(errs...)
}

// Recover has the pipeline id react to a write, or to an upstream's announcement, that nobody reacted to when it came. It is
// for whoever looks after what was overlooked: a run that it opens is told as recovered, in the commit that opens it.
func (h *readingHandler) Recover(ctx context.Context, id pipeline.ID, c store.Change, now time.Time) error {
	return h.unlessClosed(ctx, id, c.At, now, func(row store.Pipeline) error {
		e, _, err := h.catalog.InForce(ctx, id)
		if err != nil || e == nil {
			return err
		}
		n := h.newsFor(e, row, c)
		n.overlooked = true
		return h.react(ctx, n, now)
	})
}

// readBy lets one pipeline react: open a run, wake one that waits, look again at one that has ended.
func (h *readingHandler) readBy(ctx context.Context, e *catalog.Entry, c store.Change, now time.Time) error {
	return h.unlessClosed(ctx, e.ID, c.At, now, func(row store.Pipeline) error { return h.react(ctx, h.newsFor(e, row, c), now) })
}

func (h *readingHandler) react(ctx context.Context, n news, now time.Time) error {
	if err := h.arrived(ctx, n, now); err != nil {
		return err
	}
	runs, err := h.concerned(ctx, n)
	if err != nil {
		return err
	}
	var errs []error
	for _, old := range runs {
		errs = append(errs, h.consider(ctx, n, old, now))
	}
	if n.post {
		errs = append(errs, h.postRun.postRunWritten(ctx, n, runs, now))
	}
	return errors.Join(errs...)
}

func (h *readingHandler) newsFor(e *catalog.Entry, row store.Pipeline, c store.Change) news {
	n := news{Change: c, entry: e, row: row, gate: reads(e, e.Gate, c)}
	n.over = n.gate && readsOver(e, c)
	n.start = e.Start != nil && reads(e, e.Start.Gate, c)
	n.post = e.PostRun != nil && reads(e, e.PostRun.Gate, c)
	if up, ok := strings.CutPrefix(string(c.Sensor), "run/"); ok && c.Pipeline == e.ID && slices.Contains(e.After, pipeline.ID(up)) {
		n.upstream = h.catalog.Current().Definition(pipeline.ID(up))
	}
	return n
}

// reads says whether a gate of e reads the sensor that c is about.
func reads(e *catalog.Entry, g *rule.Gate, c store.Change) bool {
	if g == nil {
		return false
	}
	return slices.ContainsFunc(g.Refs(), func(ref rule.Ref) bool { return isOf(e, ref, c) })
}

// readsOver says whether the gate of e reads the sensor that c is about for several slices.
func readsOver(e *catalog.Entry, c store.Change) bool {
	return slices.ContainsFunc(e.Gate.Refs(), func(ref rule.Ref) bool { return ref.Over != rule.Range{} && isOf(e, ref, c) })
}

// isOf says that ref, in a gate of e, is the sensor that c is about.
func isOf(e *catalog.Entry, ref rule.Ref, c store.Change) bool {
	owner := e.ID
	if ref.From != "" {
		owner = pipeline.ID(ref.From)
	}
	return owner == c.Pipeline && ref.Key == c.Sensor
}

// slice is the period that the write is for as a start condition: the one it names, else the one that holds the instant
// at which it was written, never the one in which somebody looks.
func (n news) slice() period.Period {
	if !n.Period.IsZero() {
		return n.Period
	}
	return n.entry.Schedule.PeriodAt(n.At)
}

// cause names the write for what follows from it, by its instant: versions are each store's own. Where the write only
// announces an upstream's run, that is the cause.
func (n news) cause() string {
	if n.upstream != nil {
		return "run/" + run.Key{Pipeline: n.upstream.ID, Schedule: n.upstream.Opens, Period: n.Period}.String()
	}
	name := string(n.Sensor)
	if !n.Period.IsZero() {
		name += "#" + n.Period.String()
	}
	return fmt.Sprintf("reading/%s/%s@%s", n.Pipeline, name, n.At.UTC().Format(time.RFC3339Nano))
}

// arrived arms the deadline that counts from the first reading of the start condition.
func (h *readingHandler) arrived(ctx context.Context, n news, now time.Time) error {
	e := n.entry
	if !n.start || e.SLA.Max == 0 || e.DryRun || n.row.HoldsSLA() || n.At.Before(n.row.Horizon) {
		return nil
	}
	// After a pause only a deadline that is still to come is armed: the pause may have held the rest.
	inPause := !n.row.Paused() && !n.row.PausedFrom.IsZero() && !n.At.Before(n.row.PausedFrom)
	if inPause && !e.SLA.Relative(n.At).Breach.After(now) {
		return nil
	}
	if w, err := h.written(ctx, n.Change); w == nil || err != nil {
		return err
	}
	return h.deadlines.ArmRelative(ctx, e, n.slice(), n.At, now)
}

// concerned lists the runs that the write may matter to, newest period first. One that could be opened is among them
// with its key alone.
func (h *readingHandler) concerned(ctx context.Context, n news) ([]run.Run, error) {
	var keys []run.Key
	for _, p := range n.periods() {
		keys = append(keys, n.entry.Key(p))
	}
	found, err := h.rows(ctx, n.entry, keys)
	if err != nil {
		return nil, err
	}
	runs := make([]run.Run, 0, len(keys))
	for _, key := range keys {
		one, there := found[key]
		if !there {
			one = run.Run{Key: key}
		}
		runs = append(runs, one)
	}
	more, err := h.standing(ctx, n)
	if err != nil {
		return nil, err
	}
	for _, one := range more {
		if !slices.Contains(keys, one.Key) {
			runs = append(runs, one)
		}
	}
	return runs, nil
}

// periods are those that the write is for, as far as its date or its instant tells, newest first. An undated fact may
// matter to the slice in which it was written, or to the one before if that has ended late.
func (n news) periods() []period.Period {
	switch {
	case n.upstream != nil:
		return n.entry.Following(n.upstream, n.Period)
	case !n.Period.IsZero():
		if whole := n.Period.Outer(n.entry.Schedule.Size()); n.over && !whole.IsZero() && whole != n.Period {
			return []period.Period{n.Period, whole}
		}
		return []period.Period{n.Period}
	}
	own := n.entry.Schedule.PeriodAt(n.At)
	if n.start && !n.post {
		return []period.Period{own}
	}
	return []period.Period{own, own.Add(-1, n.entry.Schedule.Zone())}
}

// standing lists further runs to which the write is a fact: an undated one to all that are open, a dated one to all of
// smaller slices inside its own.
func (h *readingHandler) standing(ctx context.Context, n news) ([]run.Run, error) {
	switch {
	case n.over && !n.Period.IsZero() && n.upstream == nil && !n.entry.DryRun:
		return h.runsOver(ctx, n)
	case n.entry.DryRun || n.upstream != nil || n.Period.Size() == period.Minute:
		return nil, nil
	case !n.Period.IsZero():
		return h.runsInside(ctx, n.entry, n.Period)
	case !n.gate:
		return nil, nil
	}
	open, err := h.store.OpenRuns(ctx, n.entry.ID)
	if err != nil {
		return nil, fmt.Errorf("list open runs of %s: %w", n.entry.ID, err)
	}
	return open, nil
}

// runsOver lists the runs inside the slice of the write, and the open ones of which it is one of the slices that their gate reads.
func (h *readingHandler) runsOver(ctx context.Context, n news) ([]run.Run, error) {
	runs, err := h.runsInside(ctx, n.entry, n.Period)
	if err != nil {
		return nil, err
	}
	open, err := h.store.OpenRuns(ctx, n.entry.ID)
	if err != nil {
		return nil, fmt.Errorf("list open runs of %s: %w", n.entry.ID, err)
	}
	for _, one := range open {
		same := func(r run.Run) bool { return r.Key == one.Key }
		if n.sliceOf(one.Period) && !slices.ContainsFunc(runs, same) {
			runs = append(runs, one)
		}
	}
	return runs, nil
}

// sliceOf says whether the write is of one of the slices that the gate of a run for p reads, or holds some of them.
func (n news) sliceOf(p period.Period) bool {
	on := n.entry.Schedule
	for _, ref := range n.entry.Gate.Refs() {
		if ref.Over == (rule.Range{}) || !isOf(n.entry, ref, n.Change) {
			continue
		}
		if slices.ContainsFunc(gate.Slices(on, ref.Over, p), n.Period.Holds) {
			return true
		}
	}
	return false
}

// runsInside lists the pipeline's own runs, and all that are open, inside a slice.
func (h *readingHandler) runsInside(ctx context.Context, e *catalog.Entry, outer period.Period) ([]run.Run, error) {
	zone := e.Schedule.Zone()
	from := outer
	if outer.Size() == period.Month { // its first week may begin before it
		from = outer.FirstDay().Outer(period.Week)
	}
	q := store.RunQuery{
		Pipeline: e.ID, From: from, Limit: store.MaxPage,
		To: period.At(outer.End(zone).Add(-time.Second), period.Minute, zone),
	}
	var inside []run.Run
	for {
		page, err := h.store.Runs(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("list runs of %s in %s: %w", e.ID, outer, err)
		}
		for _, one := range page.Items {
			if outer.Holds(one.Period) && (one.Schedule == e.Opens || one.Status.Open()) {
				inside = append(inside, one)
			}
		}
		if page.Next == "" {
			return inside, nil
		}
		q.Cursor = page.Next
	}
}

// consider reacts for one run, by where it stands. An attempt that may be about to end is woken; if it ends first, the write came
// after its end.
func (h *readingHandler) consider(ctx context.Context, n news, old run.Run, now time.Time) error {
	key := old.Key
	err := again(func() error {
		if !n.wakes(old) {
			return nil
		}
		err := h.wake(ctx, n.entry.DryRun, old, now)
		if errors.Is(err, store.ErrConflict) {
			var unread error
			if old, unread = h.row(ctx, n.entry, key); unread != nil {
				return unread
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	switch old.Status {
	case "":
		return h.openFor(ctx, n, key, now)
	case run.ValidationExhausted:
		if n.gate || n.start {
			return h.window.afterWindow(ctx, n, key, now)
		}
		return nil
	case run.Completed:
		return h.late.afterCompletion(ctx, n, key, now)
	default: // it is open, or only a person reopens it
		return nil
	}
}

// wakes says that what is decided about an open attempt may depend on the write: whether its gate is open, or what a job of
// which the result is being stored has worked on.
func (n news) wakes(old run.Run) bool {
	switch old.Status {
	case run.Pending:
		return n.gate || n.post && n.entry.DryRun // a dry run completes from here
	case run.Triggering, run.Running:
		return n.changesInput(old.Period) || n.gate && old.Repeats()
	default:
		return false
	}
}

// changesInput says that the write changes what the job of period p works on, so that it may be late data: a standing fact is not.
func (n news) changesInput(p period.Period) bool {
	return n.Changed && (n.start && n.slice().Holds(p) || n.gate && !n.Period.IsZero())
}

// openFor opens a run that is not there, if this write is what opens it.
func (h *readingHandler) openFor(ctx context.Context, n news, key run.Key, now time.Time) error {
	e := n.entry
	if e.Opens != pipeline.ByStream || n.row.Paused() {
		return nil
	}
	if n.upstream != nil && e.Start == nil {
		return h.openAfter(ctx, n, key, now)
	}
	if !n.start || key.Period != n.slice() || n.At.Before(n.row.Horizon) || key.Period.CheckName(e.Schedule.Zone()) != nil {
		return nil
	}
	w, err := h.written(ctx, n.Change)
	if err != nil || w == nil || !meets(e, key.Period, w, now) {
		return err
	}
	if over, err := h.window.startOver(ctx, n, key, now); over || err != nil {
		return err
	}
	return h.openRun(ctx, e, key, order{
		cause: run.CauseCondition, causedBy: n.cause(), message: fmt.Sprintf("sensor %s meets the start condition", n.Sensor), recovered: n.overlooked,
	}, now)
}

// meets says whether one reading meets the start condition for p.
func meets(e *catalog.Entry, p period.Period, w *sensor.Reading, now time.Time) bool {
	return e.Start.Gate.Decide(rule.Snapshot{{Reading: w, For: p}}, now) == rule.Pass
}

// written returns the reading that a change is about, also if a later one has replaced it since. It returns nil if the reading
// is gone, if it deletes, or if it has been deleted since.
func (h *readingHandler) written(ctx context.Context, c store.Change) (*sensor.Reading, error) {
	answers, err := h.store.Readings(ctx, []store.ReadingQuery{{Pipeline: c.Pipeline, Key: c.Sensor, Period: c.Period}})
	if err != nil {
		return nil, fmt.Errorf("read sensor %s of %s: %w", c.Sensor, c.Pipeline, err)
	}
	for _, w := range answers[0] {
		switch {
		case w == nil || w.Period != c.Period:
		case w.Deleted:
			return nil, nil
		case w.Version == c.Version:
			return w, nil
		}
	}
	q := store.HistoryQuery{Pipeline: c.Pipeline, Key: c.Sensor, Period: c.Period, Limit: store.MaxPage}
	for {
		page, err := h.store.History(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("read history of sensor %s of %s: %w", c.Sensor, c.Pipeline, err)
		}
		for _, w := range page.Items {
			switch {
			case w.Version == c.Version:
				return w, nil
			case w.Version < c.Version:
				return nil, nil
			}
		}
		if page.Next == "" {
			return nil, nil
		}
		q.Cursor = page.Next
	}
}
