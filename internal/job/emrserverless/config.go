// Package emrserverless is the job type that runs a job on EMR Serverless.
package emrserverless

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/emrserverless/types"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
)

// Config is job.config of an emr-serverless job.
type Config struct {
	ApplicationID          string         `yaml:"applicationID" required:"true" doc:"The EMR Serverless application."`
	ExecutionRoleArn       string         `yaml:"executionRoleArn" required:"true" pattern:"^(.*\\$\\{.*|arn:aws[a-z-]*:iam::[0-9]{12}:role/.+)$" hint:"write a role's ARN such as arn:aws:iam::123456789012:role/name" doc:"The IAM role of the job."`
	JobDriver              JobDriver      `yaml:"jobDriver" required:"true" doc:"What to run: sparkSubmit or hive."`
	ConfigurationOverrides map[string]any `yaml:"configurationOverrides" doc:"Application and monitoring configuration, in the format of the API."`
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
	Query         string `yaml:"query" required:"true" doc:"The query, or a file with the query."`
	InitQueryFile string `yaml:"initQueryFile" doc:"A file with queries to run first."`
	Parameters    string `yaml:"parameters" doc:"Parameters of the query."`
}

func (c *Config) Check() []document.Finding {
	driver := c.JobDriver
	switch {
	case driver.SparkSubmit == nil && driver.Hive == nil:
		return []document.Finding{{Path: "jobDriver", Message: "needs one of sparkSubmit and hive"}}
	case driver.SparkSubmit != nil && driver.Hive != nil:
		return []document.Finding{{Path: "jobDriver.hive", Key: true, Message: "cannot be combined with sparkSubmit; use one of them", Also: []string{"jobDriver.sparkSubmit"}}}
	}
	if _, err := c.overrides(); err != nil {
		return []document.Finding{{Path: "configurationOverrides", Message: err.Error() + "; write it in the format of StartJobRun"}}
	}
	return nil
}

// asAPI converts the driver for the API.
func (d JobDriver) asAPI() types.JobDriver {
	if hive := d.Hive; hive != nil {
		return &types.JobDriverMemberHive{Value: types.Hive{
			Query: &hive.Query, InitQueryFile: awsapi.Optional(hive.InitQueryFile), Parameters: awsapi.Optional(hive.Parameters),
		}}
	}
	spark := d.SparkSubmit
	return &types.JobDriverMemberSparkSubmit{Value: types.SparkSubmit{
		EntryPoint: &spark.EntryPoint, EntryPointArguments: document.Strings(spark.EntryPointArguments), SparkSubmitParameters: awsapi.Optional(spark.SparkSubmitParameters),
	}}
}

// overrides returns the configuration for the API, or nil. A field that the API does not know is an
// error.
func (c *Config) overrides() (*types.ConfigurationOverrides, error) {
	if c.ConfigurationOverrides == nil {
		return nil, nil
	}
	text, err := json.Marshal(withTexts(c.ConfigurationOverrides))
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	into := new(types.ConfigurationOverrides)
	if err := d.Decode(into); err != nil {
		return nil, inWords(err)
	}
	return into, nil
}

// inWords returns a decoding error without Go's type names.
func inWords(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		names := strings.Split(wrong.Field, ".")
		for i, name := range names {
			names[i] = strings.ToLower(name[:min(len(name), 1)]) + name[min(len(name), 1):]
		}
		return fmt.Errorf("%s cannot be a %s", strings.Join(names, "."), wrong.Value)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// withTexts converts all properties in a value to texts. The API accepts nothing else, and files
// contain numbers.
func withTexts(value any) any {
	switch v := value.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = withTexts(item)
		}
		return list
	case map[string]any:
		fields := maps.Clone(v)
		for name, item := range fields {
			fields[name] = withTexts(item)
			if properties, ok := item.(map[string]any); ok && name == "properties" {
				fields[name] = texts(properties)
			}
		}
		return fields
	}
	return value
}

func texts(properties map[string]any) map[string]any {
	all := map[string]any{}
	for name, value := range properties {
		all[name] = value
		switch value.(type) {
		case int64, float64, bool:
			all[name], _ = job.JSON(value) // cannot fail for a number or bool
		}
	}
	return all
}
