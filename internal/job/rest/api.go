package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

// API is a JSON API as one job's config describes it.
type API struct {
	Client  *Client
	Base    string // its URL, to which paths are appended
	Headers job.Headers
	Limit   time.Duration // of one request
	Secrets job.Redactor
}

// Call is one request to an API.
type Call struct {
	What   string // the beginning of errors: "look at DAG run 5"
	Method string
	Path   []string // each is one path segment, whatever it contains
	Query  url.Values
	Body   any
}

// Large is a value that is decoded while its answer arrives, because the answer may be too large to
// keep.
type Large interface{ DecodeFrom(d *json.Decoder) error }

// Answered is an unsuccessful answer. Its message contains no secret.
type Answered struct {
	Answer
	Text  string
	After time.Duration // how long the target asks to wait
}

func (a *Answered) Error() string { return a.Text }

// Do makes the call and decodes the answer. The error is an *Answered for any code but 2xx, and a
// *job.Refusal if the request certainly did not reach the target; after any other error the outcome
// is unknown.
func (a API) Do(ctx context.Context, c Call, into any) error {
	c.What = a.Secrets.Text(c.What)
	m, err := a.message(c)
	if err != nil {
		return job.Refuse(run.Permanent, "%s: %s", c.What, a.Secrets.Text(err.Error()))
	}
	if large, ok := into.(Large); ok {
		m.read = large.DecodeFrom
	}
	got, err := a.Client.Send(ctx, m, a.Limit)
	switch {
	case err != nil:
		return about(c.What, a.Secrets.Error(err))
	case !got.Success():
		return a.answered(c.What, got)
	}
	return a.read(c.What, got, into)
}

// about adds what the call was for to an error.
func about(what string, err error) error {
	if refusal, ok := errors.AsType[*job.Refusal](err); ok {
		copied := *refusal
		copied.Reason = what + ": " + copied.Reason
		return &copied
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (a API) message(c Call) (Message, error) {
	m, err := NewMessage(c.Method, a.Base, a.Headers)
	if err != nil {
		return m, err
	}
	m.AsIs = true
	m.url = m.url.JoinPath(escaped(c.Path)...)
	m.url.RawQuery = c.Query.Encode()
	if m.Header.Get("Accept") == "" {
		m.Header.Set("Accept", jsonKind)
	}
	if c.Body == nil {
		return m, nil
	}
	return m, m.SetBody(c.Body)
}

// escaped escapes segments, so that neither a slash nor two dots change the path.
func escaped(segments []string) []string {
	safe := make([]string, len(segments))
	for i, s := range segments {
		safe[i] = url.PathEscape(s)
		if strings.Trim(s, ".") == "" {
			safe[i] = strings.ReplaceAll(s, ".", "%2E")
		}
	}
	return safe
}

// read decodes a successful answer.
func (a API) read(what string, got Answer, into any) error {
	what = fmt.Sprintf("%s: answered %d", what, got.Code)
	switch {
	case got.partial:
		return fmt.Errorf("%s with more than %d KiB, which is not read", what, maxBody>>10)
	case got.isHTML():
		return fmt.Errorf("%s with an HTML page instead of JSON; check that the URL belongs to the API and that no login page is in front of it", what)
	}
	err := got.unread
	if _, large := into.(Large); !large {
		err = json.Unmarshal([]byte(got.Body), into)
	}
	switch {
	case errors.Is(err, errTooLarge):
		return fmt.Errorf("%s with more than %d MiB, which is not read", what, maxLarge>>20)
	case err != nil:
		return fmt.Errorf("%s with unexpected JSON: %s", what, a.Secrets.Text(err.Error()))
	}
	return nil
}

// answered returns the error for an unsuccessful answer, with its remedy.
func (a API) answered(what string, got Answer) error {
	text := what + ": " + got.message(a.Secrets, explanation(got.shown(a.Secrets)))
	switch {
	case got.Code == http.StatusUnauthorized:
		text += "; the credentials in job.config.headers are missing, wrong or expired"
	case got.Code == http.StatusForbidden:
		text += "; the credentials in job.config.headers do not allow this"
	case got.Code >= 300 && got.Code < 400:
		text += "; an API does not redirect: check the URL, and that no login page is in front of it"
	}
	return &Answered{Answer: got, Text: text, After: got.retryAfter(a.Client.now())}
}

// explanation returns the message in the JSON of a failure, from one of the usual fields, or all of
// it.
func explanation(body string) string {
	var fields struct {
		Detail, Title, Message any
		Code                   any `json:"error_code"`
	}
	if json.Unmarshal([]byte(body), &fields) != nil {
		return body
	}
	var parts []string
	for _, part := range []any{fields.Code, fields.Title, fields.Message, fields.Detail} {
		if text, ok := part.(string); ok && text != "" {
			parts = append(parts, strings.ReplaceAll(text, "\n", " "))
		}
	}
	if len(parts) == 0 {
		return body
	}
	return strings.Join(parts, ": ")
}

// NotStarted returns the error for an unsuccessful answer to a start: a *job.Refusal if it proves
// that nothing was started.
func (c *Client) NotStarted(got Answer, secrets job.Redactor) error {
	text := got.message(secrets, got.shown(secrets))
	if got.open() {
		return errors.New(text)
	}
	return &job.Refusal{Category: got.blame(), Reason: text, After: got.retryAfter(c.now())}
}

// Started converts err for Start: an answer is a refusal if it proves that nothing was started. An
// API never redirects, so a redirect comes from something else, such as a login page.
func Started(err error) error {
	answered, ok := errors.AsType[*Answered](err)
	if !ok || answered.open() && answered.Code >= 400 {
		return err
	}
	category := answered.blame()
	if answered.Code < 400 {
		category = run.Permanent // a wrong address, or a login page
	}
	return &job.Refusal{Category: category, Reason: answered.Text, After: answered.After}
}

// Open converts err to an error that leaves the outcome of a start open, whatever it says about the
// call that it comes from.
func Open(err error) error {
	if errors.As(err, new(*job.Refusal)) || errors.As(err, new(*Answered)) {
		return errors.New(err.Error())
	}
	return err
}

// Checked converts err for Check: a refusal only if the same would happen again.
func Checked(err error) error {
	refusal, ok := errors.AsType[*job.Refusal](Started(err))
	switch {
	case !ok:
		return err
	case refusal.Category == run.Permanent:
		return refusal
	}
	return Open(err)
}
