package evaluator

import (
	"context"
	"errors"
	"net/http"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/rest"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/run"
)

// post sends the question to an endpoint and parses the answer from a 2xx response.
func (a *asking) post(ctx context.Context) (probe.Answer, error) {
	message, err := a.message(http.MethodPost, a.probe.URL, a.probe.Headers)
	if err != nil {
		return probe.Answer{}, err
	}
	message.AsIs = true
	if err := message.SetBody(a.question); err != nil {
		return probe.Answer{}, failure(run.Permanent, "encode its config as JSON: %v", err)
	}
	got, err := a.client.Send(ctx, message, a.probe.Timeout)
	switch {
	case err != nil:
		return probe.Answer{}, unsent(err)
	case !got.Success():
		status := got.Result(a.secrets)
		return probe.Answer{}, failure(status.Category, "%s", status.Message)
	case len(got.Body) > probe.MaxAnswer:
		return probe.Answer{}, failure(run.Permanent, "answered with more than %d KiB", probe.MaxAnswer>>10)
	}
	return a.answer([]byte(got.Body))
}

// message returns a request with the headers from the file.
func (a *asking) message(method, address string, headers map[string]string) (rest.Message, error) {
	named := job.Headers{}
	for name, value := range headers {
		named[name] = document.Text(value)
	}
	message, err := rest.NewMessage(method, address, named)
	if err != nil {
		return message, failure(run.Permanent, "url: %v", err)
	}
	return message, nil
}

// unsent returns the failure for a request that had no response.
func unsent(err error) *probe.Failure {
	if refusal, ok := errors.AsType[*job.Refusal](err); ok {
		return failure(refusal.Category, "%s", refusal.Reason)
	}
	return failure(run.Transient, "%v", err)
}
