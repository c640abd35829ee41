// Package emr is the job type that adds steps to an EMR cluster.
package emr

import (
	"fmt"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job"
)

// Config is job.config of an emr job.
type Config struct {
	ClusterID string `yaml:"clusterID" required:"true" pattern:"^(.*\\$\\{.*|j-[A-Z0-9]+)$" hint:"write a cluster's id such as j-2AXXXXXXGAPLF" doc:"The id of a running cluster."`
	Steps     []Step `yaml:"steps" required:"true" minItems:"1" doc:"The steps to add, in order."`
	job.AWS
	job.Unanswered
}

// Step is one step of the cluster.
type Step struct {
	Name            string                   `yaml:"name" required:"true" doc:"The step's name; the run's id is added to it."`
	Jar             string                   `yaml:"jar" default:"command-runner.jar" doc:"The JAR to run."`
	Args            []document.Text          `yaml:"args" doc:"Its arguments, in order."`
	MainClass       string                   `yaml:"mainClass" doc:"The main class, if the JAR's manifest names none."`
	Properties      map[string]document.Text `yaml:"properties" doc:"Java properties of the step."`
	ActionOnFailure string                   `yaml:"actionOnFailure" enum:"CONTINUE,CANCEL_AND_WAIT,TERMINATE_CLUSTER,TERMINATE_JOB_FLOW" default:"CONTINUE" doc:"What the cluster does when the step fails."`
}

func (c *Config) Check() []document.Finding {
	var findings []document.Finding
	for i, step := range c.Steps {
		if step.Name != "" && step.Jar == "command-runner.jar" && len(step.Args) == 0 {
			findings = append(findings, document.Finding{
				Path:    fmt.Sprintf("steps[%d].args", i),
				Message: "is required with command-runner.jar: the command, such as [spark-submit, s3://bucket/job.py]",
			})
		}
	}
	return findings
}
