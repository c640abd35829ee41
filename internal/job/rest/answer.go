package rest

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

// maxRetryAfter is the longest delay that a target may ask for.
const maxRetryAfter = 24 * time.Hour

// Answer is a response, or the reason why a redirect could not be followed.
type Answer struct {
	Code    int
	header  http.Header
	Body    string // at most maxBody of it
	partial bool   // there is more
	unread  error  // why a streamed body could not be decoded

	taken    bool // a redirect said that the request was carried out
	failure  string
	category run.Category
}

// open reports whether the request may have been carried out although the answer is no success: a
// server may break, or a gateway time out, after the job was started.
func (a Answer) open() bool {
	switch a.Code {
	case http.StatusFound, http.StatusSeeOther, http.StatusRequestTimeout:
		return true
	}
	return a.taken || a.Code >= 500
}

// Success reports whether the target carried out the request.
func (a Answer) Success() bool { return a.Code >= 200 && a.Code < 300 }

// Result converts the answer to a job's final status.
func (a Answer) Result(secrets job.Redactor) job.Status {
	shown := a.shown(secrets)
	status := job.Status{
		Done: true, Result: run.ResultSuccess,
		Message: a.message(secrets, shown),
		Output:  job.Tail(shown),
	}
	if !a.Success() {
		status.Result, status.Category = run.ResultFail, a.blame()
	}
	return status
}

// shown returns the body without secrets, and without the beginning of one at its end.
func (a Answer) shown(secrets job.Redactor) string {
	end := len(a.Body)
	if a.partial {
		end = max(0, end-secrets.Overlap())
	}
	return secrets.Part(a.Body, 0, end)
}

// blame returns the category of a failure.
func (a Answer) blame() run.Category {
	switch {
	case a.failure != "":
		return a.category
	case a.Code == http.StatusRequestTimeout, a.Code == http.StatusTooEarly, a.Code == http.StatusTooManyRequests:
		return run.Transient
	case a.Code >= 400 && a.Code < 500:
		return run.Permanent
	default:
		return run.Transient
	}
}

// message returns one line: the status and, for a failure, the beginning of its body.
func (a Answer) message(secrets job.Redactor, body string) string {
	if a.failure != "" {
		return secrets.Text(a.failure)
	}
	text := strings.TrimSpace(fmt.Sprintf("answered %d %s", a.Code, http.StatusText(a.Code)))
	line := job.Line(body)
	if a.Success() || line == "" || a.isHTML() {
		return text
	}
	return text + ": " + line
}

// isHTML reports whether the body is an HTML page, whose first line says nothing useful.
func (a Answer) isHTML() bool {
	return strings.Contains(a.header.Get("Content-Type"), "html") || strings.HasPrefix(strings.TrimSpace(a.Body), "<")
}

// retryAfter returns how long the target asks to wait; 0 if it does not say.
func (a Answer) retryAfter(now time.Time) time.Duration {
	return egress.RetryAfter(a.header, now, maxRetryAfter)
}
