package awslambdatest

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/interlock-go/interlock/internal/awslambda"
)

// Executions returns the names of all executions that were started.
func (w *World) Executions() []string {
	w.cloud.mu.Lock()
	defer w.cloud.mu.Unlock()
	return slices.Sorted(maps.Keys(w.cloud.machine.names))
}

// Ended returns the end status of executions, by name.
func (w *World) Ended() map[string]string {
	w.cloud.mu.Lock()
	defer w.cloud.mu.Unlock()
	all := map[string]string{}
	for _, e := range w.cloud.machine.Ended {
		all[e.Execution] = e.Status
	}
	return all
}

// Entered returns how many states all executions have entered.
func (w *World) Entered() int {
	w.cloud.mu.Lock()
	defer w.cloud.mu.Unlock()
	return w.cloud.machine.entered
}

// Entries returns the names of the existing schedules.
func (w *World) Entries() []string {
	w.cloud.mu.Lock()
	defer w.cloud.mu.Unlock()
	return slices.Sorted(maps.Keys(w.cloud.entries))
}

// Called returns how often an AWS operation was called, with "call NAME" a function, and
// with "fire" a schedule its function.
func (w *World) Called(operation string) int {
	w.cloud.mu.Lock()
	defer w.cloud.mu.Unlock()
	return w.cloud.counts[operation]
}

// Orchestrate calls the orchestrator as the state machine does.
func (w *World) Orchestrate(in awslambda.OrchestratorRequest) (awslambda.OrchestratorReply, error) {
	return w.steps.Orchestrate(context.Background(), in)
}

// Deadlines calls the sla-monitor.
func (w *World) Deadlines(in awslambda.SLARequest) (awslambda.SLAReply, error) {
	return w.sla.Deadlines(context.Background(), in)
}

// Route calls the stream-router with a payload, whose records it reads from the given streams.
func (w *World) Route(streams awslambda.Streams, payload string) (string, error) {
	r := *w.router
	r.Streams = streams
	answer, err := r.Route(context.Background(), json.RawMessage(payload))
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(answer)
	return string(text), err
}

// Lose drops the next change record before it reaches the router.
func (w *World) Lose() { w.drops++ }
