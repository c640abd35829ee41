package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/store"
)

// Problem is every error response of the API: RFC 9457 problem details. All keys are always
// present.
type Problem struct {
	Type      string          `json:"type" doc:"The kind of problem; about:blank if the status is enough." example:"urn:interlock:problem:unknown-pipeline"`
	Title     string          `json:"title" doc:"The text of the HTTP status."`
	Status    int             `json:"status" doc:"The HTTP status."`
	Detail    string          `json:"detail" doc:"The problem with this request, and the fix."`
	Instance  string          `json:"instance" doc:"The path of the request."`
	RequestID string          `json:"requestId" doc:"The id of this request, as in the server's log."`
	Errors    []ProblemDetail `json:"errors" doc:"The individual errors, if there are several or if they have a location."`

	*ClaimRefusal // only if a worker was rejected

	header http.Header // extra response headers
	cause  error       // only for the log
	placed bool        // it already names the request that it first answered
}

// ProblemDetail is one error in a request.
type ProblemDetail struct {
	Message  string `json:"message" doc:"The error."`
	Location string `json:"location" doc:"The location, such as query.limit or body.items[3]; empty if there is none."`
}

// kind is the last part of a Problem's type.
type kind string

// The kinds of problems that a client may want to distinguish.
const (
	plainKind       kind = ""
	unknownPipeline kind = "unknown-pipeline"
	unknownPeriod   kind = "unknown-period" // the status is 400
	unknownRun      kind = "unknown-run"
	unknownSensor   kind = "unknown-sensor"
	malformed       kind = "malformed"
	refused         kind = "refused"
	keyReused       kind = "idempotency-key-reused"
	crossOrigin     kind = "cross-origin"
	wrongHost       kind = "wrong-host"
	notReady        kind = "not-ready"
	storeFault      kind = "store-" // followed by the kind of the fault
	limitReached    kind = "limit-reached"
	busy            kind = "busy"
	claimRefused    kind = "claim-" // followed by the code: held, done, lost, not-offered, paused
)

const typePrefix = "urn:interlock:problem:"

func (k kind) uri() string {
	if k == plainKind {
		return "about:blank"
	}
	return typePrefix + string(k)
}

func problem(status int, k kind, format string, args ...any) *Problem {
	return &Problem{
		Type: k.uri(), Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...), Errors: []ProblemDetail{},
	}
}

func badRequest(format string, args ...any) *Problem {
	return problem(http.StatusBadRequest, malformed, format, args...)
}

// at adds an error and its location.
func (p *Problem) at(location, message string) *Problem {
	p.Errors = append(p.Errors, ProblemDetail{Message: message, Location: location})
	return p
}

// with adds a response header.
func (p *Problem) with(name, value string) *Problem {
	if p.header == nil {
		p.header = http.Header{}
	}
	p.header.Set(name, value)
	return p
}

// Error returns the detail: handlers of this package return a Problem as an error.
func (p *Problem) Error() string { return p.Detail }

// Unwrap returns the cause, which clients never see.
func (p *Problem) Unwrap() error { return p.cause }

// GetStatus makes a Problem a huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders makes huma send the headers.
func (p *Problem) GetHeaders() http.Header { return p.header }

// ContentType returns the media type of RFC 9457.
func (p *Problem) ContentType(string) string { return problemType }

const problemType = "application/problem+json"

// write writes p as the response.
func (p *Problem) write(w http.ResponseWriter, r *http.Request) {
	p.place(r.Context())
	for name, values := range p.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", problemType)
	body, err := json.Marshal(p)
	if err != nil {
		body = []byte("{}") // text and numbers always have a JSON form
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // the client may have disconnected
}

// place sets the request that p answers.
func (p *Problem) place(ctx context.Context) {
	if c := callOf(ctx); c != nil && !p.placed {
		p.Instance, p.RequestID = c.path, c.id
		c.err = p.cause
	}
}

// problemOf returns the response to an error that a handler returned.
func problemOf(err error) *Problem {
	if p, is := errors.AsType[*Problem](err); is {
		return p
	}
	if r, is := errors.AsType[*router.Refusal](err); is {
		return refusal(r)
	}
	var p *Problem
	switch {
	case errors.Is(err, explain.ErrUnknownPipeline):
		return problem(http.StatusNotFound, unknownPipeline, "%s", err)
	case errors.Is(err, store.ErrNotFound):
		return problem(http.StatusNotFound, plainKind, "not found")
	case errors.Is(err, store.ErrCursor):
		return badRequest("%s", err).at("query.cursor", "not understood")
	case errors.Is(err, store.ErrMarked):
		return reusedKey()
	case errors.Is(err, store.ErrTooLarge):
		return problem(http.StatusRequestEntityTooLarge, plainKind, "%s", err)
	case store.FaultOf(err) != nil:
		p = faultProblem(store.FaultOf(err))
	case errors.Is(err, store.ErrAway):
		p = problem(http.StatusServiceUnavailable, plainKind, "the store is unavailable; /readyz says why. If this request changes something, it may or may not have done so").with("Retry-After", "5")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		p = problem(http.StatusServiceUnavailable, plainKind, "the request was cancelled or timed out")
	default:
		p = problem(http.StatusInternalServerError, plainKind, "internal error; the server's log has the cause under this request id")
	}
	p.cause = err
	return p
}

// faultProblem returns the response to a write that the store rejected, or a read that found
// damaged data.
func faultProblem(f *store.Fault) *Problem {
	k := storeFault + kind(f.Kind)
	if f.Kind == store.Damaged {
		return problem(http.StatusInsufficientStorage, k, "%s", f.Remedy)
	}
	return problem(http.StatusInsufficientStorage, k, "nothing was stored: %s", f.Remedy).with("Retry-After", "10")
}

// refusal returns the response to a rejected request.
func refusal(r *router.Refusal) *Problem {
	switch r.Kind {
	case router.NotFound:
		return problem(http.StatusNotFound, plainKind, "%s", r.Reason)
	case router.Invalid:
		return badRequest("%s", r.Reason)
	case router.Conflict:
	}
	return problem(http.StatusConflict, refused, "%s", r.Reason)
}

// humaProblem returns the response to a request that huma found invalid. What huma calls
// unprocessable is a bad request here. It does not repeat the values that were sent: they may be
// long or secret.
func humaProblem(status int, message string, errs ...error) *Problem {
	if p, why := problemOfBody(errors.Join(errs...)); why != "" {
		return p
	}
	if status == http.StatusUnprocessableEntity {
		status = http.StatusBadRequest
	}
	k := plainKind
	if status == http.StatusBadRequest {
		k = malformed
	}
	p := problem(status, k, "%s", message)
	for _, err := range errs {
		switch d, is := errors.AsType[*huma.ErrorDetail](err); {
		case err == nil:
		case is:
			p.at(d.Location, d.Message)
		case status >= http.StatusInternalServerError:
			p.cause = err
		default:
			p.at("", err.Error())
		}
	}
	if len(p.Errors) > 0 { // the detail names the first
		p.Detail += ": " + strings.TrimSpace(p.Errors[0].Location+" "+p.Errors[0].Message) + andMore(len(p.Errors))
	}
	return p
}

// andMore says how many more than the one that was named there are.
func andMore(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n-1)
}

func init() {
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		return humaProblem(status, message, errs...)
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, message string, errs ...error) huma.StatusError {
		p := humaProblem(status, message, errs...)
		p.place(ctx.Context())
		for name := range p.header {
			ctx.SetHeader(name, p.header.Get(name)) // huma sends those of handlers only
		}
		return p
	}
	// A list is [] and never null.
	huma.DefaultArrayNullable = false
}
