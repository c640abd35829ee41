package http

import (
	"fmt"
	nethttp "net/http"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

const (
	maxOutput     = 64 << 10
	maxMessage    = 300            // how much of a body's first line goes into a message
	maxRetryAfter = 24 * time.Hour // no target may delay a start for longer
)

// answer is what came back: a response, or the reason why a redirect could not be followed to one.
type answer struct {
	code    int
	header  nethttp.Header
	body    string // at most maxBody of it
	partial bool   // there is more

	failure  string
	category run.Category
}

func (a answer) success() bool { return a.code >= 200 && a.code < 300 }

// result is the answer as a job's end.
func (a answer) result(secrets job.Redactor) job.Status {
	shown := a.shown(secrets)
	status := job.Status{
		Done: true, Result: run.ResultSuccess,
		Message: a.message(secrets, shown),
		Output:  strings.ToValidUTF8(shown[max(0, len(shown)-maxOutput):], ""),
	}
	if !a.success() {
		status.Result, status.Category = run.ResultFail, a.blame()
	}
	return status
}

// shown is the body without secrets, nor the beginning of one at its end.
func (a answer) shown(secrets job.Redactor) string {
	end := len(a.body)
	if a.partial {
		end = max(0, end-secrets.Overlap())
	}
	return secrets.Part(a.body, 0, end)
}

// blame is whose fault a failure is.
func (a answer) blame() run.Category {
	switch {
	case a.failure != "":
		return a.category
	case a.code == nethttp.StatusRequestTimeout, a.code == nethttp.StatusTooEarly, a.code == nethttp.StatusTooManyRequests:
		return run.Transient
	case a.code >= 400 && a.code < 500:
		return run.Permanent
	default:
		return run.Transient
	}
}

// message is one line: the status and, of a failure, how its body begins.
func (a answer) message(secrets job.Redactor, body string) string {
	if a.failure != "" {
		return secrets.Text(a.failure)
	}
	text := strings.TrimSpace(fmt.Sprintf("answered %d %s", a.code, nethttp.StatusText(a.code)))
	line, _, _ := strings.Cut(strings.TrimSpace(body), "\n")
	line = strings.ToValidUTF8(line[:min(len(line), maxMessage)], "")
	if line = strings.TrimSpace(line); a.success() || line == "" || a.isHTML() {
		return text
	}
	return text + ": " + line
}

// isHTML says whether the body is a page, whose first line tells nothing.
func (a answer) isHTML() bool {
	return strings.Contains(a.header.Get("Content-Type"), "html") || strings.HasPrefix(strings.TrimSpace(a.body), "<")
}

// retryAfter is how long the target asks to be left alone, in seconds or until an instant; 0 if it does not say.
func (a answer) retryAfter(now time.Time) time.Duration {
	wish := a.header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(wish, 10, 64); err == nil {
		return time.Duration(max(0, min(seconds, int64(maxRetryAfter/time.Second)))) * time.Second
	}
	until, err := nethttp.ParseTime(wish)
	if err != nil {
		return 0
	}
	return max(0, min(until.Sub(now), maxRetryAfter))
}
