package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// windowClosed is the reason of data that arrived after the window.
const windowClosed = "window closed"

// windowHandler handles data for a run whose window is closed.
type windowHandler struct{ opener }

// afterWindow handles a write for a run whose window ended with the gate closed. New data that
// meets the start condition opens another window. Other data that would open its gate is only
// reported, with the command that starts the run. It does not depend on which of several writes
// triggered it.
func (h *windowHandler) afterWindow(ctx context.Context, sw sensorWrite, key run.Key, now time.Time) error {
	if sw.row.Paused() {
		return nil
	}
	e := sw.entry
	barred, err := h.barred(ctx, e, key)
	if err != nil || barred != "" {
		return err
	}
	return store.Again(func() error {
		old, err := h.row(ctx, e, key)
		if err != nil || old.Status != run.ValidationExhausted {
			return err
		}
		end, err := h.ending(ctx, e, old)
		if err != nil || sw.seenBy(end) {
			return err
		}
		o := order{asks: byReopening, cause: run.CauseReopened, causedBy: sw.cause(), entry: e, run: old}
		if v := o.allowed(now); v.Open && !startClosed(e, key, sw.At) {
			o.message = "new data arrived after the window; " + v.Reason
			if fresh, err := h.reopens(ctx, e, old, end, now); err != nil {
				return err
			} else if fresh {
				if _, err := h.permit(ctx, &o, now); err != nil {
					return err
				}
				return h.carryOut(ctx, store.Batch{ID: name("reopen", old)}, o, now)
			}
		}
		return h.reportWindowClosed(ctx, sw, old, end, now)
	})
}

// reopens reports whether the condition that opens the run is met by data that is new since the
// last evaluation of its window.
func (h *windowHandler) reopens(ctx context.Context, e *catalog.Entry, old run.Run, end store.Snapshot, now time.Time) (bool, error) {
	switch {
	case e.Start != nil:
		if met, err := h.startMet(ctx, e, old.Period, now); err != nil || !met {
			return false, err
		}
		return h.startNew(ctx, e, old, end)
	case e.Opens == pipeline.ByStream:
		if done, err := h.upstreamsDone(ctx, e, old.Key, now); err != nil || !done {
			return false, err
		}
		return h.upstreamsNew(ctx, e, old, end, now)
	}
	return false, nil
}

// startNew reports whether the start condition's sensor has new data for the run's period since the
// last evaluation of its window. Without a snapshot of that evaluation it compares times.
func (h *windowHandler) startNew(ctx context.Context, e *catalog.Entry, old run.Run, end store.Snapshot) (bool, error) {
	var at store.ReadingQuery
	at.Pipeline, at.Key = e.StartSensor()
	writes, err := h.historySince(ctx, at, old.EndedAt)
	if err != nil {
		return false, err
	}
	for i, w := range writes {
		seen := end.HasRead(store.ReadVersion{Pipeline: at.Pipeline, Key: at.Key, Period: w.Period, Version: w.Version})
		if seen || w.Deleted || end.ID == "" && w.UpdatedAt.Before(old.EndedAt) {
			continue
		}
		if e.PeriodOf(w).Holds(old.Period) && newInSlice(e, w, writes[i+1:]) {
			return true, nil
		}
	}
	return false, nil
}

// reportWindowClosed reports, once per attempt, an exhausted run whose gate would be open now. If
// there is a later write, that write opened the gate, and its own change reports it. end is the
// last evaluation of the window; the zero Snapshot if there was none.
func (h *windowHandler) reportWindowClosed(ctx context.Context, sw sensorWrite, old run.Run, end store.Snapshot, now time.Time) error {
	e := sw.entry
	if e.DryRun {
		return nil
	}
	view, err := h.evaluate(ctx, e, nil, old.Period, now)
	if err != nil || !view.Open() || slices.ContainsFunc(view.Sensors, sw.precedes) {
		return err
	}
	command, aside := fmt.Sprintf("interlock rerun %s --date %s --reason WHY", e.ID, old.Period), ""
	if budget := rerun.BudgetOf(e.Job, old, run.CauseManual); old.Attempt == 0 {
		command = fmt.Sprintf("interlock trigger %s --date %s", e.ID, old.Period)
	} else if budget.Used >= budget.Max {
		command = fmt.Sprintf("interlock rerun %s --date %s --force --reason WHY", e.ID, old.Period)
		aside = fmt.Sprintf(" (%s: %d used up)", budget.Key, budget.Max)
	}
	if old.MayHaveJob() {
		aside += fmt.Sprintf("; the job of attempt %d may still be running", old.Attempt)
	}
	about := event.Of(old, now)
	about.Which, about.CausedBy = windowClosed, sw.cause()
	return h.emitOnce(ctx, fmt.Sprintf("window-closed/%s/%d", old.Key, old.Attempt), event.New(event.LateDataArrival, about,
		fmt.Sprintf("its gate would be open now, but its window is closed; `%s` starts it%s", command, aside),
		event.Late{
			Sensors: sw.changed(end, view), Reason: windowClosed, Pipeline: sw.Pipeline, Period: cmp.Or(sw.Period, old.Period), Key: string(sw.Sensor),
			Was: map[string]any{}, Now: map[string]any{}, Downstream: h.downstream(e.ID),
		}), now)
}

// changed lists the sensors whose data differs from that of the last evaluation; the written sensor
// if there was none.
func (sw sensorWrite) changed(end store.Snapshot, view gate.View) []string {
	if changed := rerun.Changed(gate.Compared(end.Sensors), gate.Compared(view.Sensors)); end.ID != "" && len(changed) > 0 {
		return changed
	}
	return []string{fmt.Sprintf("%s/%s", sw.Pipeline, sw.Sensor)}
}

// startClosed reports whether the deadline of the start condition had closed the automatic window
// of a run at that instant.
func startClosed(e *catalog.Entry, key run.Key, at time.Time) bool {
	end := e.StartCloses(key.Period)
	return !end.IsZero() && !at.Before(end)
}

// startOver reports whether the deadline of the start condition had passed when the write came. If
// so, it closes the run, as the watchdog would, and reports the late data.
func (h *windowHandler) startOver(ctx context.Context, sw sensorWrite, key run.Key, now time.Time) (bool, error) {
	e := sw.entry
	if !startClosed(e, key, sw.At) {
		return false, nil
	}
	if _, err := h.CloseStart(ctx, key, now); err != nil {
		return true, err
	}
	old, err := h.row(ctx, e, key)
	switch {
	case err != nil:
		return true, err
	case old.Status == "":
		old = run.Run{Key: key} // a period before the pipeline's horizon, which was not expected
	case old.Status != run.ValidationExhausted:
		return true, nil
	}
	return true, h.reportWindowClosed(ctx, sw, old, store.Snapshot{}, now)
}

// CloseStart ends the automatic window of a period whose start condition was not met before its
// deadline: the run becomes VALIDATION_EXHAUSTED without an attempt, and only an operator's trigger
// or rerun opens one. It reports whether it did. It does nothing if there is a run, or the period
// is not one of the pipeline's.
func (h *windowHandler) CloseStart(ctx context.Context, key run.Key, now time.Time) (bool, error) {
	e := h.catalog.Current().Get(key.Pipeline)
	if e == nil || e.DryRun || key.Schedule != e.Opens {
		return false, nil
	}
	at := e.StartCloses(key.Period)
	if at.IsZero() || now.Before(at) || at.Before(e.Horizon) {
		return false, nil
	}
	if old, err := h.row(ctx, e, key); err != nil || old.Status != "" {
		return false, err
	}
	barred, err := h.barred(ctx, e, key)
	if err != nil {
		return false, err
	}
	if barred != "" {
		return false, h.exclude(ctx, key, barred, now)
	}
	return h.closeStart(ctx, e, key, at, now)
}

func (h *windowHandler) closeStart(ctx context.Context, e *catalog.Entry, key run.Key, at, now time.Time) (bool, error) {
	closed, err := run.Closed(key, now)
	if err != nil {
		return false, err
	}
	b := store.Batch{ID: fmt.Sprintf("close-start/%s/%d", key, now.UnixNano())}
	b.Create(closed)
	unmet, err := h.evaluate(ctx, e, e.Start.Gate, key.Period, now)
	if err != nil {
		return false, err
	}
	message := fmt.Sprintf("the start condition was not met before %s%s; `interlock trigger %s --date %s` runs it", period.Stamp(at), unmet.Unmet(now), e.ID, key.Period)
	about := event.Of(closed, now)
	about.Critical = e.SLA.Critical
	b.Emit(event.New(event.SensorDeadlineExpired, about, message, event.Deadline{Deadline: at}))
	err = h.commit(ctx, b, now)
	if errors.Is(err, store.ErrConflict) {
		return false, nil // the run exists by now
	}
	return err == nil, err
}
