package glue_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awstest"
	"github.com/interlock-go/interlock/internal/job/glue"
	"github.com/interlock-go/interlock/internal/job/jobtest"
	"github.com/interlock-go/interlock/internal/run"
)

// analysis is an event as Glue's driver logs it.
const analysis = `2026-03-03 07:02:11,345 ERROR [main] analyzer.GlueExceptionAnalysisListener (Logging.scala:logError(9)): [Glue Exception Analysis] ` +
	`{"Event":"GlueExceptionAnalysisJobFailed","Timestamp":1772521331345,"Failure Reason":"JobFailed(org.apache.spark.SparkException: Job aborted\ndue to ` + jobtest.CallbackToken + `)","Stack Trace":[],"Job Id":3} trailing`

// events answers with log events.
func events(texts ...string) func(http.ResponseWriter, search) {
	return func(w http.ResponseWriter, s search) {
		list := []any{}
		for _, text := range texts {
			list = append(list, map[string]any{"eventId": "1", "logStreamName": s.LogStreamNamePrefix + "-driver", "timestamp": 1772521331345, "ingestionTime": 1772521331400, "message": text})
		}
		awstest.Reply(w, map[string]any{"events": list, "searchedLogStreams": []any{}})
	}
}

// succeeded returns the final status of a run that reports success.
func (s *target) succeeded(t *testing.T, config string) job.Status {
	t.Helper()
	kind, a, started := s.Begin(t, "orders/cron/2026-03-03/1", "jobName: state-SUCCEEDED\n"+config)
	a.Secrets = a.Secrets.With(jobtest.CallbackToken)
	status, err := kind.Status(t.Context(), a, started.Handle)
	if err != nil {
		t.Fatal(err)
	}
	return status
}

func TestAFailureInTheLogsOutweighsASuccess(t *testing.T) {
	s := newTarget(t)
	s.logs = events("[Glue Exception Analysis] GlueExceptionAnalysisTaskFailed", analysis)
	got := s.succeeded(t, "")
	if got.Result != run.ResultFail || got.Category != run.Permanent || got.Message != "Glue reports SUCCEEDED, but the job's logs report a failure: JobFailed(org.apache.spark.SparkException: Job aborted due to ***)" {
		t.Errorf("got %+v", got)
	}
	if !strings.Contains(got.Output, "GlueExceptionAnalysisJobFailed") || strings.Contains(got.Output, jobtest.CallbackToken) {
		t.Errorf("output %s", got.Output)
	}
	want := []search{{
		LogGroupName: "/aws-glue/jobs/logs-v2", LogStreamNamePrefix: s.runs[0].ID,
		FilterPattern: `"GlueExceptionAnalysisJobFailed"`, StartTime: 1772521200500,
	}}
	if diff := cmp.Diff(want, s.searches); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhereAndForWhatTheLogsAreSearched(t *testing.T) {
	tests := []struct{ config, named, group, pattern string }{
		{"", "", "/aws-glue/jobs/logs-v2", `"GlueExceptionAnalysisJobFailed"`},
		{"", "/aws-glue/jobs/", "/aws-glue/jobs/logs-v2", `"GlueExceptionAnalysisJobFailed"`},
		{"", "/aws-glue/jobs-etl-secure", "/aws-glue/jobs-etl-secure", `"GlueExceptionAnalysisJobFailed"`},
		{"logCheck: {group: /mine}\n", "/theirs", "/mine", `"GlueExceptionAnalysisJobFailed"`},
		{"logCheck: {patterns: [Failed, 'Out of \"memory\"', 'a\\b']}\n", "", "/aws-glue/jobs/logs-v2", `?"Failed" ?"Out of \"memory\"" ?"a\\b"`},
	}
	for _, tt := range tests {
		s := newTarget(t)
		kind, a, started := s.Begin(t, "orders/cron/2026-03-03/1", "jobName: state-SUCCEEDED\n"+tt.config)
		s.runs[0].LogGroupName = tt.named
		if _, err := kind.Status(t.Context(), a, started.Handle); err != nil {
			t.Fatal(err)
		}
		if got := s.searches[0]; got.LogGroupName != tt.group || got.FilterPattern != tt.pattern {
			t.Errorf("%s: got %+v", tt.config, got)
		}
	}
}

func TestTextsOfTheFilesOwnMeanFailureToo(t *testing.T) {
	s := newTarget(t)
	s.logs = events("java.lang.OutOfMemoryError: Java heap space")
	got := s.succeeded(t, "logCheck: {patterns: [OutOfMemoryError]}\n")
	if got.Category != run.Permanent || !strings.HasSuffix(got.Message, ": java.lang.OutOfMemoryError: Java heap space") {
		t.Errorf("got %+v", got)
	}
}

func TestLogsAreReadToTheirEnd(t *testing.T) {
	s := newTarget(t)
	s.logs = func(w http.ResponseWriter, in search) {
		page := 0
		if fmt.Sscanf(in.NextToken, "page-%d", &page); page == 5 {
			events(analysis)(w, in)
			return
		}
		awstest.Reply(w, map[string]any{"events": []any{}, "nextToken": fmt.Sprintf("page-%d", page+1)})
	}
	if got := s.succeeded(t, ""); got.Result != run.ResultFail || len(s.searches) != 6 {
		t.Errorf("got %+v after %d pages", got, len(s.searches))
	}
}

func TestLogsAreLeftAloneOnDemand(t *testing.T) {
	s := newTarget(t)
	s.logs = events(analysis)
	if got := s.succeeded(t, "logCheck: {enabled: false}\n"); got.Result != run.ResultSuccess || got.Message != "" || len(s.searches) != 0 {
		t.Errorf("got %+v, %d searches", got, len(s.searches))
	}
}

func TestARunWhoseLogsCannotBeReadIsTrustedAndThatIsTold(t *testing.T) {
	tests := map[string]struct {
		logs func(http.ResponseWriter, search)
		want string
	}{
		"no such group": {
			func(w http.ResponseWriter, _ search) {
				awstest.Fail(w, 400, "ResourceNotFoundException", "The specified log group does not exist.")
			}, `search log group "/aws-glue/jobs/logs-v2": ResourceNotFoundException: The specified log group does not exist.`,
		},
		"not allowed": {
			func(w http.ResponseWriter, _ search) {
				awstest.Fail(w, 400, "AccessDeniedException", "not authorized to perform: logs:FilterLogEvents")
			}, "logs:FilterLogEvents; the controller's AWS role lacks a permission",
		},
		"no connection": {func(http.ResponseWriter, search) { panic(http.ErrAbortHandler) }, "EOF"},
		"without end": {
			func(w http.ResponseWriter, _ search) {
				awstest.Reply(w, map[string]any{"events": []any{}, "nextToken": "more"})
			},
			"they are too long to search completely",
		},
	}
	for name, tt := range tests {
		s := newTarget(t)
		s.logs = tt.logs
		got := s.succeeded(t, "")
		if !got.Done || got.Result != run.ResultSuccess || !strings.HasPrefix(got.Message, "Glue reports success; its logs were not checked: ") || !strings.Contains(got.Message, tt.want) {
			t.Errorf("%s: got %+v, want %s", name, got, tt.want)
		}
	}
}

func TestLogsThatDoNotAnswerHoldNobodyUp(t *testing.T) {
	s := newTarget(t)
	released := make(chan struct{})
	defer close(released)
	kind, a, started := s.Begin(t, "orders/cron/2026-03-03/1", ended("SUCCEEDED"))
	s.Operations["Logs_20140328.FilterLogEvents"] = func(http.ResponseWriter, *http.Request) { <-released }
	glue.LimitSearches(t, 100*time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	status, err := kind.Status(ctx, a, started.Handle)
	if err != nil || status.Result != run.ResultSuccess || !strings.Contains(status.Message, "its logs were not checked") {
		t.Errorf("got %+v, %v", status, err)
	}
}

func TestASearchThatIsGivenUpIsNotASuccess(t *testing.T) {
	s := newTarget(t)
	kind, a, started := s.Begin(t, "orders/cron/2026-03-03/1", ended("SUCCEEDED"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	s.Operations["Logs_20140328.FilterLogEvents"] = func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}
	if status, err := kind.Status(ctx, a, started.Handle); err == nil || status.Done {
		t.Errorf("got %+v, %v", status, err)
	}
}
