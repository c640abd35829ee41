// Package emrserverless is the job type that runs a job on EMR Serverless.
package emrserverless

import (
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job"
)

// Config is job.config of an emr-serverless job.
type Config struct {
	ApplicationID          string         `yaml:"applicationID" required:"true" doc:"The EMR Serverless application."`
	ExecutionRoleArn       string         `yaml:"executionRoleArn" required:"true" pattern:"^(.*\\$\\{.*|arn:aws[a-z-]*:iam::[0-9]{12}:role/.+)$" hint:"write a role's ARN such as arn:aws:iam::123456789012:role/name" doc:"The role the job runs as."`
	JobDriver              JobDriver      `yaml:"jobDriver" required:"true" doc:"What to run: sparkSubmit or hive."`
	ConfigurationOverrides map[string]any `yaml:"configurationOverrides" doc:"Application and monitoring configuration, in the form of the API."`
	job.AWS
}

// JobDriver is either of its fields.
type JobDriver struct {
	SparkSubmit *SparkSubmit `yaml:"sparkSubmit" doc:"A Spark job."`
	Hive        *Hive        `yaml:"hive" doc:"A Hive query."`
}

// SparkSubmit is a Spark job.
type SparkSubmit struct {
	EntryPoint            string          `yaml:"entryPoint" required:"true" doc:"The script or JAR."`
	EntryPointArguments   []document.Text `yaml:"entryPointArguments" doc:"Its arguments, in order."`
	SparkSubmitParameters string          `yaml:"sparkSubmitParameters" doc:"Parameters of spark-submit, such as --conf spark.executor.cores=4."`
}

// Hive is a Hive query.
type Hive struct {
	Query         string `yaml:"query" required:"true" doc:"The query, or the file that contains it."`
	InitQueryFile string `yaml:"initQueryFile" doc:"A file with queries to run before."`
	Parameters    string `yaml:"parameters" doc:"Parameters of the query."`
}

func (c *Config) Check() []document.Finding {
	driver := c.JobDriver
	switch {
	case driver.SparkSubmit == nil && driver.Hive == nil:
		return []document.Finding{{Path: "jobDriver", Message: "needs one of sparkSubmit and hive"}}
	case driver.SparkSubmit != nil && driver.Hive != nil:
		return []document.Finding{{Path: "jobDriver.hive", Key: true, Message: "not together with sparkSubmit; use one of them", Also: []string{"jobDriver.sparkSubmit"}}}
	}
	if _, err := c.overrides(); err != nil {
		return []document.Finding{{Path: "configurationOverrides", Message: err.Error() + "; write it in the form of StartJobRun"}}
	}
	return nil
}
