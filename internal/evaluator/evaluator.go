// Package evaluator runs one probe, once: a program that gets the question on its standard input,
// an HTTP endpoint, or a built-in probe. It returns the answer, or why there is none. When a probe
// runs, for which period, and what happens with its answer is decided elsewhere: see packages probe
// and prober.
package evaluator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/rest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/program"
	"github.com/interlock-go/interlock/internal/run"
)

// Options configure an Evaluator.
type Options struct {
	Guard   *egress.Guard
	Secrets *job.Secrets
	Getenv  func(name string) string
	// Programs decides whether, and as which user, probes may run commands.
	Programs program.Policy
	Grace    time.Duration // how long a program has to exit after SIGTERM; 0 means a second
}

// Evaluator runs probes. It has no state and is safe for concurrent use.
type Evaluator struct {
	Options
	client *rest.Client
}

const usualGrace = time.Second

// New returns an Evaluator.
func New(o Options) *Evaluator {
	if o.Grace <= 0 {
		o.Grace = usualGrace
	}
	return &Evaluator{Options: o, client: rest.New(o.Guard)}
}

// Evaluate runs the probe and returns its answer. It takes no longer than the probe's timeout, plus
// a moment to end a program. The error is a *probe.Failure without secrets, or ctx's error if ctx
// ended first.
func (e *Evaluator) Evaluate(ctx context.Context, r probe.Request) (probe.Answer, error) {
	limited, cancel := context.WithTimeout(ctx, r.Probe.Timeout)
	defer cancel()
	a, err := e.filled(r)
	if err != nil {
		return probe.Answer{}, failure(run.Permanent, "%v", err)
	}
	answer, err := a.ask(limited)
	if err == nil {
		err = sized(answer)
	}
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return probe.Answer{}, ctx.Err()
	case limited.Err() != nil:
		return probe.Answer{}, failure(run.Timeout, "did not answer within its timeout of %s", document.Duration(r.Probe.Timeout))
	}
	if known, ok := errors.AsType[*probe.Failure](err); ok {
		return probe.Answer{}, &probe.Failure{Category: known.Category, Reason: a.secrets.Text(known.Reason)}
	}
	return probe.Answer{}, failure(run.Transient, "%s", a.secrets.Text(err.Error()))
}

func failure(c run.Category, format string, args ...any) *probe.Failure {
	return &probe.Failure{Category: c, Reason: fmt.Sprintf(format, args...)}
}

// asking is a probe with its variables and secrets filled in.
type asking struct {
	*Evaluator
	probe    pipeline.Probe
	attempt  job.Attempt
	dir      string // base of relative paths
	question probe.Question
	secrets  job.Redactor
	dsn      string // connection string of an sql probe
}

// ask runs the probe according to its kind.
func (a *asking) ask(ctx context.Context) (probe.Answer, error) {
	switch {
	case a.probe.Builtin != "":
		return a.builtin(ctx)
	case a.probe.URL != "":
		return a.post(ctx)
	default:
		return a.execute(ctx)
	}
}

// filled fills variables and secrets into every text of the probe.
func (e *Evaluator) filled(r probe.Request) (*asking, error) {
	attempt := job.Attempt{Pipeline: r.Pipeline, Period: r.Period, Number: r.Attempt}
	fill := job.NewFill(attempt.Variables(), e.Secrets)
	p := r.Probe
	var err error
	if p.Command, err = filledList(fill, p.Command); err != nil {
		return nil, fmt.Errorf("command: %w", err)
	}
	if p.URL, err = fill.Text(p.URL); err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	if p.Headers, err = filledMap(fill, p.Headers); err != nil {
		return nil, fmt.Errorf("headers: %w", err)
	}
	if p.Env, err = filledMap(fill, p.Env); err != nil {
		return nil, fmt.Errorf("env: %w", err)
	}
	config, err := fill.Value(p.Config)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	if p.Config = config.(map[string]any); p.Config == nil {
		p.Config = map[string]any{}
	}
	dsn := ""
	if name, _ := p.Config["dsnEnv"].(string); p.Builtin == pipeline.SQL && name != "" {
		if dsn, err = fill.Text("${env:" + name + "}"); err != nil {
			return nil, fmt.Errorf("config.dsnEnv: %w", err)
		}
	}
	return &asking{
		Evaluator: e, probe: p, attempt: attempt, dir: program.ProjectDir(r.File), secrets: fill.Secrets(), dsn: dsn,
		question: probe.Question{
			Protocol: probe.Protocol, Pipeline: string(r.Pipeline), TraitType: p.Key, Period: r.Period.String(),
			Config: p.Config, Attempt: r.Attempt, Deadline: time.Now().Add(p.Timeout).UTC().Truncate(time.Millisecond),
		},
	}, nil
}

func filledList(fill *job.Fill, texts []string) ([]string, error) {
	filled := make([]string, len(texts))
	for i, text := range texts {
		var err error
		if filled[i], err = fill.Text(text); err != nil {
			return nil, err
		}
	}
	return filled, nil
}

func filledMap(fill *job.Fill, texts map[string]string) (map[string]string, error) {
	filled := make(map[string]string, len(texts))
	for name, text := range texts {
		var err error
		if filled[name], err = fill.Text(text); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return filled, nil
}

// sized returns a failure if the answer is too large for a reading.
func sized(answer probe.Answer) error {
	if err := answer.CheckSize(); err != nil {
		return failure(run.Permanent, "%v", err)
	}
	return nil
}

// answer parses the answer, with secrets removed.
func (a *asking) answer(text []byte) (probe.Answer, error) {
	got, err := probe.ParseAnswer([]byte(a.secrets.Text(string(text))))
	if err != nil {
		return probe.Answer{}, failure(run.Permanent, "%v", err)
	}
	return got, nil
}

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
