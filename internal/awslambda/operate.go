package awslambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/interlock-go/interlock/internal/excerpt"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Action is what an operator requests.
type Action string

// The actions. A rerun has its own row, RERUN_REQUEST#.
const (
	Trigger   Action = "trigger"
	Cancel    Action = "cancel"
	Report    Action = "report"
	Pause     Action = "pause"
	PauseAll  Action = "pause-all"
	Resume    Action = "resume"
	ResumeAll Action = "resume-all"
	Backfill  Action = "backfill"
)

// Operation is an operator's request to the stream-router: the attribute request, as JSON, of a row
// REQUEST#{id}.
type Operation struct {
	ID       string        `json:"-"` // of the row
	Action   Action        `json:"action"`
	Pipeline pipeline.ID   `json:"pipeline,omitempty"`
	Key      run.Key       `json:"key,omitzero"`    // of a run to cancel
	Period   period.Period `json:"period,omitzero"` // to trigger; the current period if it is not set
	From     period.Period `json:"from,omitzero"`
	To       period.Period `json:"to,omitzero"`
	Outcome  run.Outcome   `json:"outcome,omitzero"`
	Pause    store.Pause   `json:"pause,omitzero"`

	By          string `json:"by"`
	Reason      string `json:"reason"`
	Force       bool   `json:"force,omitempty"`
	BypassGate  bool   `json:"bypassGate,omitempty"`
	OnlyMissing bool   `json:"onlyMissing,omitempty"`
	DryRun      bool   `json:"dryRun,omitempty"`
}

// Outcome is the answer to an operation: one field is set, depending on the action, or the reason
// for a rejection.
type Outcome struct {
	Run        *run.Run            `json:"run,omitempty"`
	Reported   *router.Reported    `json:"reported,omitempty"`
	Pause      *store.Pause        `json:"pause,omitempty"`
	Pipelines  []pipeline.ID       `json:"pipelines,omitempty"`
	Backfilled []router.Backfilled `json:"backfilled,omitempty"`
	Refusal    *router.Refusal     `json:"refusal,omitempty"`
}

// AnswerKey returns the key of the note that holds the answer to a request.
func AnswerKey(id string) string { return "operation/" + id }

// operate carries out an operation once and stores its answer. A redelivered record finds the
// answer.
func (r *Router) operate(ctx context.Context, o Operation) error {
	now := r.Now()
	o.By, o.Reason, o.Outcome.Message = excerpt.Runes(o.By, longestName), excerpt.Runes(o.Reason, longestReason), excerpt.Runes(o.Outcome.Message, longestMessage)
	if _, done, err := r.controller.Router.Answered(ctx, AnswerKey(o.ID), now); err != nil || done {
		return err
	}
	out, err := r.carryOut(ctx, o)
	var refusal *router.Refusal
	if errors.As(err, &refusal) {
		out, err = Outcome{Refusal: refusal}, nil
	}
	if err != nil {
		return fmt.Errorf("%s, request %s: %w", o.Action, o.ID, err)
	}
	data, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("write the answer to request %s: %w", o.ID, err)
	}
	return r.controller.Router.KeepAnswer(ctx, AnswerKey(o.ID), router.Answer{Data: data}, now)
}

// carryOut calls the router.
func (r *Router) carryOut(ctx context.Context, o Operation) (out Outcome, err error) {
	now := r.Now()
	switch o.Action {
	case Trigger:
		done, err := r.controller.Router.Trigger(ctx, router.TriggerRequest{
			ID: o.ID, Pipeline: o.Pipeline, Period: o.Period, By: o.By, Reason: o.Reason, Force: o.Force, BypassGate: o.BypassGate,
			Once: router.Once[run.Run]{Key: AnswerKey(o.ID), Answer: func(done run.Run) ([]byte, error) { return json.Marshal(Outcome{Run: &done}) }},
		}, now)
		return Outcome{Run: &done}, err
	case Cancel:
		done, err := r.controller.Router.Cancel(ctx, o.Key, o.By, o.Reason, now)
		return Outcome{Run: &done}, err
	case Report:
		done, err := r.controller.Router.Report(ctx, o.Outcome, now)
		return Outcome{Reported: &done}, err
	case Pause:
		done, err := r.controller.Router.Pause(ctx, o.Pipeline, o.Pause, now)
		return Outcome{Pause: &done}, err
	case PauseAll:
		out.Pipelines, err = r.controller.Router.PauseAll(ctx, o.Pause, now)
	case Resume:
		err = r.controller.Router.Resume(ctx, o.Pipeline, o.By, o.Reason, now)
	case ResumeAll:
		out.Pipelines, err = r.controller.Router.ResumeAll(ctx, o.By, o.Reason, now)
	case Backfill:
		out.Backfilled, err = r.controller.Router.Backfill(ctx, router.BackfillRequest{
			ID: o.ID, Pipeline: o.Pipeline, From: o.From, To: o.To, By: o.By, Reason: o.Reason, OnlyMissing: o.OnlyMissing, DryRun: o.DryRun,
		}, now)
	default:
		err = &router.Refusal{Kind: router.Invalid, Reason: fmt.Sprintf(
			"action %q is unknown; want trigger, cancel, report, pause, pause-all, resume, resume-all or backfill", o.Action)}
	}
	return out, err
}
