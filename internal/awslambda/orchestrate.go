package awslambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Mode is what the orchestrator is called for. All modes that are steps do the same: they take the
// step that is due, which the lifecycle alone decides. The mode names the step that the state
// machine expects.
type Mode string

// The modes that are not steps (lifecycle.Kind).
const (
	Advance   Mode = "advance"    // take whatever step is due; no caller waits for the answer
	StillRuns Mode = "still-runs" // report whether an abandoned job still runs
	Stop      Mode = "stop"       // end a job
	AskProbe  Mode = "ask-probe"  // ask a probe
	Ping      Mode = "ping"       // answer, and do nothing else
)

// OrchestratorRequest is the payload of the orchestrator, mostly from the state machine.
type OrchestratorRequest struct {
	Mode       Mode    `json:"mode"`
	Pipeline   string  `json:"pipelineId"`
	Schedule   string  `json:"scheduleId"`
	Date       string  `json:"date"`
	Attempt    int     `json:"attempt"`
	Generation int     `json:"generation,omitempty"`
	Error      Failure `json:"error,omitzero"` // the error that stopped the state machine

	Probe   string `json:"probe,omitempty"`   // for ask-probe: its key
	Version string `json:"version,omitempty"` // for ask-probe: that of the pipeline
}

// requestAbout returns a request about the latest attempt of a run.
func requestAbout(r run.Run, mode Mode) OrchestratorRequest {
	return OrchestratorRequest{
		Mode: mode, Pipeline: string(r.Pipeline), Schedule: string(r.Schedule), Date: r.Period.String(), Attempt: r.Attempt,
	}
}

// Failure is an error as Step Functions passes it to a Catch.
type Failure struct {
	Error string `json:"Error"`
	Cause string `json:"Cause"`
}

// OrchestratorReply is the state of the attempt after a step. Every reply has all fields of the
// first group: the state machine branches on them.
type OrchestratorReply struct {
	Status string         `json:"status"` // of the run
	Next   lifecycle.Kind `json:"next"`   // the next step; none if the attempt needs no further step
	Due    string         `json:"due"`    // when
	Event  string         `json:"event"`  // the job's result, or none
	SLA    bool           `json:"sla"`    // the run has a deadline
	Reason string         `json:"reason"`

	Runs bool         `json:"runs,omitempty"` // for still-runs
	Left run.Leftover `json:"left,omitempty"` // for stop
	// Trouble is why a job that should have been stopped may still run.
	Trouble string `json:"trouble,omitempty"`

	Answer  json.RawMessage `json:"answer,omitempty"`  // for ask-probe: the probe's answer
	Unknown bool            `json:"unknown,omitempty"` // for ask-probe: its answer is that it knows nothing, for the Reason
	Broken  *Broken         `json:"broken,omitempty"`  // for ask-probe: why there is no answer
}

// noEvent stands for a result that does not exist yet.
const noEvent = "none"

// Orchestrate answers one call of the orchestrator.
func (h *Host) Orchestrate(ctx context.Context, in OrchestratorRequest) (OrchestratorReply, error) {
	switch in.Mode {
	case AskProbe:
		return h.askProbe(ctx, in)
	case Ping:
		return OrchestratorReply{}, nil
	}
	key, err := run.ParseKey(fmt.Sprintf("%s/%s/%s", in.Pipeline, in.Schedule, in.Date))
	if err != nil {
		return OrchestratorReply{}, err
	}
	if err := h.know(ctx, key.Pipeline); err != nil {
		return OrchestratorReply{}, err
	}
	switch lifecycle.Kind(in.Mode) {
	case lifecycle.Evaluate, lifecycle.Trigger, lifecycle.CheckJob, lifecycle.ValidationExhausted, lifecycle.JobPollExhausted,
		lifecycle.CompleteTrigger, lifecycle.Kind(Advance):
		return h.step(ctx, key, in)
	case lifecycle.InfraFailure:
		return h.broken(ctx, key, in)
	case lifecycle.Kind(StillRuns), lifecycle.Kind(Stop):
		return h.job(ctx, key, in.Mode)
	default:
		return OrchestratorReply{}, fmt.Errorf("mode %q is unknown; it is one of the steps of an attempt, advance, still-runs, stop, ask-probe or ping", in.Mode)
	}
}

// step takes the step that an attempt is due for. It does nothing for an attempt that has a
// successor: a retry must not be judged by its predecessor.
//
// The calling execution waits for the next step itself, so the stream need not relay the task.
func (h *Host) step(ctx context.Context, key run.Key, in OrchestratorRequest) (OrchestratorReply, error) {
	attempt := in.Attempt
	current, err := h.Store.Run(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return h.over("there is no such run"), nil
	}
	if err != nil {
		return OrchestratorReply{}, fmt.Errorf("read run %s: %w", key, err)
	}
	if current.Attempt != attempt {
		return h.over(fmt.Sprintf("attempt %d has taken the place of %d", current.Attempt, attempt)), nil
	}
	next := lifecycle.Next(current, h.Now())
	if next.Kind == lifecycle.Wait {
		return h.reply(ctx, current, attempt, next)
	}
	next, current, err = h.take(ctx, current, next, in.Mode != Advance)
	if err != nil {
		return OrchestratorReply{}, err
	}
	if current.Version == 0 {
		if current, err = h.Store.Run(ctx, key); err != nil {
			return OrchestratorReply{}, fmt.Errorf("read run %s after its step: %w", key, err)
		}
	}
	return h.reply(ctx, current, attempt, next)
}

// take takes the due step of a run that was just read. It returns the next step and the run as the step
// stored it, or the zero Run. A poll starts and stops nothing, so it needs no lease: a conflict shows
// that the run has changed. Any other step is taken under the lease of the run's task. The watchdog
// stores a missing task again.
func (h *Host) take(ctx context.Context, read run.Run, due lifecycle.Step, awaited bool) (next lifecycle.Step, after run.Run, err error) {
	if due.Kind == lifecycle.CheckJob && read.Status == run.Running && !read.Claimed() {
		next, after, err = h.poll(ctx, read, awaited)
		switch {
		case errors.Is(err, store.ErrConflict):
			read.Version = 0 // read it again
		case !catalog.IsGone(err):
			return next, after, err
		}
	}
	next, after = lifecycle.Step{Kind: lifecycle.Wait, Due: h.Now().Add(untasked), Reason: "its task is missing"}, run.Run{}
	err = h.claimed(ctx, lifecycle.TaskID(read.Key), func(ctx context.Context, c store.Claim) (err error) {
		c.Awaited = awaited
		next, after, err = h.controller.Steps.StepFrom(ctx, c, read, h.Now)
		return err
	})
	return next, after, err
}

// poll polls the job of a run that was just read. Its task, which is not claimed, has the trace: it is
// read only if spans are sent.
func (h *Host) poll(ctx context.Context, read run.Run, awaited bool) (lifecycle.Step, run.Run, error) {
	if !h.Tracing.Exports() {
		return h.controller.Steps.Poll(ctx, read, awaited, h.Now)
	}
	t, err := store.IfFound(h.Store.Task(ctx, lifecycle.TaskID(read.Key)))
	if err != nil {
		return lifecycle.Step{}, run.Run{}, err
	}
	t.Kind, t.Pipeline, t.Key = store.Advance, read.Pipeline, read.Key // it may be missing
	ctx, end := h.Tracing.Task(ctx, t)
	next, after, err := h.controller.Steps.Poll(ctx, read, awaited, h.Now)
	return next, after, end(err)
}

// untasked is how long to wait before checking again for a missing task.
const untasked = time.Minute

// over is the reply about an attempt that needs no further step.
func (h *Host) over(reason string) OrchestratorReply {
	return OrchestratorReply{Next: lifecycle.None, Due: instant(h.Now()), Event: noEvent, Reason: reason}
}

// reply describes the state of an attempt and its next step.
func (h *Host) reply(ctx context.Context, current run.Run, attempt int, next lifecycle.Step) (OrchestratorReply, error) {
	sla, err := h.hasDeadline(ctx, current.Key)
	if err != nil {
		return OrchestratorReply{}, err
	}
	out := OrchestratorReply{
		Status: string(current.Status), Next: next.Kind, Due: instant(h.Now()), Event: noEvent, SLA: sla, Reason: next.Reason,
	}
	switch {
	case current.Attempt != attempt || current.Status.Ended():
		out.Next = lifecycle.None
	case next.Kind == lifecycle.Wait:
		out.Due = instant(next.Due)
	}
	if result := current.Progress.Report.Result; result != "" && out.Next != lifecycle.None {
		out.Event = string(result)
	}
	return out, nil
}

// hasDeadline reports whether a run has a deadline, open or closed. A run keeps its deadlines, so a
// positive answer is remembered.
func (h *Host) hasDeadline(ctx context.Context, key run.Key) (bool, error) {
	if h.deadlines.has(key.String()) {
		return true, nil
	}
	ledger, err := h.Store.Deadlines(ctx, store.DeadlineQuery{Key: key, Limit: 1})
	if err != nil {
		return false, fmt.Errorf("read the deadlines of %s: %w", key, err)
	}
	if len(ledger.Items) > 0 {
		h.deadlines.add(key.String())
	}
	return len(ledger.Items) > 0, nil
}

// instant formats a time for Step Functions, rounded up to the second.
func instant(t time.Time) string {
	s := t.UTC().Truncate(time.Second)
	if s.Before(t) {
		s = s.Add(time.Second)
	}
	return s.Format(time.RFC3339)
}

// broken records that an execution cannot continue. The watchdog finds the remaining task and
// continues the attempt in another execution.
func (h *Host) broken(ctx context.Context, key run.Key, in OrchestratorRequest) (OrchestratorReply, error) {
	who := "execution " + executionName(key, in.Attempt, max(in.Generation, 1))
	current, err := h.controller.Steps.Broken(ctx, key, in.Attempt, who, in.Error.text(), h.Now())
	if err != nil {
		return OrchestratorReply{}, err
	}
	return h.reply(ctx, current, in.Attempt, lifecycle.Next(current, h.Now()))
}

// text returns the message of a failure without the JSON around a function's error.
func (f Failure) text() string {
	var failed struct {
		Message string `json:"errorMessage"`
	}
	cause := f.Cause
	if json.Unmarshal([]byte(f.Cause), &failed) == nil && failed.Message != "" {
		cause = failed.Message
	}
	return fmt.Sprintf("%s: %s", f.Error, cause)
}

// job polls or ends a job for a function that has no permission to do so itself.
func (h *Host) job(ctx context.Context, key run.Key, mode Mode) (OrchestratorReply, error) {
	current, err := h.Store.Run(ctx, key)
	if err != nil {
		return OrchestratorReply{}, fmt.Errorf("read run %s: %w", key, err)
	}
	out, err := h.reply(ctx, current, current.Attempt, lifecycle.Next(current, h.Now()))
	if err != nil {
		return out, err
	}
	if mode == StillRuns {
		out.Runs, err = h.controller.Steps.StillRuns(ctx, current, h.Now())
		return out, err
	}
	out.Left, err = h.controller.Steps.Stop(ctx, current, h.Now())
	if err != nil {
		out.Trouble = err.Error() // the reply says that it may still run, and why
	}
	return out, nil
}
