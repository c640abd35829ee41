package job

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// Worded is a config with a text that is split into words. It is split before variables are
// expanded, so that a value never becomes several words.
type Worded interface {
	// PutWords is called once the config is decoded. put expands the variables of a text.
	PutWords(raw document.Node, put func(text string) (string, error)) error
}

// Expand sets the attempt's config: it decodes the file's job.config into the job type's own struct
// with variables and secrets expanded, and sets the Redactor that hides those secrets. An error is
// a *Refusal and shows no secret.
func Expand(a Attempt, raw document.Node, into pipeline.JobConfig, s *Secrets) (Attempt, error) {
	f := NewFill(a.Variables(), s)
	expanded, findings := raw.Expand(func(text string) (any, error) { return f.Text(text) })
	if len(findings) > 0 {
		return a, f.refuse(findings)
	}
	findings = expanded.Decode(into)
	if worded, ok := into.(Worded); ok && !document.HasErrors(findings) {
		if err := worded.PutWords(raw, f.Text); err != nil {
			findings = append(findings, document.Finding{Message: err.Error()})
		}
	}
	if !document.HasErrors(findings) {
		findings = append(findings, into.Check()...)
	}
	if document.HasErrors(findings) {
		return a, f.refuse(f.hide(findings, raw.Value()))
	}
	a.Config = into
	a.Secrets = a.Secrets.With(append(f.used, a.Callback.Token)...)
	return a, nil
}

// Variables returns the variables that pipeline files may use. Only an hour and a minute have an
// hour.
func (a Attempt) Variables() map[string]string {
	return map[string]string{
		"DATE": a.Date(), "HOUR": a.Hour(), "PERIOD": a.Period.String(),
		"PIPELINE": string(a.Pipeline), "SCHEDULE": string(a.Schedule),
		"ATTEMPT": strconv.Itoa(a.Number), "RUN_ID": string(a.ID),
	}
}

// Date returns the day of the period, as 2026-03-03; for a longer period its first day.
func (a Attempt) Date() string { return a.Period.FirstDay().String() }

// Hour returns the hour of the period, as 07; "" for a day or a longer period.
func (a Attempt) Hour() string {
	if a.Period.Size() == 0 || a.Period.Size() > period.Hour {
		return ""
	}
	hour, _ := a.Period.Clock()
	return fmt.Sprintf("%02d", hour)
}

// Fill expands variables and secrets in texts, and records which secrets it used.
type Fill struct {
	variables map[string]string
	secrets   *Secrets
	used      []string
	permanent bool // a failure that would repeat
	own       bool // a failure because the controller lacked resources
}

// NewFill expands these variables, and the secrets that s allows.
func NewFill(variables map[string]string, s *Secrets) *Fill {
	return &Fill{variables: variables, secrets: s}
}

// Secrets returns a Redactor for the secrets used so far.
func (f *Fill) Secrets() Redactor { return NewRedactor(f.used...) }

// Text expands the variables of text. Values are not expanded again. An error contains no secret;
// it is a *Refusal if a secret may not, or cannot, be read.
func (f *Fill) Text(text string) (string, error) {
	filled, err := document.Fill(text, f.value)
	f.permanent = f.permanent || errors.Is(err, document.ErrUnclosed)
	return filled, err
}

// Value expands every text in v.
func (f *Fill) Value(v any) (any, error) {
	switch v := v.(type) {
	case string:
		return f.Text(v)
	case []any:
		filled := make([]any, len(v))
		for i, item := range v {
			one, err := f.Value(item)
			if err != nil {
				return nil, err
			}
			filled[i] = one
		}
		return filled, nil
	case map[string]any:
		filled := make(map[string]any, len(v))
		for key, item := range v {
			one, err := f.Value(item)
			if err != nil {
				return nil, err
			}
			filled[key] = one
		}
		return filled, nil
	default:
		return v, nil
	}
}

func (f *Fill) value(name string) (value string, err error) {
	if value, ok := f.variables[name]; ok {
		return value, nil
	}
	switch kind, of, _ := strings.Cut(name, ":"); kind {
	case "env":
		value, err = f.secrets.fromEnv(of)
	case "file":
		value, err = f.secrets.fromFile(of)
	case string(ManagedSecret), string(Parameter):
		value, err = f.secrets.fromService(SecretKind(kind), of)
	default:
		err = Refuse(run.Permanent, "unknown variable ${%s}", name)
	}
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		f.permanent = f.permanent || refusal.Category == run.Permanent
		f.own = f.own || refusal.Own
	}
	if err == nil {
		f.used = append(f.used, value)
	}
	return value, err
}

// refuse returns a Refusal for the findings: a transient one only if nothing is wrong except
// unreadable files.
func (f *Fill) refuse(findings []document.Finding) error {
	var texts []string
	for _, found := range findings {
		if found.Severity != document.Warning {
			texts = append(texts, document.JoinPath("job.config", found.Path)+": "+found.Message)
		}
	}
	category := run.Transient
	if f.permanent {
		category = run.Permanent
	}
	return &Refusal{Category: category, Reason: strings.Join(texts, "; "), Own: f.own && !f.permanent}
}

// hide replaces messages about values with a secret, because they may quote all or part of it. The
// findings stay permanent.
func (f *Fill) hide(findings []document.Finding, config any) []document.Finding {
	f.permanent = true
	var secret []string
	document.EachText(config, "", func(path, text string) {
		if HasSecret(text) {
			secret = append(secret, path)
		}
	})
	touches := func(path string) bool {
		return slices.ContainsFunc(secret, func(s string) bool { return document.Related(path, s) })
	}
	for i, found := range findings {
		if slices.ContainsFunc(slices.Concat(found.Also, []string{found.Path}), touches) {
			findings[i].Message = "is invalid with its secrets filled in; their values are not shown"
		}
	}
	return findings
}
