package awsapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/job/awstest"
	"github.com/interlock-go/interlock/internal/run"
)

// failed returns the Failure that an answer causes.
func failed(t *testing.T, answer http.HandlerFunc) *awsapi.Failure {
	t.Helper()
	s := awstest.NewServer(t, awstest.Operations{"AWSStepFunctions.DescribeExecution": answer})
	err := ask(t, awstest.Cloud(t, s.URL), "")
	f := (*awsapi.Failure)(nil)
	if !errors.As(err, &f) {
		t.Fatalf("got %v", err)
	}
	return f
}

func TestAFailureSaysWhetherAnythingWasStartedAndItsCategory(t *testing.T) {
	tests := []struct {
		status   int
		code     string
		certain  bool
		category run.Category
		text     string
	}{
		{400, "ValidationException", true, run.Permanent, "describe it: ValidationException: because"},
		{400, "AccessDeniedException", true, run.Permanent, "; the controller's AWS role lacks a permission that docs/JOBS.md lists"},
		{403, "AccessDenied", true, run.Permanent, "; the controller's AWS role lacks a permission"},
		{400, "UnrecognizedClientException", true, run.Permanent, "; the controller's AWS credentials are missing or wrong"},
		{403, "InvalidSignatureException", true, run.Permanent, "; the controller's AWS credentials are missing or wrong"},
		{400, "ExpiredTokenException", true, run.Transient, "; the controller's AWS credentials have expired: renew them"},
		{403, "ExpiredToken", true, run.Transient, "; the controller's AWS credentials have expired: renew them"},
		{400, "ThrottlingException", true, run.Transient, "describe it: ThrottlingException: because"},
		{429, "TooManyRequestsException", true, run.Transient, ""},
		{503, "SlowDown", true, run.Transient, ""},
		{429, "Odd", true, run.Transient, ""},
		{404, "ResourceNotFoundException", true, run.Permanent, ""},
		{400, "OperationTimeoutException", false, run.Transient, "describe it: OperationTimeoutException: because"},
		{404, "ErrorOfTomorrowException", false, run.Transient, ""},
		{408, "RequestTimeoutException", false, run.Transient, ""},
		{500, "InternalServiceException", false, run.Transient, "describe it: InternalServiceException: because"},
		{503, "ServiceUnavailable", false, run.Transient, ""},
		{403, "", true, run.Permanent, "describe it: answered 403 Forbidden"}, // from a proxy
		{408, "", false, run.Transient, "describe it: answered 408 Request Timeout"},
		{425, "", true, run.Transient, "describe it: answered 425 Too Early"},
		{429, "", true, run.Transient, "describe it: answered 429 Too Many Requests"},
		{502, "", false, run.Transient, "describe it: answered 502 Bad Gateway"},
	}
	for _, tt := range tests {
		got := failed(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			awstest.Fail(w, tt.status, tt.code, "because")
		})
		if got.Code != tt.code || got.Certain != tt.certain || got.Category != tt.category || !strings.Contains(got.Text, tt.text) || got.After != 7*time.Second {
			t.Errorf("%d %s: got %+v", tt.status, tt.code, *got)
		}
		if _, refused := awsapi.Started(got).(*job.Refusal); refused != tt.certain {
			t.Errorf("%d %s: a start is refused: %v", tt.status, tt.code, refused)
		}
		if _, refused := awsapi.Checked(got).(*job.Refusal); refused != (tt.certain && tt.category == run.Permanent) {
			t.Errorf("%d %s: a check is refused: %v", tt.status, tt.code, refused)
		}
	}
}

func TestAnErrorThatIsNotFromAWSIsShownAsItIs(t *testing.T) {
	tests := map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"nothing but a status": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, "describe it: answered 404 Not Found"},
		"a page": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(502)
			fmt.Fprint(w, "<html>Bad gateway")
		}, "describe it: answered 502 with an unexpected body: "},
		"too much": {func(w http.ResponseWriter, _ *http.Request) {
			for range 9 {
				w.Write([]byte(strings.Repeat(" ", 1<<20)))
			}
		}, "answered with more than 8 MiB, which is not read"},
		"too much, as it says": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99999999999")
		}, "answered with more than 8 MiB, which is not read"},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.Write([]byte(`{"status": "RUN`))
		}, "the response was cut off"},
	}
	for name, tt := range tests {
		if got := failed(t, tt.answer); !strings.Contains(got.Text, tt.want) {
			t.Errorf("%s: got %s", name, got.Text)
		}
	}
}

func TestNoFailureShowsASecret(t *testing.T) {
	const secret = "Zq9Xv8Jw7Kp6"
	text := ""
	s := awstest.NewServer(t, awstest.Operations{"AWSStepFunctions.DescribeExecution": func(w http.ResponseWriter, r *http.Request) {
		awstest.Fail(w, 400, "ValidationException", text+" "+r.Header.Get("X-Amz-Security-Token")+" "+secret+"\nThe canonical string should have been\n"+r.Header.Get("Authorization"))
	}})
	client, err := clients(awstest.Cloud(t, s.URL)).In(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for length := 400; length < 520; length++ {
		text = strings.Repeat("x", length)
		_, err := awsapi.Call(t.Context(), awsapi.Request{Attempt: job.Attempt{Secrets: job.NewRedactor(secret)}, What: "describe " + secret}, client.DescribeExecution, anExecution)
		for _, hidden := range []string{awstest.SessionToken, secret} {
			for i := 0; i+5 <= len(hidden); i++ {
				if strings.Contains(err.Error(), hidden[i:i+5]) || strings.Contains(err.Error(), "\n") {
					t.Fatalf("after %d: %v", length, err)
				}
			}
		}
	}
}

func TestACallCancelledInFlightIsNotARefusal(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := awstest.NewServer(t, awstest.Operations{"AWSStepFunctions.DescribeExecution": func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}})
	client, err := clients(awstest.Cloud(t, s.URL)).In(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := awsapi.Call(ctx, awsapi.Request{What: "describe it"}, client.DescribeExecution, anExecution); !errors.Is(err, context.Canceled) || errors.As(err, new(*awsapi.Failure)) {
		t.Errorf("under way: got %v", err)
	}
	f := (*awsapi.Failure)(nil)
	if _, err := awsapi.Call(ctx, awsapi.Request{What: "describe it"}, client.DescribeExecution, anExecution); !errors.As(err, &f) || !f.Certain || f.Text != "describe it: cancelled before the connection was established: context canceled" {
		t.Errorf("before it began: got %v", err)
	}
}
