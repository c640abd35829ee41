package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/airflow"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/job/command"
	"github.com/interlock-go/interlock/internal/job/databricks"
	httpjob "github.com/interlock-go/interlock/internal/job/http"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/settings"
	"github.com/interlock-go/interlock/internal/sink"
	logsink "github.com/interlock-go/interlock/internal/sink/log"
	"github.com/interlock-go/interlock/internal/sink/webhook"
)

// jobs is everything that starts jobs.
type jobs struct {
	types    map[string]job.Type
	commands *command.Type
	guard    *egress.Guard
	secrets  *job.Secrets
	kinds    []pipeline.JobKind
	callback func(key run.Key, attempt int) job.Callback
}

func newJobs(f settings.File, getenv func(string) string, callbacks api.Callbacks) (*jobs, error) {
	guard, err := egress.New(f.Egress.Allow)
	if err != nil {
		return nil, err
	}
	secrets, err := job.NewSecrets(f.Secrets.Env, f.Secrets.Files, func(name string) (string, bool) {
		value := getenv(name)
		return value, value != ""
	})
	if err != nil {
		return nil, err
	}
	commands, err := command.New(command.Options{Jobs: jobsDir(f.Data), Getenv: getenv})
	if err != nil {
		return nil, err
	}
	return &jobs{
		types: map[string]job.Type{
			"command":    commands,
			"http":       httpjob.New(guard),
			"airflow":    airflow.New(guard),
			"databricks": databricks.New(guard),
		},
		commands: commands, guard: guard, secrets: secrets, kinds: all.Kinds(), callback: callbacks.For,
	}, nil
}

// expand gives an attempt its config, with variables and secrets put in, and its callback.
func (j *jobs) expand(a job.Attempt, of *pipeline.Job) (job.Attempt, error) {
	i := slices.IndexFunc(j.kinds, func(k pipeline.JobKind) bool { return k.Name == of.Type })
	if i < 0 {
		return a, job.Refuse(run.Permanent, "there is no job type %q", of.Type)
	}
	a.Callback = j.callback(run.Key{Pipeline: a.Pipeline, Schedule: a.Schedule, Period: a.Period}, a.Number)
	return job.Expand(a, of.Raw, j.kinds[i].NewConfig(), j.secrets)
}

// sweep removes what ended commands left, long after anybody could ask for them.
func (j *jobs) sweep(ctx context.Context, now time.Time, keep time.Duration) error {
	_, err := j.commands.Sweep(ctx, now.Add(-keep))
	return err
}

// newSinks makes the places that alerts go to. The log is always one of them.
func newSinks(a settings.Alerts, guard *egress.Guard, getenv func(string) string, logger *slog.Logger) ([]sink.Sink, error) {
	sinks := []sink.Sink{logsink.New(logger)}
	if a.Slack != nil {
		return nil, fmt.Errorf("alerts.slack is not available in this build; use alerts.webhooks")
	}
	client := guard.Client(30 * time.Second)
	for i, w := range a.Webhooks {
		secret := ""
		if w.SecretEnv != "" {
			if secret = getenv(w.SecretEnv); secret == "" {
				return nil, fmt.Errorf("alerts.webhooks[%d]: the environment variable %s, which should hold the signing secret, is empty", i, w.SecretEnv)
			}
		}
		sinks = append(sinks, webhook.New(webhook.Config{Name: a.WebhookName(i), URL: w.URL, Secret: secret, Client: client, Now: time.Now}))
	}
	return sinks, nil
}

// readTokens reads the tokens that the server's file names.
func readTokens(list []settings.Token, getenv func(string) string) ([]api.Token, error) {
	var tokens []api.Token
	for _, t := range list {
		role, err := api.ParseRole(t.Role)
		if err != nil {
			return nil, err
		}
		secret, from := getenv(t.TokenEnv), "environment variable "+t.TokenEnv
		if t.TokenFile != "" {
			data, err := os.ReadFile(t.TokenFile)
			if err != nil {
				return nil, fmt.Errorf("read the token of %q: %w", t.Name, err)
			}
			secret, from = strings.TrimSpace(string(data)), "file "+t.TokenFile
		}
		if secret == "" {
			return nil, fmt.Errorf("the token of %q is empty: look at %s", t.Name, from)
		}
		tokens = append(tokens, api.Token{Name: t.Name, Role: role, Pipelines: t.Pipelines, Secret: secret})
	}
	return tokens, nil
}
