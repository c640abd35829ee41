package awslambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Mode is what the orchestrator is asked for. Those that are steps all do the same: they take the step that is due, which
// the lifecycle alone decides; the mode says which one the state machine expects.
type Mode string

// The modes beside those that are steps (lifecycle.Kind).
const (
	Advance   Mode = "advance"    // whatever is due, without anybody who waits for the answer
	StillRuns Mode = "still-runs" // whether a job that was left behind runs
	Stop      Mode = "stop"       // end a job
	AskProbe  Mode = "ask-probe"  // ask a probe
)

// OrchestratorRequest is what the orchestrator is called with, by the state machine above all.
type OrchestratorRequest struct {
	Mode       Mode    `json:"mode"`
	Pipeline   string  `json:"pipelineId"`
	Schedule   string  `json:"scheduleId"`
	Date       string  `json:"date"`
	Attempt    int     `json:"attempt"`
	Generation int     `json:"generation,omitempty"`
	Error      Failure `json:"error,omitzero"` // what kept the state machine from going on

	Probe   string `json:"probe,omitempty"`   // for ask-probe: its key
	Version string `json:"version,omitempty"` // for ask-probe: that of the pipeline
}

// Failure is an error as Step Functions hands it to whoever catches it.
type Failure struct {
	Error string `json:"Error"`
	Cause string `json:"Cause"`
}

// OrchestratorReply is how the attempt stands after a step. Every field is there in every answer: the state machine
// branches on them.
type OrchestratorReply struct {
	Status string         `json:"status"` // of the run
	Next   lifecycle.Kind `json:"next"`   // the step that comes next; none if this attempt needs nobody any more
	Due    string         `json:"due"`    // when
	Event  string         `json:"event"`  // the job's result, or none
	SLA    bool           `json:"sla"`    // the run has a deadline
	Reason string         `json:"reason"`

	Runs bool         `json:"runs,omitempty"` // for still-runs
	Left run.Leftover `json:"left,omitempty"` // for stop
	// Trouble is why a job that was to be stopped may still run.
	Trouble string `json:"trouble,omitempty"`

	Answer json.RawMessage `json:"answer,omitempty"` // for ask-probe: what the probe answered
	Broken *Broken         `json:"broken,omitempty"` // for ask-probe: why it did not
}

// noEvent stands for a result that is not there yet.
const noEvent = "none"

// Orchestrate answers one call of the orchestrator.
func (h *Host) Orchestrate(ctx context.Context, in OrchestratorRequest) (OrchestratorReply, error) {
	if in.Mode == AskProbe {
		return h.askProbe(ctx, in)
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
		return OrchestratorReply{}, fmt.Errorf("mode %q is unknown; it is one of the steps of an attempt, advance, still-runs, stop or ask-probe", in.Mode)
	}
}

// step takes the step that an attempt is due for. An attempt that has been followed by another is left alone: nobody judges
// a retry by its predecessor.
//
// The execution that asks waits for the next step itself, so the stream need not bring the task to anybody.
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
	// Without its task nobody may take the step: the watchdog stores it again.
	next = lifecycle.Step{Kind: lifecycle.Wait, Due: h.Now().Add(untasked), Reason: "its task is not there"}
	read := current
	current = run.Run{}
	err = h.claimed(ctx, lifecycle.TaskID(key), func(ctx context.Context, c store.Claim) (err error) {
		c.Awaited = in.Mode != Advance
		next, current, err = h.steps.StepFrom(ctx, c, read, h.Now)
		return err
	})
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

// untasked is when to look again at an attempt whose task is missing.
const untasked = time.Minute

// over is the answer about an attempt that needs nobody any more.
func (h *Host) over(reason string) OrchestratorReply {
	return OrchestratorReply{Next: lifecycle.None, Due: instant(h.Now()), Event: noEvent, Reason: reason}
}

// reply says how an attempt stands, and which step comes next.
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

// hasDeadline reports whether a run has a deadline, open or closed. A run that has one keeps it, so that is read once.
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

// instant is a time as Step Functions reads it, on the second that has come by then.
func instant(t time.Time) string {
	s := t.UTC().Truncate(time.Second)
	if s.Before(t) {
		s = s.Add(time.Second)
	}
	return s.Format(time.RFC3339)
}

// broken records that an execution cannot go on. The watchdog finds the task that is left, and the attempt goes on in
// another execution.
func (h *Host) broken(ctx context.Context, key run.Key, in OrchestratorRequest) (OrchestratorReply, error) {
	who := "execution " + executionName(key, in.Attempt, max(in.Generation, 1))
	current, err := h.steps.Broken(ctx, key, in.Attempt, who, in.Error.text(), h.Now())
	if err != nil {
		return OrchestratorReply{}, err
	}
	return h.reply(ctx, current, in.Attempt, lifecycle.Next(current, h.Now()))
}

// text is what a failure says, without the form in which a function's error travels.
func (f Failure) text() string {
	var told struct {
		Message string `json:"errorMessage"`
	}
	cause := f.Cause
	if json.Unmarshal([]byte(f.Cause), &told) == nil && told.Message != "" {
		cause = told.Message
	}
	return fmt.Sprintf("%s: %s", f.Error, cause)
}

// job looks at a job, or ends it, for a function that may not do so itself.
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
		out.Runs, err = h.steps.StillRuns(ctx, current, h.Now())
		return out, err
	}
	out.Left, err = h.steps.Stop(ctx, current, h.Now())
	if err != nil {
		out.Trouble = err.Error() // the answer is that it may still run, and why
	}
	return out, nil
}
