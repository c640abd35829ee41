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
	ScheduleAlerts = "schedule"   // make sure that the schedules of a run's deadlines exist
	CancelAlerts   = "cancel"     // delete the schedules of closed deadlines
	FireAlert      = "fire-alert" // a deadline's instant has come
	Calculate      = "calculate"  // compute the instants of a period
	Reconcile      = "reconcile"  // arm missing deadlines
)

// slaModes maps the task kinds that the sla-monitor carries out to the mode of the call.
var slaModes = map[store.TaskKind]string{store.FireDeadline: FireAlert, store.Arm: Reconcile}

// SLARequest is the payload of the sla-monitor: about a run from the state machine, about a task
// from Scheduler.
type SLARequest struct {
	Mode     string `json:"mode"`
	Pipeline string `json:"pipelineId,omitempty"`
	Schedule string `json:"scheduleId,omitempty"`
	Date     string `json:"date,omitempty"`
	Task     string `json:"task,omitempty"`
}

// SLAReply is the deadlines of a run.
type SLAReply struct {
	Deadlines []SLADeadline `json:"deadlines"`
}

// SLADeadline is one deadline. A missing instant is null.
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
		for _, d := range ledger {
			err = errors.Join(err, r.deadline(ctx, slamonitor.TaskID(key, d.Kind)))
		}
	case CancelAlerts:
		err = r.takeBack(ctx, ledger)
	case Calculate:
		if len(ledger) == 0 {
			return r.calculated(ctx, key)
		}
	}
	return shown(ledger), err
}

// task returns the id of the task that a call is about. A task of a whole pipeline may be named by
// the pipeline.
func (in SLARequest) task() string {
	if in.Task == "" && in.Mode == Reconcile {
		return store.PipelineTaskID(store.Arm, pipeline.ID(in.Pipeline))
	}
	return in.Task
}

// deadline relays a deadline task. It rejects other tasks, for which the sla-monitor has no
// permissions.
func (r *Relay) deadline(ctx context.Context, id string) error {
	t, err := store.IfFound(r.Store.Task(ctx, id))
	switch {
	case err != nil || t.ID == "":
		return err // without a task it is done
	case slaModes[t.Kind] == "":
		return fmt.Errorf("task %s is not a deadline task: the stream-router carries it out", id)
	}
	return r.instant(ctx, t)
}

// ledger returns the deadlines of a run.
func (r *Relay) ledger(ctx context.Context, key run.Key) ([]store.Deadline, error) {
	page, err := r.Store.Deadlines(ctx, store.DeadlineQuery{Key: key})
	if err != nil {
		return nil, fmt.Errorf("read the deadlines of %s: %w", key, err)
	}
	return page.Items, nil
}

// takeBack deletes the schedules of closed deadlines. One that remains does no harm: it finds
// nothing to do.
func (r *Relay) takeBack(ctx context.Context, ledger []store.Deadline) error {
	for _, d := range ledger {
		if d.ClosedAt.IsZero() {
			continue
		}
		for _, at := range []time.Time{d.WarnAt, d.BreachAt} {
			if at.Before(r.Now()) {
				continue // there is none, or it has fired
			}
			e, err := r.entry(store.Task{ID: slamonitor.TaskID(d.Key, d.Kind), Kind: store.FireDeadline}, at)
			if err != nil {
				return err
			}
			if err := r.Entries.Delete(ctx, e.name); err != nil {
				return fmt.Errorf("delete the schedule of deadline %s: %w", d.Key, err)
			}
		}
	}
	return nil
}

// calculated computes the deadline of a period that has none stored yet.
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

// shown converts deadlines to a reply.
func shown(ledger []store.Deadline) SLAReply {
	out := SLAReply{Deadlines: []SLADeadline{}}
	for _, d := range ledger {
		out.Deadlines = append(out.Deadlines, SLADeadline{Kind: string(d.Kind), State: string(d.State), WarnAt: maybe(d.WarnAt), BreachAt: maybe(d.BreachAt)})
	}
	return out
}

// maybe returns nil for the zero time.
func maybe(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
