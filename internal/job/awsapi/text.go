package awsapi

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

// maxLine is how long a message may be.
const maxLine = 500

// Line returns a text as one line, shortened and without secrets.
func Line(secrets job.Redactor, text string) string {
	text = strings.Join(strings.Fields(secrets.Text(text)), " ")
	return strings.ToValidUTF8(text[:min(len(text), maxLine)], "")
}

// Tail returns the end of a job's output without secrets.
func Tail(secrets job.Redactor, text string) string {
	return strings.ToValidUTF8(secrets.Part(text, max(0, len(text)-job.MaxOutput), len(text)), "")
}

// StatusOf returns the job status of a documented state; that of a failure has the state and the
// service's text as its message. Any other state may be an end that this version does not know, so
// it is an error.
func StatusOf[S ~string](r Request, documented map[S]job.Status, state S, text string) (job.Status, error) {
	status, ok := documented[state]
	switch {
	case !ok:
		return status, fmt.Errorf("%s: unknown state %s", r.What, r.Attempt.Secrets.Text(fmt.Sprintf("%.100q", state)))
	case status.Done && status.Result != run.ResultSuccess:
		status = Failed(r.Attempt.Secrets, status, string(state), text)
	}
	return status, nil
}

// Failed returns the status of a job that did not succeed, with its state and the service's text.
func Failed(secrets job.Redactor, status job.Status, state, text string) job.Status {
	status.Message = strings.TrimSuffix(Line(secrets, state+": "+text), ":")
	status.Output = Tail(secrets, text)
	return status
}

// Head returns the beginning of a text without secrets, with room for the given number of
// characters before it.
func Head(secrets job.Redactor, text string, before int) string {
	return strings.ToValidUTF8(secrets.Part(text, 0, min(len(text), max(0, job.MaxOutput-before))), "")
}

// Optional returns a pointer to text, or nil if it is empty.
func Optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// RegionOf returns the region of an ARN, or "" if the text is not an ARN.
func RegionOf(text string) string {
	parsed, _ := arn.Parse(text) // zero after an error
	return parsed.Region
}
