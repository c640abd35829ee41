package awslambda

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// WatchRequest is the payload of the watchdog. Without a mode it is the call of a whole round.
type WatchRequest struct {
	Mode string `json:"mode"`
}

// Pulse is the mode of the call that comes every minute.
const Pulse = "pulse"

// late is how long after its time work is still not late: Scheduler calls up to a minute after the
// instant of a schedule.
const late = time.Minute

// stuck is how long after its time an attempt was already late at an earlier pulse. One call that the
// orchestrator does not answer is no reason to report attempts that no pulse has relayed yet.
const stuck = 2*late + late/2

// PulseReply is what one pulse measured and did.
type PulseReply struct {
	Oldest   float64 `json:"oldestSeconds"` // age of the oldest due work
	Relayed  int     `json:"relayed"`
	Answered bool    `json:"orchestratorAnswers"`
}

// Call answers one call of the watchdog.
func (w *Watch) Call(ctx context.Context, in WatchRequest) (any, error) {
	if in.Mode == Pulse {
		return w.Pulse(ctx)
	}
	return w.Round(ctx)
}

// Pulse measures the age of the oldest work that is due and was not carried out, whichever function
// should have done it, and has late work carried out. CloudWatch raises an alarm if the age is too
// high, and if there is no measurement.
func (w *Watch) Pulse(ctx context.Context) (PulseReply, error) {
	oldest, err := w.oldest(ctx)
	if err != nil {
		return PulseReply{}, err
	}
	w.Meter.Gauge(metricOldest, oldest.Seconds(), seconds)
	out := PulseReply{Oldest: oldest.Seconds(), Answered: true}
	if oldest < late {
		return out, nil
	}
	if err := w.files.refresh(ctx, w.Host); err != nil { // the function may have just started
		return out, err
	}
	tasks, answered, err := w.relayOverdue(ctx)
	outboxes, unpublished := w.publishOverdue(ctx)
	out.Relayed, out.Answered = tasks+outboxes, answered
	return out, errors.Join(err, unpublished)
}

// others are the kinds of tasks that Scheduler waits for. The watchdog itself runs probes.
func (w *Watch) others() []store.TaskKind {
	return slices.DeleteFunc(w.controller.Kinds(), func(kind store.TaskKind) bool { return kind == store.RunProbe })
}

// relayed are the kinds of tasks that the watchdog relays if they are late.
func (w *Watch) relayed() []store.TaskKind {
	return append([]store.TaskKind{store.Advance}, w.others()...)
}

// oldest returns the age of the oldest step, task or event that no function has carried out; 0 if
// nothing is due. That of a task that Scheduler waits for begins with the minute of its schedule.
func (w *Watch) oldest(ctx context.Context) (time.Duration, error) {
	now := w.Now()
	step, err := w.Store.NextDue(ctx, store.ClaimQuery{Replica: replica, Kinds: []store.TaskKind{store.Advance}})
	if err != nil {
		return 0, err
	}
	timer, err := w.Store.NextDue(ctx, store.ClaimQuery{Replica: replica, Kinds: w.others()})
	if err != nil {
		return 0, err
	}
	outboxes, err := w.Streams.Outboxes(ctx, now, 1)
	if err != nil {
		return 0, err
	}
	var age time.Duration
	if !timer.IsZero() {
		timer = minuteOf(timer)
	}
	for _, at := range []time.Time{step, timer} {
		if !at.IsZero() {
			age = max(age, now.Sub(at))
		}
	}
	if len(outboxes) > 0 {
		age = max(age, now.Sub(outboxes[0].At))
	}
	return age, nil
}

// relayOverdue relays the tasks that are late: their stream record was lost, or the function that
// handled it died. If one cannot be relayed, the others still are.
//
// While the orchestrator does not answer, it relays no attempt, because an execution would only
// fail, too. The execution cannot report that, so relayOverdue does once the attempt is stuck.
func (w *Watch) relayOverdue(ctx context.Context) (relayed int, answered bool, err error) {
	overdue, err := w.Store.Overdue(ctx, w.Now().Add(-late), store.MaxPage, w.relayed()...)
	if err != nil {
		return 0, true, err
	}
	silent := w.ping(ctx, overdue)
	var errs []error
	for _, t := range overdue {
		switch {
		case t.Kind == store.Advance && silent != nil && w.Now().Sub(t.Ready()) < stuck:
		case t.Kind == store.Advance && silent != nil:
			errs = append(errs, w.reportSilent(ctx, t, silent))
		default:
			relayed++
			errs = append(errs, w.task(ctx, t.ID, true))
		}
	}
	return relayed, silent == nil, errors.Join(errs...)
}

// ping calls the orchestrator if an attempt waits for it, and returns why it does not answer.
func (w *Watch) ping(ctx context.Context, overdue []store.Task) error {
	for _, t := range overdue {
		if t.Kind != store.Advance {
			continue
		}
		in, err := json.Marshal(OrchestratorRequest{Mode: Ping})
		if err != nil {
			return err
		}
		_, err = w.Invoker.Call(ctx, w.Settings.Orchestrator, in)
		if err != nil {
			w.Logger.Error("the orchestrator does not answer", slog.Any("error", err))
		}
		return err
	}
	return nil
}

// reportSilent emits INFRA_FAILURE, once for each attempt that waits for the orchestrator.
func (w *Watch) reportSilent(ctx context.Context, t store.Task, cause error) error {
	r, err := store.IfFound(w.Store.Run(ctx, t.Key))
	if err != nil || r.Status == "" {
		return err
	}
	_, err = w.controller.Steps.Broken(ctx, t.Key, r.Attempt, "the orchestrator", cause.Error(), w.Now())
	return err
}

// publishOverdue publishes the events that are late.
func (w *Watch) publishOverdue(ctx context.Context) (int, error) {
	overdue, err := w.Streams.Outboxes(ctx, w.Now().Add(-late), store.MaxPage)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, o := range overdue {
		errs = append(errs, w.publish(ctx, o))
	}
	return len(overdue), errors.Join(errs...)
}
