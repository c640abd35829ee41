// Package external is the job type whose jobs are run by external workers: cron, Airflow, a CI
// system. The controller starts, polls and stops nothing. It offers the attempt; a worker claims
// it, sends heartbeats and reports the result. Package router handles those requests, and package
// lifecycle decides what a silent worker means.
package external

import (
	"context"
	"errors"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

// Config is job.config of an external job.
type Config struct {
	Heartbeat Heartbeat `yaml:"heartbeat" default:"2m" doc:"How long a worker may go without a heartbeat before its attempt fails with the category TIMEOUT, at least 10s; 0 turns heartbeats off."`
	OnSilence Silence   `yaml:"onSilence" default:"continue" enum:"continue,stop" doc:"What a worker does that cannot send heartbeats. continue: the command goes on, and another worker may start it again. stop: the worker ends the command before another one may start it; this needs a heartbeat of at least 30s."`
}

// Silence is what a worker does that cannot send heartbeats.
type Silence string

// The values of Silence.
const (
	Continue Silence = "continue"
	Stop     Silence = "stop"
)

var (
	_ job.External      = (*Config)(nil)
	_ job.SelfReporting = (*Config)(nil)
	_ job.Checker       = Type{}
)

// minHeartbeat limits the load that the heartbeats of many workers put on the controller.
const minHeartbeat = 10 * time.Second

// minStopping is the least heartbeat with which a worker can end its command in time.
const minStopping = 30 * time.Second

func (c *Config) Check() []document.Finding {
	d := time.Duration(c.Heartbeat)
	switch shown := document.Duration(d).String(); {
	case d != 0 && d < minHeartbeat:
		return []document.Finding{{Path: "heartbeat", Message: "is " + shown + "; must be at least 10s, or 0 for no heartbeat"}}
	case c.OnSilence == Stop && d < minStopping:
		return []document.Finding{{
			Path:    "onSilence",
			Message: "stop needs a heartbeat of at least 30s, so that the worker can end its command in time; heartbeat is " + shown + ": write heartbeat: 30s or more, or onSilence: continue",
		}}
	}
	return nil
}

// HeartbeatLimit returns how long a worker may be silent; 0 means for ever.
func (c *Config) HeartbeatLimit() time.Duration { return time.Duration(c.Heartbeat) }

// StopsOnSilence reports whether a worker that cannot send heartbeats ends its command.
func (c *Config) StopsOnSilence() bool { return c.OnSilence == Stop }

// ReportsItself returns true: only the worker knows the result.
func (c *Config) ReportsItself() bool { return true }

// Heartbeat is a duration that may also be the number 0.
type Heartbeat document.Duration

// DecodeNode reads a duration, or 0.
func (h *Heartbeat) DecodeNode(n document.Node) []document.Finding {
	if n.Kind() == document.Int && n.Text() == "0" {
		*h = 0
		return nil
	}
	return (*document.Duration)(h).DecodeNode(n)
}

func (Heartbeat) JSONSchema() *jsonschema.Schema {
	zero := any(0)
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{document.Duration(0).JSONSchema(), {Const: &zero}}}
}

// Type refuses every start: only an external worker can start the job.
type Type struct{}

const notHere = "a worker claims and runs jobs of type external: `interlock exec PIPELINE -- COMMAND`"

// Start returns a refusal.
func (Type) Start(context.Context, job.Attempt) (job.Started, error) {
	return job.Started{}, job.Refuse(run.Permanent, "%s", notHere)
}

// Status returns an error: only the worker knows.
func (Type) Status(context.Context, job.Attempt, run.Handle) (job.Status, error) {
	return job.Status{}, errors.New(notHere)
}

// Check returns Unsure: whether a worker claims the job shows only when the gate opens.
func (Type) Check(context.Context, job.Attempt) error { return &job.Unsure{Reason: notHere} }
