// Package airflow is the job type that creates a DAG run in Apache Airflow.
package airflow

import (
	"slices"
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
	Body       map[string]any    `yaml:"body" doc:"The whole request body, instead of conf; dag_run_id is added."`
	APIVersion string            `yaml:"apiVersion" enum:"v1,v2" default:"v1" doc:"Airflow's REST API: v1 for Airflow 2, v2 for Airflow 3."`
	Timeout    document.Duration `yaml:"timeout" default:"30s" above:"0s" doc:"How long one request may take."`
}

func (c *Config) Check() []document.Finding {
	_, ownID := c.Body["dag_run_id"]
	return slices.Concat(
		job.CheckURL("url", c.URL),
		c.Headers.Check("headers"),
		document.When(strings.ContainsAny(job.Mask(c.DagID), "/?#% \t\n"), document.Finding{Path: "dagID", Message: "is not a DAG id; use letters, digits and the characters . _ -"}),
		document.When(c.Conf != nil && c.Body != nil, document.Finding{Path: "body", Key: true, Message: "cannot be combined with conf; put conf into body, or remove body", Also: []string{"conf"}}),
		document.When(ownID, document.Finding{Path: "body.dag_run_id", Key: true, Message: "Interlock sets dag_run_id itself, so that a run starts once; remove it"}),
	)
}
