package client

import (
	"context"
	"time"
)

// Claim is an attempt that a worker has been given: it runs the job, sends heartbeats, and reports the result.
type Claim struct {
	RunID            string            `json:"runId"` // the attempt's id
	Attempt          int               `json:"attempt"`
	Permit           string            `json:"permit"`           // the token for heartbeats and the result of this attempt
	HeartbeatSeconds int64             `json:"heartbeatSeconds"` // the silence after which the worker counts as lost; 0: it never does
	Deadline         time.Time         `json:"deadline"`         // when the result must have been reported
	Traceparent      *string           `json:"traceparent"`      // the trace of the attempt, which the job continues; nil if nothing is traced
	Env              map[string]string `json:"env"`              // what the job should find in its environment
	Worker           string            `json:"worker"`
	Run              Run               `json:"run"`
}

// Claim asks for the offered attempt of a run whose job is external. Exactly one worker gets it; for all others it is a
// *Problem with status 409.
func (c *Client) Claim(ctx context.Context, key RunKey, worker string, options ...CallOption) (Claim, error) {
	return ask[Claim](ctx, c, post(key.path("claim"), struct {
		Worker string `json:"worker"`
	}{worker}), options)
}

// HeartbeatTaken says until when the next heartbeat is due.
type HeartbeatTaken struct {
	RunID    string     `json:"runId"`
	Attempt  int        `json:"attempt"`
	NextBy   *time.Time `json:"nextBy"` // nil if none is needed
	Deadline time.Time  `json:"deadline"`
}

// Heartbeat says that the worker of an attempt is alive, and sends the end of its output, at most 64 KiB. It
// needs the Permit of the claim. A worker that has lost its attempt gets a *Problem with status 409.
func (c *Client) Heartbeat(ctx context.Context, key RunKey, output string, options ...CallOption) (HeartbeatTaken, error) {
	return ask[HeartbeatTaken](ctx, c, post(key.path("heartbeat"), struct {
		Output string `json:"output,omitempty"`
	}{output}), options)
}
