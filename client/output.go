package client

import (
	"context"
	"strconv"
	"time"
)

// RunOutput is the end of what the job of an attempt has printed.
type RunOutput struct {
	Pipeline string    `json:"pipeline"`
	Schedule string    `json:"schedule"`
	Date     string    `json:"date"`
	Attempt  int       `json:"attempt"`
	Running  bool      `json:"running" doc:"The job runs, and may print more."`
	Live     bool      `json:"live" doc:"It is what the job has printed so far. false: what was kept when it ended, or nothing, if its output cannot be read from here."`
	Output   string    `json:"output" doc:"At most the last 64 KiB."`
	Seen     string    `json:"seen" doc:"Send it back to be answered when there is more."`
	At       time.Time `json:"at" doc:"The server's time."`
}

// OutputQuery is whose output is asked for.
type OutputQuery struct {
	Attempt int           // 0: the latest
	Follow  time.Duration // how long the server holds the request until there is more than Seen, or the job has ended; at most 60s
	Seen    string        // of the answer before
}

// Output gives the end of what the job of an attempt has printed, also while it runs.
func (c *Client) Output(ctx context.Context, key RunKey, q OutputQuery, options ...CallOption) (RunOutput, error) {
	parameters := []string{"seen", q.Seen}
	if q.Attempt != 0 {
		parameters = append(parameters, "attempt", strconv.Itoa(q.Attempt))
	}
	if q.Follow > 0 {
		parameters = append(parameters, "follow", q.Follow.String())
	}
	r := get(key.path("output"), query(parameters...))
	r.patient = q.Follow > 0
	return ask[RunOutput](ctx, c, r, options)
}
