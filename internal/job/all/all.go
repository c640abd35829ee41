// Package all lists the job types. No other package depends on their number.
package all

import (
	"slices"

	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/airflow"
	"github.com/interlock-go/interlock/internal/job/awsapi"
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
	"github.com/interlock-go/interlock/internal/run"
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

// Types returns the job types, ready to start jobs, by the names that pipeline files use. The
// platform supplies the command type; all others connect through the guard.
func Types(guard *egress.Guard, commands job.Type) map[string]job.Type {
	cloud := awsapi.New(guard)
	return map[string]job.Type{
		"command":        commands,
		"http":           http.New(guard),
		"airflow":        airflow.New(guard),
		"databricks":     databricks.New(guard),
		"glue":           glue.New(cloud),
		"emr":            emr.New(cloud),
		"emr-serverless": emrserverless.New(cloud),
		"step-function":  stepfunction.New(cloud),
		"lambda":         lambda.New(cloud),
		"external":       external.Type{},
	}
}

// Expander returns a function that expands variables and secrets in an attempt's config, and adds
// the callback if the job may use one. Its error is a *job.Refusal.
func Expander(secrets *job.Secrets, callback func(key run.Key, attempt int) job.Callback) func(job.Attempt, *pipeline.Job) (job.Attempt, error) {
	kinds := Kinds()
	return func(a job.Attempt, of *pipeline.Job) (job.Attempt, error) {
		i := slices.IndexFunc(kinds, func(k pipeline.JobKind) bool { return k.Name == of.Type })
		if i < 0 {
			return a, job.Refuse(run.Permanent, "there is no job type %q", of.Type)
		}
		if c, ok := of.Config.(job.SelfReporting); !ok || c.ReportsItself() {
			a.Callback = callback(run.Key{Pipeline: a.Pipeline, Schedule: a.Schedule, Period: a.Period}, a.Number)
		}
		return job.Expand(a, of.Raw, kinds[i].NewConfig(), secrets)
	}
}
