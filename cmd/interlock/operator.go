package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// tableOperator passes an operator's requests to the functions of a deployment. Each request is a
// row that the stream-router carries out and answers. The only change that the operator's AWS
// identity must be allowed to make is to write that row.
type tableOperator struct{ *console }

var _ api.Operator = tableOperator{}

const (
	routerWithin = 30 * time.Second       // timeout for the stream-router's answer
	answerPoll   = 250 * time.Millisecond // how often the console polls for it
)

// await calls read until it returns true or an error, or the timeout ends.
func await(ctx context.Context, read func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, routerWithin)
	defer cancel()
	tick := time.NewTicker(answerPoll)
	defer tick.Stop()
	for {
		done, err := read(ctx)
		if err == nil && !done {
			select {
			case <-tick.C:
				continue
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		if errors.Is(err, context.DeadlineExceeded) {
			return &router.Refusal{Kind: router.Conflict, Reason: fmt.Sprintf(
				"the request is stored, but the stream-router did not answer within %s; check its log and its queue", routerWithin)}
		}
		return err
	}
}

// Rerun writes the request for the stream-router and waits for its answer.
func (t tableOperator) Rerun(ctx context.Context, q router.RerunRequest, now time.Time) (answer store.Rerun, err error) {
	asked := dynamo.RerunRequest{
		ID: q.ID, Key: run.Key{Pipeline: q.Pipeline, Schedule: q.Schedule, Period: q.Period}, Reason: q.Reason, By: q.By, Force: q.Force, BypassGate: q.BypassGate,
	}
	if err := t.store.RequestRerun(ctx, asked, now); err != nil {
		return store.Rerun{}, err
	}
	err = await(ctx, func(ctx context.Context) (bool, error) {
		all, err := t.store.Reruns(ctx, []run.Key{asked.Key})
		for _, r := range all[asked.Key] {
			if r.ID == asked.ID {
				answer = r
				return true, nil
			}
		}
		return false, err
	})
	return answer, err
}

// ask writes an operation for the stream-router and waits for its answer. A refusal is returned as
// an error.
func (t tableOperator) ask(ctx context.Context, o awslambda.Operation, now time.Time) (out awslambda.Outcome, err error) {
	if o.ID == "" {
		o.ID = rand.Text()
	}
	body, err := json.Marshal(o)
	if err != nil {
		return out, fmt.Errorf("write the request as JSON: %w", err)
	}
	if err := t.store.Request(ctx, o.Pipeline, o.ID, body, now); err != nil {
		return out, err
	}
	err = await(ctx, func(ctx context.Context) (bool, error) {
		note, err := t.store.Note(ctx, store.AnswerNote, awslambda.AnswerKey(o.ID))
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		var a router.Answer
		if err := json.Unmarshal(note.Data, &a); err != nil {
			return false, fmt.Errorf("read the answer: %w", err)
		}
		return true, json.Unmarshal(a.Data, &out)
	})
	if err == nil && out.Refusal != nil {
		err = out.Refusal
	}
	return out, err
}

// Trigger requests a run.
func (t tableOperator) Trigger(ctx context.Context, q router.TriggerRequest, now time.Time) (run.Run, error) {
	out, err := t.ask(ctx, awslambda.Operation{
		ID: q.ID, Action: awslambda.Trigger, Pipeline: q.Pipeline, Period: q.Period, By: q.By, Reason: q.Reason, Force: q.Force, BypassGate: q.BypassGate,
	}, now)
	return orZero(out.Run), err
}

// Cancel requests the end of a run.
func (t tableOperator) Cancel(ctx context.Context, key run.Key, by, why string, now time.Time) (run.Run, error) {
	out, err := t.ask(ctx, awslambda.Operation{Action: awslambda.Cancel, Pipeline: key.Pipeline, Key: key, By: by, Reason: why}, now)
	return orZero(out.Run), err
}

// Report reports the result of a job. The result of a worker, which claimed its attempt here, needs
// no function.
func (t tableOperator) Report(ctx context.Context, o run.Outcome, now time.Time) (router.Reported, error) {
	r, err := t.store.Run(ctx, o.Key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return router.Reported{}, err
	}
	if o.Attempt != 0 && (r.Attempt != o.Attempt || r.Progress.Offer.Worker != "") {
		return t.workers.Report(ctx, o, now)
	}
	out, err := t.ask(ctx, awslambda.Operation{Action: awslambda.Report, Pipeline: o.Key.Pipeline, Outcome: o, By: o.By}, now)
	return orZero(out.Reported), err
}

// Claim gives an offered attempt to a worker.
func (t tableOperator) Claim(ctx context.Context, q router.ClaimRequest, now time.Time) (run.Run, error) {
	return t.workers.Claim(ctx, q, now)
}

// Heartbeat records a worker's heartbeat.
func (t tableOperator) Heartbeat(ctx context.Context, key run.Key, attempt int, beat router.Heartbeat, now time.Time) (run.Run, error) {
	return t.workers.Heartbeat(ctx, key, attempt, beat, now)
}

// Trace returns the trace of an attempt.
func (t tableOperator) Trace(ctx context.Context, key run.Key) (string, error) {
	return t.workers.Trace(ctx, key)
}

// Pause requests the pause of a pipeline.
func (t tableOperator) Pause(ctx context.Context, id pipeline.ID, p store.Pause, now time.Time) (store.Pause, error) {
	out, err := t.ask(ctx, awslambda.Operation{Action: awslambda.Pause, Pipeline: id, Pause: p, By: p.By, Reason: p.Why}, now)
	return orZero(out.Pause), err
}

// PauseAll requests the pause of all pipelines.
func (t tableOperator) PauseAll(ctx context.Context, p store.Pause, now time.Time) ([]pipeline.ID, error) {
	out, err := t.ask(ctx, awslambda.Operation{Action: awslambda.PauseAll, Pause: p, By: p.By, Reason: p.Why}, now)
	return out.Pipelines, err
}

// Resume requests the end of a pause.
func (t tableOperator) Resume(ctx context.Context, id pipeline.ID, by, why string, now time.Time) error {
	_, err := t.ask(ctx, awslambda.Operation{Action: awslambda.Resume, Pipeline: id, By: by, Reason: why}, now)
	return err
}

// ResumeAll requests the end of the pause of all pipelines.
func (t tableOperator) ResumeAll(ctx context.Context, by, why string, now time.Time) ([]pipeline.ID, error) {
	out, err := t.ask(ctx, awslambda.Operation{Action: awslambda.ResumeAll, By: by, Reason: why}, now)
	return out.Pipelines, err
}

// Backfill requests the runs of a range of periods.
func (t tableOperator) Backfill(ctx context.Context, q router.BackfillRequest, now time.Time) ([]router.Backfilled, error) {
	out, err := t.ask(ctx, awslambda.Operation{
		ID: q.ID, Action: awslambda.Backfill, Pipeline: q.Pipeline, From: q.From, To: q.To, By: q.By, Reason: q.Reason, OnlyMissing: q.OnlyMissing, DryRun: q.DryRun,
	}, now)
	return out.Backfilled, err
}

// Answered returns stored answers to claims. The stream-router recognises any other repeated
// request by its id.
func (t tableOperator) Answered(ctx context.Context, key string, now time.Time) (router.Answer, bool, error) {
	return t.workers.Answered(ctx, key, now)
}

// KeepAnswer stores nothing: a refused request changed nothing, and may be sent again.
func (t tableOperator) KeepAnswer(context.Context, string, router.Answer, time.Time) error {
	return nil
}
