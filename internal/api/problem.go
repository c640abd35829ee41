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

// Problem is every error that the API answers with: RFC 9457 problem details. All keys are always there.
type Problem struct {
	Type      string          `json:"type" doc:"What kind of problem it is; about:blank if the status says it all." example:"urn:interlock:problem:unknown-pipeline"`
	Title     string          `json:"title" doc:"The status in words."`
	Status    int             `json:"status" doc:"The HTTP status."`
	Detail    string          `json:"detail" doc:"The problem with this request, and the fix."`
	Instance  string          `json:"instance" doc:"The path of the request."`
	RequestID string          `json:"requestId" doc:"The id of this request, as in the server's log."`
	Errors    []ProblemDetail `json:"errors" doc:"The individual errors, if there are several or they have a location."`

	*ClaimRefusal // where a worker was refused, and only there

	header http.Header // sent along
	cause  error       // for the log alone
	placed bool        // it names the request that it answered first
}

// ProblemDetail is one thing that is wrong with a request.
type ProblemDetail struct {
	Message  string `json:"message" doc:"What is wrong."`
	Location string `json:"location" doc:"Where: query.limit, body.items[3]; empty if it has no location."`
}

// kind is what a Problem's type ends with.
type kind string

// The kinds of problems that a client may want to tell apart.
const (
	plainKind       kind = ""
	unknownPipeline kind = "unknown-pipeline"
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
	claimRefused    kind = "claim-" // followed by why: held, done, not-offered, paused
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

// at adds one thing that is wrong, with its place.
func (p *Problem) at(location, message string) *Problem {
	p.Errors = append(p.Errors, ProblemDetail{Message: message, Location: location})
	return p
}

// with adds a header.
func (p *Problem) with(name, value string) *Problem {
	if p.header == nil {
		p.header = http.Header{}
	}
	p.header.Set(name, value)
	return p
}

// Error is the detail: a Problem is an error of this package's handlers.
func (p *Problem) Error() string { return p.Detail }

// Unwrap gives what lies beneath, which clients never see.
func (p *Problem) Unwrap() error { return p.cause }

// GetStatus makes a Problem an error that huma answers with.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders lets huma send the headers along.
func (p *Problem) GetHeaders() http.Header { return p.header }

// ContentType is that of RFC 9457.
func (p *Problem) ContentType(string) string { return problemType }

const problemType = "application/problem+json"

// write answers with p.
func (p *Problem) write(w http.ResponseWriter, r *http.Request) {
	p.place(r.Context())
	for name, values := range p.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", problemType)
	body, err := json.Marshal(p)
	if err != nil {
		body = []byte("{}") // texts and numbers always have a JSON form
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // a client that is gone has no use for it
}

// place says which request p answers.
func (p *Problem) place(ctx context.Context) {
	if c := callOf(ctx); c != nil && !p.placed {
		p.Instance, p.RequestID = c.path, c.id
		c.err = p.cause
	}
}

// problemOf is the answer to an error that a handler returned.
func problemOf(err error) *Problem {
	var p *Problem
	var r *router.Refusal
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &r):
		return refusal(r)
	case errors.Is(err, explain.ErrUnknownPipeline):
		return problem(http.StatusNotFound, unknownPipeline, "%s", err)
	case errors.Is(err, store.ErrNotFound):
		return problem(http.StatusNotFound, plainKind, "there is no such record")
	case errors.Is(err, store.ErrCursor):
		return badRequest("%s", err).at("query.cursor", "not understood")
	case errors.Is(err, store.ErrTooLarge):
		return problem(http.StatusRequestEntityTooLarge, plainKind, "%s", err)
	case store.FaultOf(err) != nil:
		p = faultProblem(store.FaultOf(err))
	case errors.Is(err, store.ErrAway):
		p = problem(http.StatusServiceUnavailable, plainKind, "the store is not available just now, and the request may or may not have been carried out; /readyz says why").with("Retry-After", "5")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		p = problem(http.StatusServiceUnavailable, plainKind, "the request ended before its answer was there")
	default:
		p = problem(http.StatusInternalServerError, plainKind, "something went wrong inside the server; its log has the cause under this request's id")
	}
	p.cause = err
	return p
}

// faultProblem answers a write that the store refused, or a read that hit damage.
func faultProblem(f *store.Fault) *Problem {
	k := storeFault + kind(f.Kind)
	if f.Kind == store.Damaged {
		return problem(http.StatusInsufficientStorage, k, "%s", f.Remedy)
	}
	return problem(http.StatusInsufficientStorage, k, "nothing was stored: %s", f.Remedy).with("Retry-After", "10")
}

// refusal is a wish that was not granted.
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

// humaProblem is what huma itself finds wrong with a request. What it calls unprocessable is malformed here. The values
// that were sent are not repeated: they may be long, or secret.
func humaProblem(status int, message string, errs ...error) *Problem {
	var limit *http.MaxBytesError
	switch {
	case status == http.StatusUnprocessableEntity:
		status = http.StatusBadRequest
	case errors.As(errors.Join(errs...), &limit):
		return problem(http.StatusRequestEntityTooLarge, plainKind, "a request's body has at most %d bytes", limit.Limit)
	}
	k := plainKind
	if status == http.StatusBadRequest {
		k = malformed
	}
	p := problem(status, k, "%s", message)
	for _, err := range errs {
		if err == nil {
			continue
		}
		var d *huma.ErrorDetail
		if errors.As(err, &d) {
			p.at(d.Location, d.Message)
			continue
		}
		if status >= http.StatusInternalServerError {
			p.cause = err
			continue
		}
		p.at("", err.Error())
	}
	p.Detail = p.summed(message)
	return p
}

// summed puts the first thing that is wrong where a person looks first.
func (p *Problem) summed(message string) string {
	if len(p.Errors) == 0 {
		return message
	}
	first := p.Errors[0]
	text := strings.TrimSpace(first.Location + " " + first.Message)
	if more := len(p.Errors) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return message + ": " + text
}

func init() {
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		return humaProblem(status, message, errs...)
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, message string, errs ...error) huma.StatusError {
		p := humaProblem(status, message, errs...)
		p.place(ctx.Context())
		return p
	}
	// A list is [] and never null.
	huma.DefaultArrayNullable = false
}
