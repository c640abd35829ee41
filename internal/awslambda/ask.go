package awslambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

const (
	// askers is how many probes are asked concurrently.
	askers = 20
	// askRounds is how often one watchdog pass claims probe tasks: a first task decides what to
	// ask, the next one asks.
	askRounds = 4
	// askMargin is the part of the watchdog's time that is reserved for the rest of its pass.
	askMargin = 30 * time.Second
)

// askProbes asks the probes that are due. If time runs out, the remaining ones wait for the next
// pass.
func (w *Watch) askProbes(ctx context.Context) (int, error) {
	if end, limited := ctx.Deadline(); limited {
		left := end.Sub(w.Now()) - askMargin
		if left <= 0 {
			return 0, nil
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, left)
		defer cancel()
	}
	asked, query := 0, store.ClaimQuery{Replica: replica, Kinds: []store.TaskKind{store.RunProbe}, Limit: store.MaxPage, Lease: lease}
	for range askRounds {
		claims, err := w.Store.Claim(ctx, query, w.Now())
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return asked, fmt.Errorf("claim the tasks of probes: %w", err)
		}
		if len(claims) == 0 {
			break
		}
		asked += len(claims)
		if err := w.askAll(ctx, claims); err != nil && ctx.Err() == nil {
			return asked, err
		}
	}
	return asked, nil
}

// askAll carries out probe tasks, several at once.
func (w *Watch) askAll(ctx context.Context, claims []store.Claim) error {
	return store.Together(len(claims), askers, func(i int) error { return w.held(ctx, claims[i], w.try) })
}

// Broken is the reason why a probe returned no answer.
type Broken struct {
	Category run.Category `json:"category"`
	Reason   string       `json:"reason"`
}

// askProbe asks a probe on behalf of a function that has no secrets.
func (h *Host) askProbe(ctx context.Context, in OrchestratorRequest) (out OrchestratorReply, err error) {
	about, err := period.Parse(in.Date)
	if err != nil {
		return out, err
	}
	id := pipeline.ID(in.Pipeline)
	def, err := h.Catalog.Definition(ctx, id, in.Version)
	if err != nil {
		return out, err
	}
	for _, p := range def.Probes {
		if p.Key != in.Probe {
			continue
		}
		answer, err := h.Evaluator.Evaluate(ctx, probe.Request{Pipeline: id, Version: in.Version, File: def.File, Probe: p, Period: about, Attempt: in.Attempt})
		if broken := (*probe.Failure)(nil); errors.As(err, &broken) {
			out.Broken = &Broken{broken.Category, broken.Reason}
			return out, nil
		} else if err != nil {
			return out, err
		}
		if answer.Status == probe.Unknown {
			out.Unknown, out.Reason = true, answer.Reason
			return out, nil
		}
		out.Answer, err = json.Marshal(map[string]any{
			"status": answer.Status, "value": answer.Value, "reason": answer.Reason, "failureCategory": answer.Category,
		})
		return out, err
	}
	return out, fmt.Errorf("version %s of pipeline %s has no probe %s", in.Version, id, in.Probe)
}

// Evaluate calls the orchestrator to ask a probe.
func (j Jobs) Evaluate(ctx context.Context, r probe.Request) (probe.Answer, error) {
	out, err := j.call(ctx, OrchestratorRequest{
		Mode: AskProbe, Pipeline: string(r.Pipeline), Version: r.Version, Probe: r.Probe.Key, Date: r.Period.String(), Attempt: r.Attempt,
	})
	if err != nil {
		return probe.Answer{}, fmt.Errorf("have the orchestrator ask probe %s of %s: %w", r.Probe.Key, r.Pipeline, err)
	}
	if b := out.Broken; b != nil {
		return probe.Answer{}, &probe.Failure{Category: b.Category, Reason: b.Reason}
	}
	if out.Unknown {
		return probe.Answer{Status: probe.Unknown, Reason: out.Reason}, nil
	}
	answer, err := probe.ParseAnswer(out.Answer)
	if err != nil { // such as an answer that just fits as a reading, but not with its frame
		return answer, &probe.Failure{Category: run.Permanent, Reason: err.Error()}
	}
	return answer, nil
}

// Jobs asks the orchestrator about jobs.
type Jobs struct {
	Invoker      Invoker
	Orchestrator string
}

var _ controller.Jobs = Jobs{}

// StillRuns reports whether an abandoned job still runs.
func (j Jobs) StillRuns(ctx context.Context, r run.Run, _ time.Time) (bool, error) {
	if !r.Progress.Left.MayRun() {
		return false, nil
	}
	out, err := j.ask(ctx, StillRuns, r)
	return out.Runs, err
}

// Stop asks the orchestrator to end the job of an abandoned attempt. If the orchestrator does not
// answer, the caller asks again later.
func (j Jobs) Stop(ctx context.Context, r run.Run, _ time.Time) (run.Leftover, error) {
	out, err := j.ask(ctx, Stop, r)
	if err != nil {
		return run.JobStopping, err
	}
	if out.Trouble != "" {
		err = errors.New(out.Trouble)
	}
	return out.Left, err
}

// Sees returns true: no job belongs to one function.
func (Jobs) Sees(run.Run) bool { return true }

func (j Jobs) ask(ctx context.Context, mode Mode, r run.Run) (OrchestratorReply, error) {
	out, err := j.call(ctx, requestAbout(r, mode))
	if err != nil {
		return out, fmt.Errorf("ask the orchestrator about the job of %s: %w", r.ID(), err)
	}
	return out, nil
}

func (j Jobs) call(ctx context.Context, request OrchestratorRequest) (out OrchestratorReply, err error) {
	in, err := json.Marshal(request)
	if err != nil {
		return out, err
	}
	answer, err := j.Invoker.Call(ctx, j.Orchestrator, in)
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(answer, &out)
}
