package api

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// attemptToken matches the callback tokens and permits of all replicas.
var attemptToken = regexp.MustCompile(`il(?:cb|pm)_[0-9]+_[0-9A-Za-z]+_[-_0-9A-Za-z]+`)

// redact replaces the secrets in texts that a client reports about a run's job: the token of the
// request, all callback tokens and permits, and the secrets of the job. Nothing is stored or logged
// before. If a secret cannot be read, it cannot be found in the texts either, so the message says
// that instead, and the output is dropped.
func (a *API) redact(ctx context.Context, key run.Key, message, output *string) error {
	if *message == "" && *output == "" {
		return nil
	}
	secrets, err := a.jobSecrets(ctx, key)
	if refusal, ok := errors.AsType[*job.Refusal](err); ok {
		*message = "the message was not stored, because the secrets of the job cannot be redacted: " + refusal.Reason
		*output = ""
		return nil
	}
	if err != nil {
		return err
	}
	secrets = secrets.With(attemptToken.FindAllString(*message+"\n"+*output, -1)...)
	if sent, ok := bearer(callOf(ctx).request); ok {
		secrets = secrets.With(sent)
	}
	*message, *output = secrets.Text(*message), secrets.Text(*output)
	return nil
}

// jobSecrets returns what hides the secrets of a run's job, by the version of the file that its
// attempt opened with. The error is a *job.Refusal if that version is not available, or one of the
// secrets cannot be read.
func (a *API) jobSecrets(ctx context.Context, key run.Key) (job.Redactor, error) {
	r, err := store.IfFound(a.store.Run(ctx, key))
	if err != nil {
		return job.Redactor{}, fmt.Errorf("read run %s: %w", key, err)
	}
	if a.expand == nil || r.Status == "" { // of a run that does not exist, nothing is stored
		return job.Redactor{}, nil
	}
	def, err := a.catalog.Of(ctx, r)
	if catalog.IsGone(err) {
		return job.Redactor{}, job.Refuse(run.Permanent, "its version of the pipeline file is not available")
	}
	if err != nil {
		return job.Redactor{}, err
	}
	if def.Job == nil || !usesSecrets(def.Job.Raw) {
		return job.Redactor{}, nil
	}
	expanded, err := a.expand(job.Attempt{
		ID: r.ID(), Pipeline: key.Pipeline, Schedule: key.Schedule, Period: key.Period, Number: r.Attempt, File: def.File,
	}, def.Job)
	return expanded.Secrets, err
}

// usesSecrets reports whether a job's config has secrets.
func usesSecrets(config document.Node) bool {
	found := false
	document.EachText(config.Value(), "", func(_, text string) { found = found || job.HasSecret(text) })
	return found
}
