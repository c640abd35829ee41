package awsapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

// maxRetryAfter bounds the wait that a target may ask for.
const maxRetryAfter = 24 * time.Hour

// Failure is an unsuccessful call. Its text contains no secret.
type Failure struct {
	Code     string // AWS's error code, such as EntityNotFoundException, or ""
	Certain  bool   // the request was not carried out
	Category run.Category
	Text     string
	After    time.Duration // how long AWS asks to wait before the next request
}

func (f *Failure) Error() string { return f.Text }

// Operation is a method of an SDK client. Types keep only the operations that they need instead of
// the client: the linker would keep all methods, of which there are hundreds, of any client value
// that reflection can reach.
type Operation[In, Out, Options any] = func(context.Context, *In, ...func(*Options)) (*Out, error)

// Request describes a call and how to read its errors.
type Request struct {
	Attempt job.Attempt
	What    string // the beginning of errors, such as "start glue job orders"
	Errors  Errors // the service's own errors
}

// Subject is what an attempt's calls to a service are about.
type Subject struct {
	Attempt job.Attempt
	Name    string // such as `glue job "orders"`
	Errors  Errors // the service's own errors
}

// What returns the beginning of an error about a call, such as `start glue job "orders"`, without
// secrets.
func (s Subject) What(verb string) string { return s.Attempt.Secrets.Text(verb + " " + s.Name) }

// To returns the request of a call that does something to the subject.
func (s Subject) To(verb string) Request {
	return Request{Attempt: s.Attempt, What: s.What(verb), Errors: s.Errors}
}

// Call calls an operation. The error is a *Failure, or the context's if it ended after the request
// was sent.
func Call[In, Out, Options any](ctx context.Context, r Request, call Operation[In, Out, Options], in *In, options ...func(*Options)) (*Out, error) {
	within, t := traced(ctx)
	out, err := call(within, in, options...)
	if err == nil {
		return out, nil
	}
	if ctx.Err() != nil && t.sent.Load() {
		return nil, fmt.Errorf("%s: no answer: %w", r.What, ctx.Err())
	}
	f, fix := failure(err, t, r.Errors)
	secrets := r.Attempt.Secrets.With(t.secret())
	f.Text = secrets.Text(r.What) + ": " + Line(secrets, shown(err)) + fix
	if ctx.Err() != nil {
		f.Text = secrets.Text(r.What) + ": cancelled before the connection was established: " + ctx.Err().Error()
	}
	return nil, f
}

// failure classifies an SDK error and returns the remedy.
func failure(err error, t *trace, known Errors) (f *Failure, fix string) {
	f = new(Failure)
	status := 0
	if answered, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && answered.HTTPStatusCode() != 0 {
		status = answered.HTTPStatusCode()
		f.After = egress.RetryAfter(answered.Response.Header, time.Now(), maxRetryAfter)
	}
	if named := smithy.APIError(nil); errors.As(err, &named) && status != 0 && !isPlain(named) {
		f.Code = named.ErrorCode()
	}
	sent, verdict := t.sent.Load(), known.verdict(f.Code, status)
	if !sent {
		verdict = unsent(err)
	}
	f.Certain, f.Category = verdict != Open, run.Transient
	if verdict == RefusedPermanent {
		f.Category = run.Permanent
	}
	return f, remedy(f.Code, !sent && verdict == RefusedTransient)
}

// unsent returns the verdict on a request that was never sent: permanent if the request or its
// target is wrong.
func unsent(err error) Verdict {
	if errors.As(err, new(*egress.Refused)) || errors.As(err, new(smithy.InvalidParamsError)) || errors.As(err, new(*smithy.SerializationError)) {
		return RefusedPermanent
	}
	return RefusedTransient
}

// remedy returns what to do about a failure.
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

// shown returns the text of an SDK error without the SDK's wrapping.
func shown(err error) string {
	if refused, ok := errors.AsType[*egress.Refused](err); ok {
		return refused.Error()
	}
	if answered, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && answered.HTTPStatusCode() != 0 {
		status := answered.HTTPStatusCode()
		switch named := smithy.APIError(nil); {
		case !errors.As(err, &named):
			return fmt.Sprintf("answered %d with an unexpected body: %v", status, answered.Err)
		case isPlain(named):
			return fmt.Sprintf("answered %d %s", status, http.StatusText(status))
		default:
			return named.ErrorCode() + ": " + named.ErrorMessage()
		}
	}
	if lost, ok := errors.AsType[*smithyhttp.RequestSendError](err); ok {
		return "no answer: " + lost.Err.Error()
	}
	if operation, ok := errors.AsType[*smithy.OperationError](err); ok {
		err = operation.Err
	}
	return err.Error()
}

// isPlain reports whether an answer contained no AWS error.
func isPlain(named smithy.APIError) bool {
	return named.ErrorCode() == "" || named.ErrorCode() == "UnknownError"
}

// HasCode reports whether err is a Failure with one of the given AWS error codes.
func HasCode(err error, codes ...string) bool {
	f, ok := errors.AsType[*Failure](err)
	return ok && slices.Contains(codes, f.Code)
}

// Started converts err for Start: a refusal only if the request was certainly not carried out.
func Started(err error) error {
	if f, ok := errors.AsType[*Failure](err); ok && f.Certain {
		return &job.Refusal{Category: f.Category, Reason: f.Text, After: f.After}
	}
	return err
}

// Before converts the error of a read that Start makes before it starts anything: whatever failed,
// nothing was started. A cancelled context is not a refusal.
func Before(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.As(err, new(*job.Refusal)) {
		return err
	}
	if f, ok := errors.AsType[*Failure](err); ok {
		return &job.Refusal{Category: f.Category, Reason: f.Text, After: f.After}
	}
	return job.RefuseOver(err, run.Transient, "%v", err)
}

// Checked converts err for Check: a refusal only if the same would happen again.
func Checked(err error) error {
	if f, ok := errors.AsType[*Failure](err); ok && f.Certain && f.Category == run.Permanent {
		return &job.Refusal{Category: f.Category, Reason: f.Text}
	}
	return err
}
