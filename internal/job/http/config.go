// Package http is the job type that sends an HTTP request.
package http

import (
	"fmt"
	"slices"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job"
)

// Config is job.config of an http job.
type Config struct {
	URL      string            `yaml:"url" required:"true" doc:"The http or https URL of the request, without credentials."`
	Method   string            `yaml:"method" enum:"GET,POST,PUT,PATCH,DELETE" fold:"true" default:"POST" doc:"The request's method."`
	Headers  job.Headers       `yaml:"headers" doc:"The request's headers. Take secrets from ${env:NAME} or ${file:PATH}."`
	Body     any               `yaml:"body" doc:"The request body. A text is sent unchanged, a mapping or list as JSON."`
	Timeout  document.Duration `yaml:"timeout" default:"1m" above:"0s" doc:"Timeout of the response; with callback, of the acknowledgement."`
	Callback bool              `yaml:"callback" default:"false" doc:"true: a 2xx response means that the job started, and its result is reported later. false: the response is the result."`
	job.Unanswered
}

// ReportsItself returns true with a callback.
func (c *Config) ReportsItself() bool { return c.Callback }

func (c *Config) Check() []document.Finding {
	findings := append(job.CheckURL("url", c.URL), c.Headers.Check("headers")...)
	switch c.Body.(type) {
	case nil, string, map[string]any, []any:
	default:
		findings = append(findings, document.Finding{Path: "body", Message: "must be a text, or a mapping or list that is sent as JSON"})
	}
	if c.Body != nil && c.Method == "GET" {
		findings = append(findings, document.Finding{Path: "body", Message: "a GET request has no body; use POST, or remove body", Also: []string{"method"}})
	}
	return findings
}

// AWSFindings checks the limits of the AWS platform, where the orchestrator's function waits for
// the answer and no server receives a callback.
func (c *Config) AWSFindings() []document.Finding {
	return slices.Concat(
		document.When(c.Callback, document.Finding{
			Path:    "callback",
			Message: "no server on AWS receives callbacks; remove it so that the response is the result, or start the job through lambda, step-function or airflow",
		}),
		document.When(c.Timeout > job.MaxAWSStart, document.Finding{
			Path:    "timeout",
			Message: fmt.Sprintf("is %s; on AWS the orchestrator waits at most %s for a response", c.Timeout, job.MaxAWSStart),
		}),
	)
}

// CannotStop marks the type as one that has no way to stop a job.
func (Config) CannotStop() {}
