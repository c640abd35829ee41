package awsapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/interlock-go/interlock/internal/job"
)

const (
	maxLine   = 500      // how much of a message is shown
	maxOutput = 64 << 10 // and of what a job printed
)

// Line is a text in one line, up to a length and without secrets.
func Line(secrets job.Redactor, text string) string {
	text = strings.Join(strings.Fields(secrets.Text(text)), " ")
	return strings.ToValidUTF8(text[:min(len(text), maxLine)], "")
}

// Tail is the end of what a job printed, without secrets.
func Tail(secrets job.Redactor, text string) string {
	return strings.ToValidUTF8(secrets.Part(text, max(0, len(text)-maxOutput), len(text)), "")
}

// StatusOf is what a state means for a job, of the states that the service documents. Any other may be an end that this
// version does not know, so it is an error.
func StatusOf[S ~string](r Request, documented map[S]job.Status, state S) (job.Status, error) {
	status, ok := documented[state]
	if !ok {
		return status, fmt.Errorf("%s: unknown state %s", r.What, r.Attempt.Secrets.Text(fmt.Sprintf("%.100q", state)))
	}
	return status, nil
}

// Told is the status of a job that did not succeed, with its state and what the service says about it.
func Told(secrets job.Redactor, status job.Status, state, text string) job.Status {
	status.Message = strings.TrimSuffix(Line(secrets, state+": "+text), ":")
	status.Output = Tail(secrets, text)
	return status
}

// Head is how a text begins, without secrets, where so much is shown before it.
func Head(secrets job.Redactor, text string, before int) string {
	return strings.ToValidUTF8(secrets.Part(text, 0, min(len(text), max(0, maxOutput-before))), "")
}

// JSON is a value of a config as services take it.
func JSON(value any) (string, error) {
	var buffer bytes.Buffer
	e := json.NewEncoder(&buffer)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return strings.TrimSuffix(buffer.String(), "\n"), err
}

// RegionOf is the region that an ARN names, if the text is one.
func RegionOf(text string) string {
	parsed, err := arn.Parse(text)
	if err != nil {
		return ""
	}
	return parsed.Region
}
