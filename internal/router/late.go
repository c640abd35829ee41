package router

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// budgetSpent is the reason of late data that opens no attempt.
const budgetSpent = "budget spent"

// lateHandler opens another attempt for data that arrived after the job of a completed run had
// started.
type lateHandler struct {
	opener
	dry dryHandler
}

// afterCompletion handles a write for a period whose run has completed. The write may be late data
// if it meets the start condition, announces an upstream's run, or was made before the end but not
// read by the completion.
func (h *lateHandler) afterCompletion(ctx context.Context, sw sensorWrite, key run.Key, now time.Time) error {
	switch {
	case sw.row.Paused():
		return nil
	case sw.upstream != nil:
		return h.rerunIfNew(ctx, sw.entry, key, input{cause: sw.cause(), counts: gate.IsUpstream}, now)
	case sw.start && sw.startsPeriod().Holds(key.Period):
		met, err := h.startMet(ctx, sw.entry, key.Period, now)
		if err != nil || !met {
			return err
		}
		return h.rerunIfNew(ctx, sw.entry, key, input{cause: sw.cause(), counts: sw.until}, now)
	case sw.gate && !sw.Period.IsZero():
		unseen, err := h.missedByTheEnd(ctx, sw, key)
		if err != nil || !unseen {
			return err
		}
		return h.rerunIfNew(ctx, sw.entry, key, input{cause: sw.cause(), counts: sw.until}, now)
	}
	return nil
}

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

// missedByTheEnd reports whether a write is dated before the end of the run, but stored after the
// completion had read its inputs.
func (h *lateHandler) missedByTheEnd(ctx context.Context, sw sensorWrite, key run.Key) (bool, error) {
	old, err := h.row(ctx, sw.entry, key)
	if err != nil || sw.At.After(old.EndedAt) {
		return false, err
	}
	end, err := h.ending(ctx, sw.entry, old)
	return !sw.seenBy(end), err
}

// seenBy reports whether a decision on s has read the write. For upstreams it reads their runs, not
// the readings that announce them.
func (sw sensorWrite) seenBy(s store.Snapshot) bool {
	return sw.upstream == nil && s.HasRead(store.ReadVersion{Pipeline: sw.Pipeline, Key: sw.Sensor, Period: sw.Period, Version: sw.Version})
}

// input describes possible late data: its cause, and which inputs of the run count. These are the
// current readings or, if attempt is set, the readings when that attempt ended.
type input struct {
	cause   string
	counts  func(store.SeenSensor) bool
	attempt int
}

// whileRunning is the input that changed before an attempt ended.
func whileRunning(ended run.Run) input {
	return input{cause: "run/" + string(ended.ID()), counts: func(store.SeenSensor) bool { return true }, attempt: ended.Attempt}
}

// rerunIfNew compares the inputs of a completed run at its start with its inputs now, and opens
// another attempt for new data, if the budget allows it. It is called for each write that may be
// late, and once at completion for changes while the job ran.
func (h *lateHandler) rerunIfNew(ctx context.Context, e *catalog.Entry, key run.Key, in input, now time.Time) error {
	return store.Again(func() error {
		old, err := h.row(ctx, e, key)
		if err != nil || old.Status != run.Completed || in.attempt != 0 && in.attempt != old.Attempt {
			return err
		}
		changed, err := h.changedSince(ctx, e, old, in, now)
		if err != nil || len(changed) == 0 {
			return err
		}
		barred, err := h.barred(ctx, e, key)
		if err != nil || barred != "" {
			return err
		}
		if e.DryRun {
			return h.dry.reportDryLate(ctx, old, changed, in.cause, now)
		}
		return h.rerunLate(ctx, e, old, names(changed), in.cause, now)
	})
}

// rerunLate opens another attempt for late data, or reports once that its budget is used up.
func (h *lateHandler) rerunLate(ctx context.Context, e *catalog.Entry, old run.Run, changed []string, causedBy string, now time.Time) error {
	cause := lateCause(changed)
	if cause == run.CauseUpstream {
		// With an incomplete upstream the attempt would only wait; the upstream's completion
		// triggers this again.
		if done, err := h.upstreamsDone(ctx, e, old.Key, now); err != nil || !done {
			return err
		}
	}
	row, err := h.openable(ctx, e)
	if err != nil {
		return err
	}
	v := rerun.Next(old, cause, rerun.BudgetOf(e.Job, old, cause), now)
	if !v.Open {
		return h.reportSpent(ctx, old, changed, v.Reason, causedBy, now)
	}
	b := store.Batch{ID: name("late", old)}
	b.ExpectPipeline(e.ID, row)
	about := event.Of(old, now)
	about.CausedBy = causedBy
	message := fmt.Sprintf("%s changed after the job of attempt %d started; %s", strings.Join(changed, ", "), old.Attempt, v.Reason)
	b.Emit(event.New(event.LateDataArrival, about, message, event.Late{Sensors: changed, Reason: "rerun"}))
	o := order{cause: cause, from: v.At, causedBy: causedBy, message: v.Reason}
	if _, err := h.further(&b, e, old, o, now); err != nil {
		return err
	}
	return h.commit(ctx, b, now)
}

// reportSpent reports late data that opens no attempt, and why, once per attempt rather than per
// write.
func (h *lateHandler) reportSpent(ctx context.Context, old run.Run, changed []string, why, causedBy string, now time.Time) error {
	about := event.Of(old, now)
	about.Which, about.CausedBy = budgetSpent, causedBy
	message := fmt.Sprintf("%s changed after the job of attempt %d started; no rerun follows (%s)", strings.Join(changed, ", "), old.Attempt, why)
	return h.emitOnce(ctx, fmt.Sprintf("late-spent/%s/%d", old.Key, old.Attempt),
		event.New(event.LateDataArrival, about, message, event.Late{Sensors: changed, Reason: budgetSpent}), now)
}

// lateCause returns CauseUpstream if only upstreams changed. Both causes use the same budget.
func lateCause(changed []string) run.Cause {
	for _, s := range changed {
		if _, key, _ := strings.Cut(s, "/"); !sensor.Key(key).Engine() {
			return run.CauseLateData
		}
	}
	return run.CauseUpstream
}

// changedSince lists the inputs of a completed run whose data differs from the start of its job.
// Without a stored snapshot of the start nothing can be compared, and the list is empty.
func (h *lateHandler) changedSince(ctx context.Context, e *catalog.Entry, old run.Run, in input, now time.Time) ([]rerun.Seen, error) {
	start, err := h.snapshot(ctx, old.Progress.Snapshot)
	if err != nil || start.ID == "" {
		return nil, err
	}
	sensors, err := h.shown(ctx, e, old, in, now)
	if err != nil {
		return nil, err
	}
	current := gate.Compared(slices.DeleteFunc(ofPeriod(sensors), func(s store.SeenSensor) bool {
		return !in.counts(s) || h.probed(s) || addedSince(start, s)
	}))
	changed := rerun.Changed(gate.Compared(start.Sensors), current)
	return slices.DeleteFunc(current, func(s rerun.Seen) bool { return !slices.Contains(changed, s.Sensor) }), nil
}

// shown returns the inputs of a completed run, now or when it ended.
func (h *lateHandler) shown(ctx context.Context, e *catalog.Entry, old run.Run, in input, now time.Time) ([]store.SeenSensor, error) {
	if in.attempt != 0 {
		end, err := h.ending(ctx, e, old)
		return end.Sensors, err
	}
	view, err := h.evaluate(ctx, e, nil, old.Period, now)
	return view.Sensors, err
}

// probed reports whether a probe writes the sensor. Its readings are observations, not new data.
func (h *lateHandler) probed(s store.SeenSensor) bool {
	return h.catalog.Current().Probe(s.Pipeline, s.Key) != nil
}

// addedSince reports whether the attempt that began with start did not read the sensor at all: an
// edit has added it since the attempt opened. Its data need not have changed.
func addedSince(start store.Snapshot, s store.SeenSensor) bool {
	return !gate.IsUpstream(s) && !slices.ContainsFunc(start.Sensors, func(then store.SeenSensor) bool {
		return then.Pipeline == s.Pipeline && then.Key == s.Key
	})
}

// names returns the names of the sensors, each once.
func names(seen []rerun.Seen) []string {
	var all []string
	for _, s := range seen {
		all = append(all, s.Sensor)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ofPeriod drops inputs that are not data of the run's own period: undated readings, which change
// all the time and apply to every period, and upstreams that are not COMPLETED, whose data is yet
// to come.
func ofPeriod(sensors []store.SeenSensor) []store.SeenSensor {
	var own []store.SeenSensor
	for _, s := range sensors {
		if s.Period.IsZero() && !s.Start {
			continue
		}
		if gate.IsUpstream(s) && s.Fields["status"] != string(run.Completed) {
			continue
		}
		own = append(own, s)
	}
	return own
}
