// Package all lists the job types. No other package depends on their number.
package all

import (
	"github.com/interlock-go/interlock/internal/job/airflow"
	"github.com/interlock-go/interlock/internal/job/command"
	"github.com/interlock-go/interlock/internal/job/databricks"
	"github.com/interlock-go/interlock/internal/job/emr"
	"github.com/interlock-go/interlock/internal/job/emrserverless"
	"github.com/interlock-go/interlock/internal/job/external"
	"github.com/interlock-go/interlock/internal/job/glue"
	"github.com/interlock-go/interlock/internal/job/http"
	"github.com/interlock-go/interlock/internal/job/lambda"
	"github.com/interlock-go/interlock/internal/job/stepfunction"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// Kinds returns the job types by the names that pipeline files use.
func Kinds() []pipeline.JobKind {
	return []pipeline.JobKind{
		{Name: "command", NewConfig: func() pipeline.JobConfig { return new(command.Config) }},
		{Name: "http", NewConfig: func() pipeline.JobConfig { return new(http.Config) }},
		{Name: "airflow", NewConfig: func() pipeline.JobConfig { return new(airflow.Config) }},
		{Name: "databricks", NewConfig: func() pipeline.JobConfig { return new(databricks.Config) }},
		{Name: "glue", NewConfig: func() pipeline.JobConfig { return new(glue.Config) }},
		{Name: "emr", NewConfig: func() pipeline.JobConfig { return new(emr.Config) }},
		{Name: "emr-serverless", NewConfig: func() pipeline.JobConfig { return new(emrserverless.Config) }},
		{Name: "step-function", NewConfig: func() pipeline.JobConfig { return new(stepfunction.Config) }},
		{Name: "lambda", NewConfig: func() pipeline.JobConfig { return new(lambda.Config) }},
		{Name: "external", NewConfig: func() pipeline.JobConfig { return new(external.Config) }},
	}
}
