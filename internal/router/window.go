package router

import (
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
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// windowClosed is the reason of data that came after the window.
const windowClosed = "window closed"

// windowHandler reacts to data for a run whose window is closed.
type windowHandler struct{ opener }

// afterWindow reacts to a write for a run whose window ended with the gate closed. New data that meets the start condition
// gives it another window; anything else that would open its gate only is told, with the command that starts it. Which
// of several writes it is called for does not matter.
func (h *windowHandler) afterWindow(ctx context.Context, n news, key run.Key, now time.Time) error {
	if n.row.Paused() {
		return nil
	}
	e := n.entry
	barred, err := h.barred(ctx, e, key)
	if err != nil || barred.why != "" {
		return err
	}
	return again(func() error {
		old, err := h.row(ctx, e, key)
		if err != nil || old.Status != run.ValidationExhausted {
			return err
		}
		end, err := h.ending(ctx, e, old)
		if err != nil || n.seenBy(end) {
			return err
		}
		if v := rerun.Reopen(old, now); v.Open && !startClosed(e, key, n.At) {
			if fresh, err := h.reopens(ctx, e, old, end, now); err != nil {
				return err
			} else if fresh {
				return h.reopen(ctx, n, old, v, now)
			}
		}
		return h.tellWindowClosed(ctx, n, old, now)
	})
}

// reopens says whether what opens the run holds, on data that is new since the last evaluation of its window.
func (h *windowHandler) reopens(ctx context.Context, e *catalog.Entry, old run.Run, end store.Snapshot, now time.Time) (bool, error) {
	if e.Start == nil && e.Opens != pipeline.ByStream {
		return false, nil
	}
	met, err := h.opensNow(ctx, e, old.Key, now)
	if err != nil || !met {
		return false, err
	}
	if e.Start == nil {
		return h.upstreamsNew(ctx, e, old, end, now)
	}
	return h.startNew(ctx, e, old, end)
}

// opensNow says whether what opens a run holds for a period.
func (h *windowHandler) opensNow(ctx context.Context, e *catalog.Entry, key run.Key, now time.Time) (bool, error) {
	if e.Start == nil {
		return h.upstreamsDone(ctx, e, key, now)
	}
	return h.startMet(ctx, e, key.Period, now)
}

// startNew says whether the start condition's sensor has brought other data for the run's period since the last evaluation of
// its window. Without a record of that, the instant of the write decides.
func (h *windowHandler) startNew(ctx context.Context, e *catalog.Entry, old run.Run, end store.Snapshot) (bool, error) {
	at := store.ReadingQuery{Pipeline: e.ID, Key: sensor.Key(e.Start.Rule.Key)}
	if e.Start.Rule.From != "" {
		at.Pipeline = pipeline.ID(e.Start.Rule.From)
	}
	writes, err := h.historySince(ctx, at, old.EndedAt)
	if err != nil {
		return false, err
	}
	for i, w := range writes {
		seen := end.HasRead(store.ReadVersion{Pipeline: at.Pipeline, Key: at.Key, Period: w.Period, Version: w.Version})
		if seen || w.Deleted || end.ID == "" && w.UpdatedAt.Before(old.EndedAt) {
			continue
		}
		if sliceOf(e, w).Holds(old.Period) && newInSlice(e, w, writes[i+1:]) {
			return true, nil
		}
	}
	return false, nil
}

func (h *windowHandler) reopen(ctx context.Context, n news, old run.Run, v rerun.Verdict, now time.Time) error {
	row, err := h.openable(ctx, n.entry.ID)
	if err != nil {
		return err
	}
	b := store.Batch{ID: nameOf("reopen", n.entry.DryRun, old.Key, old)}
	b.ExpectPipeline(n.entry.ID, row)
	o := order{cause: run.CauseReopened, from: v.At, until: waitsUntil(n.entry, old.Key), causedBy: n.cause(), message: "new data arrived after the window; " + v.Reason}
	if _, err := h.further(&b, n.entry, old, o, now); err != nil {
		return err
	}
	return h.commit(ctx, b, now)
}

// tellWindowClosed tells, once per attempt, of an exhausted run whose gate would be open now. Where something else was
// written since, that is what opened it, and tells of it if anybody does.
func (h *windowHandler) tellWindowClosed(ctx context.Context, n news, old run.Run, now time.Time) error {
	e := n.entry
	if e.DryRun {
		return nil
	}
	view, err := h.look(ctx, e, old.Period, now)
	if err != nil || !view.Open() || slices.ContainsFunc(view.Sensors, n.precedes) {
		return err
	}
	command := fmt.Sprintf("interlock rerun %s --date %s --reason WHY", e.ID, old.Period)
	if old.Attempt == 0 {
		command = fmt.Sprintf("interlock trigger %s --date %s", e.ID, old.Period)
	}
	about := event.Of(old, now)
	about.Which, about.CausedBy = windowClosed, n.cause()
	return h.tellOnce(ctx, fmt.Sprintf("window-closed/%s/%d", old.Key, old.Attempt), event.New(event.LateDataArrival, about,
		fmt.Sprintf("its gate would be open now, but its window is closed; `%s` starts it", command),
		event.Late{Sensors: holding(view, n), Reason: windowClosed}), now)
}

// holding lists the sensors of the rules that hold, and where there are none the one that was written.
func holding(view gate.View, n news) []string {
	var sensors []string
	for _, l := range view.Verdict.Leaves {
		if l.Outcome == rule.Pass {
			sensors = append(sensors, l.Rule.Key)
		}
	}
	if sensors == nil {
		sensors = []string{string(n.Sensor)}
	}
	return sensors
}

// startClosed says whether the deadline of the start condition had closed the automatic window of a run at that instant.
func startClosed(e *catalog.Entry, key run.Key, at time.Time) bool {
	return e.Start != nil && e.Start.Deadline != nil && !at.Before(sla.Close(*e.Start.Deadline, key.Period, e.Schedule))
}

// waitsUntil is when a run that cron opened stops waiting for its start condition, however long its window is; zero without such
// a deadline. One that the condition itself opened does not wait for it.
func waitsUntil(e *catalog.Entry, key run.Key) time.Time {
	if e.Opens != pipeline.ByCron || e.Start == nil || e.Start.Deadline == nil {
		return time.Time{}
	}
	return sla.Close(*e.Start.Deadline, key.Period, e.Schedule)
}

// startOver says whether the deadline of the start condition had passed when the write came. It then closes the run, as
// the watchdog would, and tells of the data that came too late.
func (h *windowHandler) startOver(ctx context.Context, n news, key run.Key, now time.Time) (bool, error) {
	e := n.entry
	if !startClosed(e, key, n.At) {
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
		old = run.Run{Key: key} // a period from before the pipeline's horizon: nobody expected it
	case old.Status != run.ValidationExhausted:
		return true, nil
	}
	return true, h.tellWindowClosed(ctx, n, old, now)
}

// CloseStart ends the automatic window of a period whose start condition was not met before its deadline: the run is
// VALIDATION_EXHAUSTED without an attempt, and only a person's trigger or rerun gives it one. It says whether it did;
// where there is a run, or the period is none of the pipeline's, it does nothing.
func (h *windowHandler) CloseStart(ctx context.Context, key run.Key, now time.Time) (bool, error) {
	e := h.catalog.Current().Get(key.Pipeline)
	if e == nil || e.Start == nil || e.Start.Deadline == nil || e.DryRun || key.Schedule != e.Opens {
		return false, nil
	}
	at := sla.Close(*e.Start.Deadline, key.Period, e.Schedule)
	if now.Before(at) || at.Before(e.Horizon) {
		return false, nil
	}
	if old, err := h.row(ctx, e, key); err != nil || old.Status != "" {
		return false, err
	}
	barred, err := h.barred(ctx, e, key)
	if err != nil {
		return false, err
	}
	if barred.why != "" {
		return false, h.exclude(ctx, key, barred, now)
	}
	return h.closeStart(ctx, e, key, at, now)
}

func (h *windowHandler) closeStart(ctx context.Context, e *catalog.Entry, key run.Key, at, now time.Time) (bool, error) {
	closed, err := run.Closed(key, now)
	if err != nil {
		return false, err
	}
	b := store.Batch{ID: "close-start/" + key.String()}
	b.Create(closed)
	message := fmt.Sprintf("the start condition was not met before %s; `interlock trigger %s --date %s` runs it", period.Stamp(at), e.ID, key.Period)
	about := event.Of(closed, now)
	about.Critical = e.SLA.Critical
	b.Emit(event.New(event.SensorDeadlineExpired, about, message, event.Deadline{Deadline: at}))
	err = h.commit(ctx, b, now)
	if errors.Is(err, store.ErrConflict) {
		return false, nil // there is a run after all
	}
	return err == nil, err
}
