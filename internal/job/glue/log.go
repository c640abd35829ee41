package glue

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/glue/types"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/run"
)

const (
	defaultGroup   = "/aws-glue/jobs/logs-v2"
	defaultPrefix  = "/aws-glue/jobs" // the default log group of Glue
	defaultPattern = "GlueExceptionAnalysisJobFailed"

	maxLogPages = 50
)

// maxLogTime limits a search, so that it does not hold up the controller. Tests shorten it.
var maxLogTime = 10 * time.Second

// crossCheck searches the logs of a run that reports success: if a driver catches its own exception
// and exits cleanly, Glue's failure analysis is there. If the logs cannot be read, the run still
// counts as succeeded, with a note.
func (g api) crossCheck(ctx context.Context, r types.JobRun, succeeded job.Status) (job.Status, error) {
	if !g.LogCheck.Enabled {
		return succeeded, nil
	}
	event, found, err := g.search(ctx, r)
	switch {
	case ctx.Err() != nil:
		return job.Status{}, fmt.Errorf("%s: the search of its logs was cancelled: %w", g.What("get"), ctx.Err())
	case err != nil:
		succeeded.Message = "Glue reports success; its logs were not checked: " + err.Error()
		return succeeded, nil
	case !found:
		return succeeded, nil
	}
	return job.Status{
		Done: true, Result: run.ResultFail, Category: run.Permanent,
		Message: awsapi.Line(g.Attempt.Secrets, "Glue reports SUCCEEDED, but the job's logs report a failure: "+failureReason(event)),
		Output:  awsapi.Tail(g.Attempt.Secrets, event),
	}, nil
}

// search looks for an event that means failure.
func (g api) search(ctx context.Context, r types.JobRun) (event string, found bool, err error) {
	filter, err := g.logs.In(ctx, g.Region)
	if err != nil {
		return "", false, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit(ctx))
	defer cancel()
	in := &cloudwatchlogs.FilterLogEventsInput{
		LogGroupName: aws.String(g.group(r)), LogStreamNamePrefix: r.Id, FilterPattern: aws.String(anyOf(g.patterns())),
	}
	if r.StartedOn != nil {
		in.StartTime = aws.Int64(r.StartedOn.UnixMilli())
	}
	search := awsapi.Subject{Attempt: g.Attempt, Name: fmt.Sprintf("log group %q", *in.LogGroupName)}.To("search")
	for range maxLogPages {
		out, err := awsapi.Call(ctx, search, filter, in)
		if err != nil {
			return "", false, err
		}
		for _, e := range out.Events {
			if text := aws.ToString(e.Message); slices.ContainsFunc(g.patterns(), func(p string) bool { return strings.Contains(text, p) }) {
				return text, true, nil
			}
		}
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			return "", false, nil
		}
	}
	return "", false, fmt.Errorf("they are too long to search completely")
}

// limit returns how long a search may take: it leaves time to report that it took too long.
func limit(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return maxLogTime
	}
	return min(maxLogTime, time.Until(deadline)/2)
}

// group returns the log group of the run.
func (g api) group(r types.JobRun) string {
	named := strings.TrimSuffix(aws.ToString(r.LogGroupName), "/")
	if named == defaultPrefix {
		named = ""
	}
	return cmp.Or(g.LogCheck.Group, named, defaultGroup)
}

func (g api) patterns() []string {
	if len(g.LogCheck.Patterns) > 0 {
		return g.LogCheck.Patterns
	}
	return []string{defaultPattern}
}

// anyOf returns a CloudWatch filter pattern for events that contain one of the texts.
func anyOf(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
		if len(texts) > 1 {
			quoted[i] = "?" + quoted[i]
		}
	}
	return strings.Join(quoted, " ")
}

// failureReason returns the failure reason of Glue's analysis, or the whole text of any other
// event. Log lines may have a prefix.
func failureReason(event string) string {
	var analysis struct {
		Reason string `json:"Failure Reason"`
	}
	if begin := strings.IndexByte(event, '{'); begin >= 0 {
		if err := json.NewDecoder(strings.NewReader(event[begin:])).Decode(&analysis); err == nil && analysis.Reason != "" {
			return analysis.Reason
		}
	}
	return event
}
