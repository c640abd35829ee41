package awslambda

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/slamonitor"
	"github.com/interlock-go/interlock/internal/store"
)

// The modes of the sla-monitor.
const (
	ScheduleAlerts = "schedule"   // see to it that the entries of a run's deadlines are there
	CancelAlerts   = "cancel"     // take back those of deadlines that are closed
	FireAlert      = "fire-alert" // an instant has come
	Calculate      = "calculate"  // what the instants of a period are
	Reconcile      = "reconcile"  // arm what should be
)

// slaModes are the kinds of tasks that are the sla-monitor's when they are due, and how it is asked for them.
var slaModes = map[store.TaskKind]string{store.FireDeadline: FireAlert, store.Arm: Reconcile}

// SLARequest is what the sla-monitor is called with: by the state machine about a run, by Scheduler about a task.
type SLARequest struct {
	Mode     string `json:"mode"`
	Pipeline string `json:"pipelineId,omitempty"`
	Schedule string `json:"scheduleId,omitempty"`
	Date     string `json:"date,omitempty"`
	Task     string `json:"task,omitempty"`
}

// SLAReply is the ledger of a run.
type SLAReply struct {
	Deadlines []SLADeadline `json:"deadlines"`
}

// SLADeadline is one deadline. An instant that there is none of is null.
type SLADeadline struct {
	Kind     string     `json:"kind"`
	State    string     `json:"state"`
	WarnAt   *time.Time `json:"warnAt"`
	BreachAt *time.Time `json:"breachAt"`
}

// Deadlines answers one call of the sla-monitor.
func (r *Relay) Deadlines(ctx context.Context, in SLARequest) (SLAReply, error) {
	switch in.Mode {
	case FireAlert, Reconcile:
		return SLAReply{Deadlines: []SLADeadline{}}, r.deadline(ctx, in.task())
	case ScheduleAlerts, CancelAlerts, Calculate:
	default:
		return SLAReply{}, fmt.Errorf("mode %q is unknown; it is schedule, cancel, fire-alert, calculate or reconcile", in.Mode)
	}
	key, err := run.ParseKey(fmt.Sprintf("%s/%s/%s", in.Pipeline, in.Schedule, in.Date))
	if err != nil {
		return SLAReply{}, err
	}
	ledger, err := r.ledger(ctx, key)
	if err != nil {
		return SLAReply{}, err
	}
	switch in.Mode {
	case ScheduleAlerts:
		err = r.deadline(ctx, slamonitor.TaskID(key))
	case CancelAlerts:
		err = r.takeBack(ctx, ledger)
	case Calculate:
		if len(ledger) == 0 {
			return r.calculated(ctx, key)
		}
	}
	return shown(ledger), err
}

// task is the task that a call is about; one of a pipeline as a whole may be named by that.
func (in SLARequest) task() string {
	if in.Task == "" && in.Mode == Reconcile {
		return slamonitor.ArmTaskID(pipeline.ID(in.Pipeline))
	}
	return in.Task
}

// deadline brings a task of the sla-monitor's on its way. It has no business with others, and may not do what they ask for.
func (r *Relay) deadline(ctx context.Context, id string) error {
	t, err := r.Store.Task(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil // done
	case err != nil:
		return fmt.Errorf("read task %s: %w", id, err)
	case slaModes[t.Kind] == "":
		return fmt.Errorf("task %s is no deadline's: the stream-router carries it out", id)
	}
	return r.instant(ctx, t)
}

// ledger gives the deadlines of a run.
func (r *Relay) ledger(ctx context.Context, key run.Key) ([]store.Deadline, error) {
	page, err := r.Store.Deadlines(ctx, store.DeadlineQuery{Key: key})
	if err != nil {
		return nil, fmt.Errorf("read the deadlines of %s: %w", key, err)
	}
	return page.Items, nil
}

// takeBack deletes the entries of deadlines that are closed. One that is left does no harm: it finds nothing to do.
func (r *Relay) takeBack(ctx context.Context, ledger []store.Deadline) error {
	for _, d := range ledger {
		if d.ClosedAt.IsZero() {
			continue
		}
		for _, at := range []time.Time{d.WarnAt, d.BreachAt} {
			if at.Before(r.Now()) {
				continue // there is none, or it is gone
			}
			e, err := r.entry(store.Task{ID: slamonitor.TaskID(d.Key), Kind: store.FireDeadline}, at)
			if err != nil {
				return err
			}
			if err := r.Entries.Delete(ctx, e.name); err != nil {
				return fmt.Errorf("take back the entry of deadline %s: %w", d.Key, err)
			}
		}
	}
	return nil
}

// calculated is what the deadline of a period would be that has none yet.
func (r *Relay) calculated(ctx context.Context, key run.Key) (SLAReply, error) {
	if err := r.know(ctx, key.Pipeline); err != nil {
		return SLAReply{}, err
	}
	e := r.Catalog.Current().Get(key.Pipeline)
	if e == nil {
		return SLAReply{}, fmt.Errorf("there is no pipeline %q", key.Pipeline)
	}
	warn, breach := slamonitor.Instants(e, key.Period)
	if breach.IsZero() {
		return shown(nil), nil
	}
	return SLAReply{Deadlines: []SLADeadline{{Kind: string(store.Absolute), WarnAt: maybe(warn), BreachAt: maybe(breach)}}}, nil
}

// shown is a ledger as it is answered.
func shown(ledger []store.Deadline) SLAReply {
	out := SLAReply{Deadlines: []SLADeadline{}}
	for _, d := range ledger {
		out.Deadlines = append(out.Deadlines, SLADeadline{Kind: string(d.Kind), State: string(d.State), WarnAt: maybe(d.WarnAt), BreachAt: maybe(d.BreachAt)})
	}
	return out
}

// maybe is an instant that there may be none of.
func maybe(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
