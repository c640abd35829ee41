// Package lambda is the job type that invokes an AWS Lambda function.
package lambda

import (
	"cmp"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job"
)

// Config is job.config of a lambda job.
type Config struct {
	FunctionName string            `yaml:"functionName" required:"true" pattern:"^(.*\\$\\{.*|[A-Za-z0-9:._$-]{1,256})$" hint:"write a function's name or ARN" doc:"The function's name or ARN, optionally with a version or alias."`
	Payload      any               `yaml:"payload" doc:"The function's payload. If it is a mapping, the run's id is added as interlock_run_id."`
	Async        bool              `yaml:"async" default:"false" doc:"true: only start the function; the result is reported later. false: its response is the result."`
	Timeout      document.Duration `yaml:"timeout" above:"0s" max:"15m" doc:"Timeout of the response (default 15m; on AWS 14m)."`
	job.AWS
	job.Unanswered
}

// ReportsItself returns true for an asynchronous invocation.
func (c *Config) ReportsItself() bool { return c.Async }

func (c *Config) Check() []document.Finding {
	switch payload := c.Payload.(type) {
	case nil, map[string]any:
		return nil
	case string:
		if job.HasVariable(payload) {
			return nil
		}
	}
	return []document.Finding{{
		Path: "payload", Severity: document.Warning,
		Message: "the run's id is added only to a mapping, and without it the function cannot detect a repeated start; write a mapping",
	}}
}

// longest is Lambda's limit on a function's duration.
const longest = 15 * time.Minute

// limit returns how long the answer may take.
func (c *Config) limit() time.Duration { return cmp.Or(c.Timeout.D(), longest) }

// AWSFindings checks the limits of the AWS platform, where the orchestrator's function waits for
// the answer.
func (c *Config) AWSFindings() []document.Finding {
	switch {
	case c.Async:
		return []document.Finding{{
			Path: "async", Severity: document.Warning,
			Message: "on AWS the function reports its result by writing a JOB# row to the job log table",
		}}
	case c.Timeout > job.MaxAWSStart:
		return []document.Finding{{
			Path:    "timeout",
			Message: fmt.Sprintf("is %s; on AWS the orchestrator waits for at most %s; set async: true for a longer function", c.Timeout, job.MaxAWSStart),
		}}
	}
	return nil
}

// CannotStop marks the type as one that has no way to stop a job.
func (Config) CannotStop() {}
