package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/slamonitor"
	"github.com/interlock-go/interlock/internal/store"
)

// readingHandler handles readings: it opens runs, wakes waiting ones, and checks ended ones for
// late data.
type readingHandler struct {
	opener
	deadlines deadlines
	late      lateHandler
	window    windowHandler
	postRun   postRunHandler
}

// sensorWrite is a written reading from the view of one pipeline that reads it.
type sensorWrite struct {
	store.Change
	entry *catalog.Entry
	row   store.Pipeline // of the pipeline that reads it

	start, gate, post bool                 // where the pipeline uses the sensor
	over              bool                 // its gate reads the sensor for several periods
	upstream          *pipeline.Definition // the pipeline whose run it announces; nil for any other sensor
	overlooked        bool                 // it was not handled when it was written
}

// readingWritten handles the write for every pipeline that reads the sensor. An error of one does
// not stop the others.
func (h *readingHandler) readingWritten(ctx context.Context, c store.Change, now time.Time) error {
	var errs []error
	for _, e := range h.catalog.Current().Readers(c.Pipeline, c.Sensor) {
		errs = append(errs, h.readBy(ctx, e.ID, c, now))
	}
	for _, id := range h.catalog.OlderReaders(c.Pipeline, c.Sensor) {
		errs = append(errs, h.readByOlder(ctx, id, c, now))
	}
	return errors.Join(errs...)
}

// Recover makes the pipeline id handle a write, or an upstream's announcement, that was not handled
// when it came. It is for callers that search for overlooked changes. A run that it opens is
// reported as recovered, in the same commit.
func (h *readingHandler) Recover(ctx context.Context, id pipeline.ID, c store.Change, now time.Time) error {
	return h.unlessClosed(ctx, id, c.At, now, func(e *catalog.Entry, row store.Pipeline) error {
		sw := h.newSensorWrite(e, row, c)
		sw.overlooked = true
		return h.handleWrite(ctx, sw, now)
	})
}

// readBy handles the write for one pipeline: it opens a run, wakes a waiting one, or checks an
// ended one.
func (h *readingHandler) readBy(ctx context.Context, id pipeline.ID, c store.Change, now time.Time) error {
	return h.unlessClosed(ctx, id, c.At, now, func(e *catalog.Entry, row store.Pipeline) error {
		return h.handleWrite(ctx, h.newSensorWrite(e, row, c), now)
	})
}

// handleWrite handles the write for every run that it may affect.
func (h *readingHandler) handleWrite(ctx context.Context, sw sensorWrite, now time.Time) error {
	if err := h.armRelative(ctx, sw, now); err != nil {
		return err
	}
	runs, err := h.affectedRuns(ctx, sw)
	if err != nil {
		return err
	}
	var errs []error
	for _, old := range runs {
		errs = append(errs, h.handleWriteFor(ctx, sw, old, now))
	}
	if sw.post {
		errs = append(errs, h.postRun.postRunWritten(ctx, sw, runs, now))
	}
	return errors.Join(errs...)
}

func (h *readingHandler) newSensorWrite(e *catalog.Entry, row store.Pipeline, c store.Change) sensorWrite {
	sw := sensorWrite{Change: c, entry: e, row: row}
	for _, ref := range e.Gate.Refs() {
		if isOf(e.Definition, ref, c) {
			sw.gate = true
			sw.over = sw.over || ref.Over != rule.Range{}
		}
	}
	sw.start = e.Start != nil && reads(e.Definition, e.Start.Gate, c)
	sw.post = e.PostRun != nil && reads(e.Definition, e.PostRun.Gate, c)
	if up, ok := c.Sensor.Upstream(); ok && c.Pipeline == e.ID && slices.Contains(e.After, pipeline.ID(up)) {
		sw.upstream = h.catalog.Current().Definition(pipeline.ID(up))
	}
	return sw
}

// reads reports whether a gate of d reads the sensor of c.
func reads(d *pipeline.Definition, g *rule.Gate, c store.Change) bool {
	if g == nil {
		return false
	}
	return slices.ContainsFunc(g.Refs(), func(ref rule.Ref) bool { return isOf(d, ref, c) })
}

// isOf reports whether ref, in a gate of d, is the sensor of c.
func isOf(d *pipeline.Definition, ref rule.Ref, c store.Change) bool {
	return cmp.Or(pipeline.ID(ref.From), d.ID) == c.Pipeline && ref.Key == c.Sensor
}

// startsPeriod returns the period that the write is for as a start condition: the period it names,
// otherwise the one that contains the time of the write, never the current one.
func (sw sensorWrite) startsPeriod() period.Period {
	return cmp.Or(sw.Period, sw.entry.Schedule.PeriodAt(sw.At))
}

// cause identifies the write as a cause, by its time: versions differ between stores. If the write
// announces an upstream's run, that run is the cause.
func (sw sensorWrite) cause() string {
	if sw.upstream != nil {
		return "run/" + run.Key{Pipeline: sw.upstream.ID, Schedule: sw.upstream.Opens, Period: sw.Period}.String()
	}
	name := string(sw.Sensor)
	if !sw.Period.IsZero() {
		name += "#" + sw.Period.String()
	}
	return fmt.Sprintf("reading/%s/%s@%s", sw.Pipeline, name, period.Exact(sw.At))
}

// armRelative arms the deadline that counts from the first reading of the start condition.
func (h *readingHandler) armRelative(ctx context.Context, sw sensorWrite, now time.Time) error {
	e := sw.entry
	if !sw.start || e.SLA.Max == 0 || e.DryRun || sw.row.HoldsSLA() || sw.At.Before(sw.row.Horizon) {
		return nil
	}
	// After a pause only a future deadline is armed: the pause may have held the others.
	inPause := !sw.row.Paused() && !sw.row.PausedFrom.IsZero() && !sw.At.Before(sw.row.PausedFrom)
	if inPause && !e.SLA.Relative(sw.At).Breach.After(now) {
		return nil
	}
	if w, err := h.written(ctx, sw.Change); w == nil || err != nil {
		return err
	}
	return h.deadlines.ArmRelative(ctx, slamonitor.Basis{Entry: e, Row: sw.row}, sw.startsPeriod(), sw.At, now)
}

// affectedRuns lists the runs that the write may affect, newest period first. A run that could be
// opened has only its key.
func (h *readingHandler) affectedRuns(ctx context.Context, sw sensorWrite) ([]run.Run, error) {
	var keys []run.Key
	for _, p := range sw.periods() {
		keys = append(keys, sw.entry.Key(p))
	}
	found, err := h.rows(ctx, sw.entry, keys)
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
	more, err := h.otherRuns(ctx, sw)
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

// periods returns the periods that the write is for by its date or time, newest first. An undated
// reading may affect the period in which it was written, or the one before if that one ends late.
func (sw sensorWrite) periods() []period.Period {
	switch {
	case sw.upstream != nil:
		return sw.entry.Following(sw.upstream, sw.Period)
	case !sw.Period.IsZero():
		if whole := sw.Period.Outer(sw.entry.Schedule.Size()); sw.over && !whole.IsZero() && whole != sw.Period {
			return []period.Period{sw.Period, whole}
		}
		return []period.Period{sw.Period}
	}
	own := sw.entry.Schedule.PeriodAt(sw.At)
	if sw.start && !sw.post {
		return []period.Period{own}
	}
	return []period.Period{own, own.Add(-1, sw.entry.Schedule.Zone())}
}

// otherRuns lists the further runs that the write affects: for an undated one all open runs and
// those whose window has closed lately, for a dated one all runs of smaller periods inside its own.
func (h *readingHandler) otherRuns(ctx context.Context, sw sensorWrite) ([]run.Run, error) {
	switch {
	case sw.over && !sw.Period.IsZero() && sw.upstream == nil && !sw.entry.DryRun:
		return h.runsOver(ctx, sw)
	case sw.entry.DryRun || sw.upstream != nil || sw.Period.Size() == period.Minute:
		return nil, nil
	case !sw.Period.IsZero():
		return h.runsInside(ctx, sw.entry, sw.Period)
	case !sw.gate:
		return nil, nil
	}
	open, err := h.store.OpenRuns(ctx, sw.entry.ID)
	if err != nil {
		return nil, fmt.Errorf("list open runs of %s: %w", sw.entry.ID, err)
	}
	closed, err := h.closedLately(ctx, sw)
	return append(open, closed...), err
}

// The limits on exhausted runs that an undated write is compared with: the latest periods, and of
// those the runs whose window has closed within a day before the write. An undated reading holds
// for all periods, so it may open the gate of any of them.
const (
	closedPage  = 50
	closedSince = 24 * time.Hour
)

// closedLately lists the runs whose window has closed lately.
func (h *readingHandler) closedLately(ctx context.Context, sw sensorWrite) ([]run.Run, error) {
	page, err := h.store.Runs(ctx, store.RunQuery{Pipeline: sw.entry.ID, Status: run.ValidationExhausted, Limit: closedPage})
	if err != nil {
		return nil, fmt.Errorf("list exhausted runs of %s: %w", sw.entry.ID, err)
	}
	return slices.DeleteFunc(page.Items, func(r run.Run) bool { return sw.At.Sub(r.EndedAt) > closedSince || r.Schedule != sw.entry.Opens }), nil
}

// runsOver lists the runs inside the period of the write, and the open and completed runs whose gate
// reads that period among several.
func (h *readingHandler) runsOver(ctx context.Context, sw sensorWrite) ([]run.Run, error) {
	runs, err := h.runsInside(ctx, sw.entry, sw.Period)
	if err != nil {
		return nil, err
	}
	open, err := h.store.OpenRuns(ctx, sw.entry.ID)
	if err != nil {
		return nil, fmt.Errorf("list open runs of %s: %w", sw.entry.ID, err)
	}
	completed, err := h.completedOver(ctx, sw)
	if err != nil {
		return nil, err
	}
	for _, one := range append(open, completed...) {
		same := func(r run.Run) bool { return r.Key == one.Key }
		if sw.sliceOf(one.Period) && !slices.ContainsFunc(runs, same) {
			runs = append(runs, one)
		}
	}
	return runs, nil
}

// completedOver lists the completed runs that may have read the write's period among several: those
// from that period on, as far as the longest range of the gate reaches back.
func (h *readingHandler) completedOver(ctx context.Context, sw sensorWrite) ([]run.Run, error) {
	zone := sw.entry.Schedule.Zone()
	end := sw.Period.End(zone)
	for _, ref := range sw.entry.Gate.Refs() {
		if ref.Over.Last > 0 && isOf(sw.entry.Definition, ref, sw.Change) {
			last := period.At(sw.Period.End(zone).Add(-time.Second), ref.Over.Size, zone)
			end = period.Later(end, sw.entry.Schedule.After(last, ref.Over.Last).End(zone))
		}
	}
	from := sw.Period.FirstDay().Outer(sw.entry.Schedule.Size())
	if from.IsZero() {
		from = sw.Period
	}
	return h.listRuns(ctx, sw.entry, store.RunQuery{
		Pipeline: sw.entry.ID, Status: run.Completed, From: from, To: period.At(end, period.Minute, zone), Limit: store.MaxPage,
	}, func(r run.Run) bool { return r.Schedule == sw.entry.Opens })
}

// sliceOf reports whether the write's period is, or contains, one of the periods that the gate of a
// run for p reads.
func (sw sensorWrite) sliceOf(p period.Period) bool {
	on := sw.entry.Schedule
	for _, ref := range sw.entry.Gate.Refs() {
		if ref.Over == (rule.Range{}) || !isOf(sw.entry.Definition, ref, sw.Change) {
			continue
		}
		if slices.ContainsFunc(gate.Slices(on, ref.Over, p), sw.Period.Holds) {
			return true
		}
	}
	return false
}

// runsInside lists the pipeline's own runs, and all open ones, inside a period.
func (h *readingHandler) runsInside(ctx context.Context, e *catalog.Entry, outer period.Period) ([]run.Run, error) {
	zone := e.Schedule.Zone()
	from := outer
	if outer.Size() > period.Week { // its first week may begin before it
		from = outer.FirstDay().Outer(period.Week)
	}
	q := store.RunQuery{
		Pipeline: e.ID, From: from, Limit: store.MaxPage,
		To: period.At(outer.End(zone).Add(-time.Second), period.Minute, zone),
	}
	return h.listRuns(ctx, e, q, func(r run.Run) bool {
		return outer.Holds(r.Period) && (r.Schedule == e.Opens || r.Status.Open())
	})
}

// listRuns lists the wanted runs among those that match q, from all its pages.
func (h *readingHandler) listRuns(ctx context.Context, e *catalog.Entry, q store.RunQuery, wanted func(run.Run) bool) ([]run.Run, error) {
	var all []run.Run
	for {
		page, err := h.store.Runs(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("list runs of %s from %s to %s: %w", e.ID, q.From, q.To, err)
		}
		for _, one := range page.Items {
			if wanted(one) {
				all = append(all, one)
			}
		}
		if page.Next == "" {
			return all, nil
		}
		q.Cursor = page.Next
	}
}

// handleWriteFor handles the write for one run, by its status. It wakes an attempt that may be
// about to end; if the attempt ends first, the write counts as after its end.
func (h *readingHandler) handleWriteFor(ctx context.Context, sw sensorWrite, old run.Run, now time.Time) error {
	key := old.Key
	old, err := h.wakeFor(ctx, sw, old, now)
	if err != nil {
		return err
	}
	switch old.Status {
	case "":
		return h.openFor(ctx, sw, key, now)
	case run.ValidationExhausted:
		if sw.gate || sw.start {
			return h.window.afterWindow(ctx, sw, key, now)
		}
		return nil
	case run.Completed:
		return h.late.afterCompletion(ctx, sw, key, now)
	default: // it is open, or only an operator reopens it
		return nil
	}
}

// wakeFor wakes an attempt if the write concerns it. It returns the run, which may have ended
// meanwhile.
func (h *readingHandler) wakeFor(ctx context.Context, sw sensorWrite, old run.Run, now time.Time) (run.Run, error) {
	key := old.Key
	err := store.Again(func() error {
		if !sw.wakes(old) {
			return nil
		}
		err := h.wake(ctx, old, now)
		if errors.Is(err, store.ErrConflict) {
			var unread error
			if old, unread = h.row(ctx, sw.entry, key); unread != nil {
				return unread
			}
		}
		return err
	})
	return old, err
}

// wakes reports whether a decision on an open attempt may depend on the write: whether its gate is
// open, or which inputs a job whose result is being stored has used.
func (sw sensorWrite) wakes(old run.Run) bool {
	switch old.Status {
	case run.Pending:
		return sw.gate || sw.post && sw.entry.DryRun // a dry run completes from here
	case run.Triggering, run.Running:
		return sw.changesInput(old.Period) || sw.gate && old.Repeats()
	default:
		return false
	}
}

// changesInput reports whether the write changes the input of the job of period p, so that it may
// be late data. An undated reading of the gate does not.
func (sw sensorWrite) changesInput(p period.Period) bool {
	return sw.Changed && (sw.start && sw.startsPeriod().Holds(p) || sw.gate && !sw.Period.IsZero())
}

// openFor opens a run that does not exist, if this write opens it.
func (h *readingHandler) openFor(ctx context.Context, sw sensorWrite, key run.Key, now time.Time) error {
	e, after := sw.entry, sw.upstream != nil && sw.entry.Start == nil
	o := order{
		asks: byReading, cause: run.CauseCondition, at: sw.At, causedBy: sw.cause(),
		message: fmt.Sprintf("sensor %s meets the start condition", sw.Sensor), recovered: sw.overlooked,
		entry: e, row: sw.row, run: run.Run{Key: key},
	}
	if after {
		o.asks, o.cause, o.at = byUpstream, run.CauseUpstream, time.Time{}
		o.message = fmt.Sprintf("%s was the last upstream to complete", sw.upstream.ID)
	}
	switch {
	case e.Opens != pipeline.ByStream, o.against().Rejection != "":
		return nil
	case after:
		return h.openAfter(ctx, o, now)
	case !sw.start || key.Period != sw.startsPeriod():
		return nil
	}
	w, err := h.written(ctx, sw.Change)
	if err != nil || w == nil || !e.Start.MetBy(w, key.Period, now) {
		return err
	}
	if over, err := h.window.startOver(ctx, sw, key, now); over || err != nil {
		return err
	}
	return h.openRun(ctx, o, now)
}

// written returns the reading of a change, even if a later one has replaced it. It returns nil if
// the reading no longer exists, is a deletion, or has been deleted since.
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
