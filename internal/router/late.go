package router

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// The reasons of late data: what follows.
const (
	lateRerun   = "rerun"        // another attempt
	lateReport  = "report"       // nothing but the event
	budgetSpent = "budget spent" // no attempt, because the budget is used up
)

// lateHandler reacts to inputs that changed after the job of a completed run had started: it
// reports them, and opens another attempt if the file says so.
type lateHandler struct{ opener }

// afterCompletion handles a write for a period whose run has completed.
func (h *lateHandler) afterCompletion(ctx context.Context, sw sensorWrite, key run.Key, now time.Time) error {
	in := input{cause: sw.cause(), held: sw.row.Paused(), wanted: sw.isSensor, counts: sw.until}
	switch {
	case sw.upstream != nil:
		in.upstream, in.counts = true, gate.IsUpstream
	case sw.entry.LateData == pipeline.LateIgnore:
		return nil
	case sw.start && sw.startsPeriod().Holds(key.Period):
		met, err := h.startMet(ctx, sw.entry, key.Period, now)
		if err != nil {
			return err
		}
		if met && sw.entry.AfterLate(true) == pipeline.LateRerun {
			in.announced, in.wanted = true, everySensor
		}
	case sw.gate && !sw.Period.IsZero():
		if sw.entry.AfterLate(false) == pipeline.LateRerun {
			in.wanted = sw.isInput
		}
	default:
		return nil
	}
	return h.judge(ctx, sw.entry, key, in, now)
}

// isSensor reports whether a sensor is the written one.
func (sw sensorWrite) isSensor(id pipeline.ID, key sensor.Key) bool {
	return id == sw.Pipeline && key == sw.Sensor
}

// isInput reports whether a sensor is the written one, or that of the start condition, without
// which no attempt opens.
func (sw sensorWrite) isInput(id pipeline.ID, key sensor.Key) bool {
	if sw.entry.Start == nil || sw.isSensor(id, key) {
		return sw.isSensor(id, key)
	}
	of, start := sw.entry.StartSensor()
	return id == of && key == start
}

func everySensor(_ pipeline.ID, key sensor.Key) bool { return !key.Engine() }

// until reports whether a sensor shows this write or an earlier one. Later writes are handled by
// their own changes.
func (sw sensorWrite) until(s store.SeenSensor) bool {
	return !gate.IsUpstream(s) && s.Version <= sw.Version
}

// precedes reports whether a sensor shows something later than this write.
func (sw sensorWrite) precedes(s store.SeenSensor) bool {
	if gate.IsUpstream(s) {
		return s.UpdatedAt.After(sw.At) // the versions of a run and a reading cannot be compared
	}
	return s.Version > sw.Version
}

// seenBy reports whether a decision on s has read the write. For upstreams it reads their runs, not
// the readings that announce them.
func (sw sensorWrite) seenBy(s store.Snapshot) bool {
	return sw.upstream == nil && s.HasRead(store.ReadVersion{Pipeline: sw.Pipeline, Key: sw.Sensor, Period: sw.Period, Version: sw.Version})
}

// input says which inputs of a completed run to compare with those on which its job started.
type input struct {
	cause  string
	wanted func(pipeline.ID, sensor.Key) bool
	counts func(store.SeenSensor) bool

	attempt   int  // if not 0, those that changed before this attempt ended
	upstream  bool // an upstream has completed again
	announced bool // a write meets the start condition: other inputs that have changed count with it
	held      bool // the pipeline is paused: the end of the pause opens the attempt
}

// whileRunning is the input that changed before an attempt ended.
func whileRunning(e *catalog.Entry, ended run.Run, held bool) input {
	return input{
		cause: "run/" + string(ended.ID()), attempt: ended.Attempt, held: held, counts: func(store.SeenSensor) bool { return true },
		wanted: func(_ pipeline.ID, key sensor.Key) bool { return key.Engine() || e.LateData != pipeline.LateIgnore },
	}
}

// judge compares inputs of a completed run with those on which its job started, reports those that
// differ, and opens another attempt if the file and the budget allow it. It is called for each write
// that may be late, and once at completion for changes while the job ran. Each sensor is reported
// once per attempt, which the ids of the events ensure.
func (h *lateHandler) judge(ctx context.Context, e *catalog.Entry, key run.Key, in input, now time.Time) error {
	return store.Again(func() error {
		old, err := h.row(ctx, e, key)
		if err != nil || old.Status != run.Completed || in.attempt != 0 && in.attempt != old.Attempt {
			return err
		}
		all, err := h.changedSince(ctx, e, old, in, now)
		if err != nil || len(all) == 0 {
			return err
		}
		if barred, err := h.barred(ctx, e, key); err != nil || barred != "" {
			return err
		}
		found := lateData{entry: e, run: old, input: in, all: all, downstream: h.downstream(e.ID), now: now}
		if e.DryRun {
			return h.reportDry(ctx, found)
		}
		return h.react(ctx, found)
	})
}

// changedSince lists the inputs of a completed run whose data differs from the start of its job.
// Without a stored snapshot of the start nothing can be compared, and the list is empty.
func (h *lateHandler) changedSince(ctx context.Context, e *catalog.Entry, old run.Run, in input, now time.Time) ([]gate.Late, error) {
	start, err := h.snapshot(ctx, old.Progress.Snapshot)
	if err != nil || start.ID == "" {
		return nil, err
	}
	q := h.question(e, old.Period)
	if !in.upstream { // the attempt may have run with an earlier version of the file
		if q.Definition, _, err = h.catalog.Shown(ctx, old, e.Definition); err != nil {
			return nil, err
		}
	}
	sensors, err := gate.Inputs(ctx, h.store, q, in.wanted)
	if err != nil {
		return nil, err
	}
	asAtEnd, err := h.asAtEnd(ctx, e, old, in)
	if err != nil {
		return nil, err
	}
	for i, s := range sensors {
		if s.Version != 0 && (!in.counts(s) || !asAtEnd(s) || h.probed(s) || ofOther(e, s, old.Period)) {
			sensors[i] = store.SeenSensor{}
		}
	}
	all := slices.DeleteFunc(gate.LateInputs(q.Definition, start, sensors), in.unused)
	return h.byOthers(ctx, old, all)
}

// unused reports whether the run cannot have used the sensor: it had no reading at the start. The
// first one counts all the same if it meets the start condition, or is announced by such a reading.
func (in input) unused(l gate.Late) bool {
	return l.First && !l.Key.Engine() && !in.announced && (!l.Start || l.Unmet)
}

// asAtEnd returns a function that reports whether a sensor shows the same data as when the attempt
// ended, if only changes before that count. Later writes are handled by their own changes.
func (h *lateHandler) asAtEnd(ctx context.Context, e *catalog.Entry, old run.Run, in input) (func(store.SeenSensor) bool, error) {
	if in.attempt == 0 {
		return func(store.SeenSensor) bool { return true }, nil
	}
	end, err := h.ending(ctx, e, old)
	return func(s store.SeenSensor) bool {
		return slices.ContainsFunc(end.Sensors, func(then store.SeenSensor) bool {
			return then.Pipeline == s.Pipeline && then.Key == s.Key && then.Start == s.Start && then.Content == s.Content
		})
	}, err
}

// probed reports whether a probe writes the sensor. Its readings are observations, not new data.
func (h *lateHandler) probed(s store.SeenSensor) bool {
	return h.catalog.Current().Probe(s.Pipeline, s.Key) != nil
}

// ofOther reports whether an undated reading of the start condition was written in another period.
func ofOther(e *catalog.Entry, s store.SeenSensor, p period.Period) bool {
	return s.Start && s.Period.IsZero() && !e.Schedule.PeriodAt(s.UpdatedAt).Holds(p)
}

// byOthers drops the inputs that the attempt itself has written: they are its results.
func (h *lateHandler) byOthers(ctx context.Context, old run.Run, all []gate.Late) ([]gate.Late, error) {
	var queries []store.ReadingQuery
	for _, l := range all {
		queries = append(queries, store.ReadingQuery{Pipeline: l.Pipeline, Key: l.Key, Period: l.Period})
	}
	if len(queries) == 0 {
		return nil, nil
	}
	answers, err := h.store.Readings(ctx, queries)
	if err != nil {
		return nil, fmt.Errorf("read the late data of %s: %w", old.ID(), err)
	}
	var others []gate.Late
	for i, l := range all {
		own := func(r *sensor.Reading) bool { return r != nil && r.Version == l.Version && old.ID().Wrote(r.Source) }
		if !slices.ContainsFunc(answers[i], own) {
			others = append(others, l)
		}
	}
	return others, nil
}

// react reports late data, and opens another attempt for it if one is wanted.
func (h *lateHandler) react(ctx context.Context, found lateData) error {
	if !found.wantsRerun() {
		return h.report(ctx, found, "")
	}
	later := found.held
	if !later && found.rerunCause() == run.CauseUpstream {
		// With an incomplete upstream the attempt would only wait; the upstream's completion
		// triggers this again.
		done, err := h.upstreamsDone(ctx, found.entry, found.run.Key, found.now)
		if err != nil {
			return err
		}
		later = !done
	}
	if later {
		found.all = slices.DeleteFunc(found.all, found.wants)
		return h.report(ctx, found, "")
	}
	return h.rerunLate(ctx, found)
}

// rerunLate opens another attempt for late data, or reports that its budget is used up.
func (h *lateHandler) rerunLate(ctx context.Context, found lateData) error {
	o := order{asks: byLateData, cause: found.rerunCause(), causedBy: found.cause, entry: found.entry, run: found.run}
	v, err := h.permit(ctx, &o, found.now)
	if err != nil {
		return err
	}
	if !v.Open {
		return h.report(ctx, found, v.Reason)
	}
	var events []event.Event
	for _, l := range found.all {
		events = append(events, found.event(l, lateRerun, v.Reason))
	}
	if more := len(events) - maxTogether; more > 0 { // they do not fit into the commit of the attempt
		if err := h.emit(ctx, found, events[maxTogether:]); err != nil {
			return err
		}
		events = events[:maxTogether]
	}
	b := store.Batch{ID: name("late", o.run)}
	b.Emit(events...)
	return h.carryOut(ctx, b, o, found.now)
}

// report reports late data that opens no attempt. spent is why its budget allows none; "" if none is
// wanted.
func (h *lateHandler) report(ctx context.Context, found lateData, spent string) error {
	var events []event.Event
	for _, l := range found.all {
		why, follows := found.noRerun(l, spent)
		events = append(events, found.event(l, why, follows))
	}
	return h.emit(ctx, found, events)
}

// maxTogether is how many events are emitted in one commit: a store limits its size.
const maxTogether = 50

// emit emits events about late data. Events that were emitted before are skipped by their ids.
func (h *lateHandler) emit(ctx context.Context, found lateData, events []event.Event) error {
	for chunk := range slices.Chunk(events, maxTogether) {
		ids := sha256.New()
		for _, e := range chunk {
			ids.Write([]byte(e.ID))
		}
		b := store.Batch{ID: fmt.Sprintf("late-report/%s/%x", found.run.ID(), ids.Sum(nil)[:16])}
		b.Emit(chunk...)
		if err := h.commit(ctx, b, found.now); err != nil {
			return err
		}
	}
	return nil
}
