package lambda

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	service "github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/run"
)

// result converts an answer to the job's final status.
func (f function) result(out *service.InvokeOutput) job.Status {
	logs, err := base64.StdEncoding.DecodeString(aws.ToString(out.LogResult))
	if err != nil {
		logs = nil // they only help the reader
	}
	status := job.Status{Done: true, Result: run.ResultSuccess, Output: f.output(string(logs), string(out.Payload))}
	if kind := aws.ToString(out.FunctionError); kind != "" {
		status.Result, status.Category = run.ResultFail, run.Permanent
		status.Message = awsapi.Line(f.Attempt.Secrets, "the function failed: "+failure(kind, out.Payload))
	}
	return status
}

// output returns the end of the function's logs and its return value.
func (f function) output(logs, returned string) string {
	shown := awsapi.Tail(f.Attempt.Secrets, strings.TrimSuffix(logs, "\n"))
	if shown != "" {
		shown += "\n"
	}
	return shown + awsapi.Head(f.Attempt.Secrets, returned, len(shown))
}

// failure returns the message of a function's error, as the runtimes encode it.
func failure(kind string, payload []byte) string {
	var told struct{ ErrorType, ErrorMessage string }
	if json.Unmarshal(payload, &told) != nil || told.ErrorType+told.ErrorMessage == "" {
		return strings.TrimSuffix(kind+": "+string(payload), ": ")
	}
	parts := slices.DeleteFunc([]string{told.ErrorType, told.ErrorMessage}, func(part string) bool { return part == "" })
	return strings.Join(parts, ": ")
}
