package client

import (
	"context"
	"time"
)

// Claim is an attempt that a worker has been given: it runs the job, sends heartbeats, and reports the result.
type Claim struct {
	RunID            string            `json:"runId" doc:"The attempt's id, which its job may use as an idempotency key."`
	Attempt          int               `json:"attempt"`
	Permit           string            `json:"permit" doc:"The bearer token for the heartbeats and the result of this attempt. It is good for nothing else."`
	HeartbeatSeconds int64             `json:"heartbeatSeconds" doc:"The worker counts as lost after so many seconds without a heartbeat: send one every third of it. 0: heartbeats are not needed."`
	Deadline         time.Time         `json:"deadline" doc:"When the result must have been reported (jobPollWindowSeconds)."`
	Traceparent      *string           `json:"traceparent" doc:"The trace of the attempt (W3C Trace Context), which the job continues; null if nothing is traced."`
	Env              map[string]string `json:"env" doc:"What the job should find in its environment, TRACEPARENT included."`
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
	NextBy   *time.Time `json:"nextBy" doc:"When the next heartbeat must have come; null if none is needed."`
	Deadline time.Time  `json:"deadline" doc:"When the result must have been reported."`
}

// Heartbeat says that the worker of an attempt is alive, and sends the end of its output, at most 64 KiB. It
// needs the Permit of the claim. A worker that has lost its attempt gets a *Problem with status 409.
func (c *Client) Heartbeat(ctx context.Context, key RunKey, output string, options ...CallOption) (HeartbeatTaken, error) {
	return ask[HeartbeatTaken](ctx, c, post(key.path("heartbeat"), struct {
		Output string `json:"output,omitempty"`
	}{output}), options)
}
