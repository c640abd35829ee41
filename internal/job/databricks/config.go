// Package databricks is the job type that runs a Databricks job, or submits a one-time run.
package databricks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job"
)

// Config is job.config of a databricks job.
type Config struct {
	WorkspaceURL string         `yaml:"workspaceURL" required:"true" doc:"The workspace, such as https://dbc-1234.cloud.databricks.com."`
	JobID        JobID          `yaml:"jobID" doc:"The job to run; or set body."`
	Params       map[string]any `yaml:"params" doc:"The job's parameters; only with jobID."`
	Body         map[string]any `yaml:"body" doc:"A whole request instead of jobID. With tasks it is submitted as a one-time run; otherwise it is a run-now request with job_id."`
	Headers      job.Headers    `yaml:"headers" doc:"Headers of every request, such as Authorization. Take secrets from ${env:NAME} or ${file:PATH}."`

	Timeout document.Duration `yaml:"timeout" default:"30s" above:"0s" doc:"How long one request may take."`
}

// JobID is a job's number, written as a number or as text.
type JobID string

func (id *JobID) DecodeNode(n document.Node) []document.Finding {
	text := n.Text()
	if n.Kind() != document.Int && n.Kind() != document.String || !isNumber(job.Mask(text)) {
		return []document.Finding{{Message: fmt.Sprintf("expected a job's number such as 123456, found %s", n.Describe())}}
	}
	*id = JobID(text)
	return nil
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

func (JobID) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "integer", Minimum: jsonschema.Ptr(0.0)},
		{Type: "string", Pattern: `^([0-9]+|.*\$\{.*)$`},
	}}
}

func (c *Config) Check() []document.Finding {
	findings := append(job.CheckURL("workspaceURL", c.WorkspaceURL), c.Headers.Check("headers")...)
	switch {
	case c.JobID == "" && c.Body == nil:
		findings = append(findings, document.Finding{Path: "jobID", Message: "is required: the job to run; or set body"})
	case c.JobID != "" && c.Body != nil:
		findings = append(findings, document.Finding{Path: "body", Key: true, Message: "cannot be combined with jobID; use one of them", Also: []string{"jobID"}})
	case c.Body != nil:
		findings = append(findings, c.checkBody()...)
	}
	return findings
}

func (c *Config) checkBody() []document.Finding {
	_, tasks := c.Body["tasks"]
	_, jobID := c.Body["job_id"]
	_, token := c.Body["idempotency_token"]
	return slices.Concat(
		document.When(c.Params != nil, document.Finding{Path: "params", Key: true, Message: "needs jobID; put the parameters into body", Also: []string{"body"}}),
		document.When(!tasks && !jobID, document.Finding{Path: "body", Key: true, Message: "needs tasks for a one-time run, or job_id to run a job"}),
		document.When(token, document.Finding{Path: "body.idempotency_token", Key: true, Message: "Interlock sets idempotency_token itself, so that a run starts once; remove it"}),
	)
}
