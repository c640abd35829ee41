package awsapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

// maxRetryAfter bounds what a target may ask for.
const maxRetryAfter = 24 * time.Hour

// Failure is a call that did not succeed. Its text holds no secret.
type Failure struct {
	Code     string // AWS's name for it, such as EntityNotFoundException; "" where AWS gave none
	Certain  bool   // nothing was started
	Category run.Category
	Text     string
	After    time.Duration // how long AWS asks to be left alone
}

func (f *Failure) Error() string { return f.Text }

// Operation is a method of one of the SDK's clients. Types keep those that they need instead of the client: a value that
// reflection could reach would take all methods of its type into the binary, and there are hundreds.
type Operation[In, Out, Options any] = func(context.Context, *In, ...func(*Options)) (*Out, error)

// Call calls an operation for an attempt: what names it, such as "start glue job orders". The error is a *Failure, or that
// of a context which ended while the call was under way.
func Call[In, Out, Options any](ctx context.Context, a job.Attempt, what string, call Operation[In, Out, Options], in *In, options ...func(*Options)) (*Out, error) {
	within, t := traced(ctx)
	out, err := call(within, in, options...)
	if err == nil {
		return out, nil
	}
	if ctx.Err() != nil && t.sent.Load() {
		return nil, fmt.Errorf("%s: no answer: %w", what, ctx.Err())
	}
	f, fix := failure(err, t)
	secrets := a.Secrets.With(t.secret())
	f.Text = secrets.Text(what) + ": " + Line(secrets, shown(err)) + fix
	if ctx.Err() != nil {
		f.Text = secrets.Text(what) + ": given up before there was a connection: " + ctx.Err().Error()
	}
	return nil, f
}

// failure classifies what the SDK says, and says what to do about it.
func failure(err error, t *trace) (f *Failure, fix string) {
	f = new(Failure)
	status := 0
	if answered := (*smithyhttp.ResponseError)(nil); errors.As(err, &answered) && answered.HTTPStatusCode() != 0 {
		status = answered.HTTPStatusCode()
		f.After = egress.RetryAfter(answered.Response.Header, time.Now(), maxRetryAfter)
	}
	if named := smithy.APIError(nil); errors.As(err, &named) && status != 0 {
		f.Code = named.ErrorCode()
	}
	f.Certain, f.Category = !t.sent.Load(), run.Transient
	switch {
	case f.Certain && isOurs(err):
		f.Category = run.Permanent
	case f.Certain:
	case isBusy(f.Code) || slices.Contains(busyStatus, status):
		f.Certain = true
	case status >= 300 && status < 500:
		f.Certain, f.Category = true, run.Permanent
	}
	return f, remedy(f.Code, !t.sent.Load() && f.Category == run.Transient)
}

// isOurs says that a request was not sent because of what is in it or where it goes.
func isOurs(err error) bool {
	return errors.As(err, new(*egress.Refused)) || errors.As(err, new(smithy.InvalidParamsError)) || errors.As(err, new(*smithy.SerializationError))
}

// busyStatus are the answers that turn a request away for now.
var busyStatus = []int{http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests}

// passing are the failures that time mends, beside those that the SDK knows as throttling.
var passing = []string{
	"ExpiredToken", "ExpiredTokenException", "RequestExpired", "RequestTimeTooSkewed", "RequestInTheFuture",
	"ConcurrentRunsExceededException", "ResourceNumberLimitExceededException", "ServiceQuotaExceededException", "ExecutionLimitExceeded",
}

func isBusy(code string) bool {
	_, throttled := retry.DefaultThrottleErrorCodes[code]
	return throttled || slices.Contains(passing, code)
}

// remedy is what to do about a failure.
func remedy(code string, unreachable bool) string {
	switch {
	case strings.HasPrefix(code, "AccessDenied") || code == "UnauthorizedException":
		return "; the controller's AWS role lacks a permission that docs/JOBS.md lists"
	case strings.HasPrefix(code, "ExpiredToken"):
		return "; the controller's AWS credentials have expired: renew them"
	case slices.Contains([]string{"UnrecognizedClientException", "InvalidClientTokenId", "InvalidSignatureException", "SignatureDoesNotMatch", "MissingAuthenticationTokenException", "IncompleteSignatureException"}, code):
		return "; the controller's AWS credentials are missing or wrong"
	case unreachable:
		return "; check the controller's AWS credentials, region and network"
	}
	return ""
}

// shown is an error of the SDK without what the SDK puts around it.
func shown(err error) string {
	if refused := (*egress.Refused)(nil); errors.As(err, &refused) {
		return refused.Error()
	}
	if answered := (*smithyhttp.ResponseError)(nil); errors.As(err, &answered) && answered.HTTPStatusCode() != 0 {
		status := answered.HTTPStatusCode()
		switch named := smithy.APIError(nil); {
		case !errors.As(err, &named):
			return fmt.Sprintf("answered %d with something else than was asked for: %v", status, answered.Err)
		case isPlain(named):
			return fmt.Sprintf("answered %d %s", status, http.StatusText(status))
		default:
			return named.ErrorCode() + ": " + named.ErrorMessage()
		}
	}
	if lost := (*smithyhttp.RequestSendError)(nil); errors.As(err, &lost) {
		return "no answer: " + lost.Err.Error()
	}
	if operation := (*smithy.OperationError)(nil); errors.As(err, &operation) {
		err = operation.Err
	}
	return err.Error()
}

// isPlain says that an answer had no error of AWS in it.
func isPlain(named smithy.APIError) bool {
	return named.ErrorCode() == "" || named.ErrorCode() == "UnknownError"
}

// HasCode says whether err is a failure with one of AWS's names.
func HasCode(err error, codes ...string) bool {
	f := (*Failure)(nil)
	return errors.As(err, &f) && slices.Contains(codes, f.Code)
}

// Started is err as Start returns it: a refusal where certainly nothing was started.
func Started(err error) error {
	if f := (*Failure)(nil); errors.As(err, &f) && f.Certain {
		return &job.Refusal{Category: f.Category, Reason: f.Text, After: f.After}
	}
	return err
}

// Before is the error of a look that Start takes before it starts anything: whatever went wrong, nothing was started. Who
// gave up is not told that it was refused.
func Before(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.As(err, new(*job.Refusal)) {
		return err
	}
	if f := (*Failure)(nil); errors.As(err, &f) {
		return &job.Refusal{Category: f.Category, Reason: f.Text, After: f.After}
	}
	return job.Refuse(run.Transient, "%v", err)
}

// Checked is err as Check returns it: a refusal only where the same would happen again.
func Checked(err error) error {
	if f := (*Failure)(nil); errors.As(err, &f) && f.Certain && f.Category == run.Permanent {
		return &job.Refusal{Category: f.Category, Reason: f.Text}
	}
	return err
}
