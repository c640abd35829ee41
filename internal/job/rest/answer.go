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

// maxRetryAfter is how long a target may delay a start.
const maxRetryAfter = 24 * time.Hour

// Answer is what came back: a response, or the reason why a redirect could not be followed to one.
type Answer struct {
	Code    int
	header  http.Header
	Body    string // at most maxBody of it
	partial bool   // there is more
	unread  error  // why a body that was read while it arrived could not be decoded

	taken    bool // a redirect said that the request was carried out
	failure  string
	category run.Category
}

// open says that the request may have been carried out although the answer is no success: a server may break, and a
// gateway give up waiting, after the job was started.
func (a Answer) open() bool {
	switch a.Code {
	case http.StatusFound, http.StatusSeeOther, http.StatusRequestTimeout:
		return true
	}
	return a.taken || a.Code >= 500
}

// Success says that the target did as it was asked.
func (a Answer) Success() bool { return a.Code >= 200 && a.Code < 300 }

// Result is the answer as a job's end.
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

// shown is the body without secrets, nor the beginning of one at its end.
func (a Answer) shown(secrets job.Redactor) string {
	end := len(a.Body)
	if a.partial {
		end = max(0, end-secrets.Overlap())
	}
	return secrets.Part(a.Body, 0, end)
}

// blame is whose fault a failure is.
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

// message is one line: the status and, of a failure, how its body begins.
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

// isHTML says whether the body is a page, whose first line tells nothing.
func (a Answer) isHTML() bool {
	return strings.Contains(a.header.Get("Content-Type"), "html") || strings.HasPrefix(strings.TrimSpace(a.Body), "<")
}

// retryAfter is how long the target asks to be left alone; 0 if it does not say.
func (a Answer) retryAfter(now time.Time) time.Duration {
	return egress.RetryAfter(a.header, now, maxRetryAfter)
}
