// Package airflow is the job type that creates a DAG run in Apache Airflow.
package airflow

import (
	"strings"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job"
)

// Config is job.config of an airflow job.
type Config struct {
	URL        string            `yaml:"url" required:"true" doc:"Airflow's base URL, without /api."`
	DagID      string            `yaml:"dagID" required:"true" doc:"The DAG to run."`
	Headers    job.Headers       `yaml:"headers" doc:"Headers of every request, such as Authorization. Take secrets from ${env:NAME} or ${file:PATH}."`
	Conf       map[string]any    `yaml:"conf" doc:"The DAG run's conf."`
	Body       map[string]any    `yaml:"body" doc:"The whole body of the request instead of conf alone; dag_run_id is added."`
	APIVersion string            `yaml:"apiVersion" enum:"v1,v2" default:"v1" doc:"Airflow's REST API: v1 for Airflow 2, v2 for Airflow 3."`
	Timeout    document.Duration `yaml:"timeout" default:"30s" above:"0s" doc:"How long one request may take."`
}

// Check reports mistakes that the struct tags cannot express.
func (c *Config) Check() []document.Finding {
	findings := append(job.CheckURL("url", c.URL), c.Headers.Check("headers")...)
	if name := job.Mask(c.DagID); strings.ContainsAny(name, "/?#% \t\n") {
		findings = append(findings, document.Finding{Path: "dagID", Message: "is not a DAG's id, which has letters, digits and the characters . _ -"})
	}
	if c.Conf != nil && c.Body != nil {
		findings = append(findings, document.Finding{Path: "body", Key: true, Message: "not together with conf; put conf into body, or leave body out", Also: []string{"conf"}})
	}
	if _, set := c.Body["dag_run_id"]; set {
		findings = append(findings, document.Finding{Path: "body.dag_run_id", Key: true, Message: "Interlock sets dag_run_id itself, so that a run starts once; remove it"})
	}
	return findings
}
