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

// Worded is a config with a text that is split into words. It is split before variables are expanded, so that a value
// never becomes several words.
type Worded interface {
	// PutWords is called once the config is decoded. put expands the variables of a text.
	PutWords(raw document.Node, put func(text string) (string, error)) error
}

// Expand sets the attempt's config: it decodes the file's job.config into the job type's own struct with variables
// and secrets expanded, and sets the Redactor that hides those secrets. An error is a *Refusal and shows no secret.
func Expand(a Attempt, raw document.Node, into pipeline.JobConfig, s *Secrets) (Attempt, error) {
	e := expander{variables: a.Variables(), secrets: s}
	expanded, findings := raw.Expand(func(text string) (any, error) { return e.text(text) })
	if len(findings) > 0 {
		return a, e.refuse(findings)
	}
	findings = expanded.Decode(into)
	if worded, ok := into.(Worded); ok && !hasError(findings) {
		if err := worded.PutWords(raw, e.text); err != nil {
			findings = append(findings, document.Finding{Message: err.Error()})
		}
	}
	if !hasError(findings) {
		findings = append(findings, into.Check()...)
	}
	if hasError(findings) {
		return a, e.refuse(e.hide(findings, secretPaths(raw.Value(), "")))
	}
	a.Config = into
	a.Secrets = a.Secrets.With(append(e.used, a.Callback.Token)...)
	return a, nil
}

// Variables returns the variables that pipeline files may use. A day, week or month has no hour.
func (a Attempt) Variables() map[string]string {
	return map[string]string{
		"DATE": a.Date(), "HOUR": a.Hour(), "PERIOD": a.Period.String(),
		"PIPELINE": string(a.Pipeline), "SCHEDULE": string(a.Schedule),
		"ATTEMPT": strconv.Itoa(a.Number), "RUN_ID": string(a.ID),
	}
}

// Date returns the day of the period, as 2026-03-03; for a week or month its first day.
func (a Attempt) Date() string { return a.Period.FirstDay().String() }

// Hour returns the hour of the period, as 07; "" for a day, week or month.
func (a Attempt) Hour() string {
	if a.Period.Size() == 0 || a.Period.Size() > period.Hour {
		return ""
	}
	hour, _ := a.Period.Clock()
	return fmt.Sprintf("%02d", hour)
}

// expander expands texts and records which secrets it used.
type expander struct {
	variables map[string]string
	secrets   *Secrets
	used      []string
	permanent bool // a failure that would repeat
	own       bool // a failure because the controller lacked resources
}

// text expands the variables of text. Values are not expanded again.
func (e *expander) text(text string) (string, error) {
	var filled strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		literal, escaped := strings.CutSuffix(before, `\`)
		switch {
		case !found:
			filled.WriteString(text)
			return filled.String(), nil
		case escaped:
			filled.WriteString(literal + "${")
			text = after
			continue
		}
		name, rest, closed := strings.Cut(after, "}")
		if !closed {
			e.permanent = true
			return "", errors.New(`"${" is not closed by "}"; write \${ for a literal one`)
		}
		value, err := e.value(name)
		if err != nil {
			return "", err
		}
		filled.WriteString(before + value)
		text = rest
	}
}

func (e *expander) value(name string) (value string, err error) {
	if variable, ok := strings.CutPrefix(name, "env:"); ok {
		value, err = e.secrets.fromEnv(variable)
	} else if path, ok := strings.CutPrefix(name, "file:"); ok {
		value, err = e.secrets.fromFile(path)
	} else if stored, ok := strings.CutPrefix(name, string(ManagedSecret)+":"); ok {
		value, err = e.secrets.fromService(ManagedSecret, stored)
	} else if stored, ok := strings.CutPrefix(name, string(Parameter)+":"); ok {
		value, err = e.secrets.fromService(Parameter, stored)
	} else if value, ok = e.variables[name]; ok {
		return value, nil
	} else {
		err = Refuse(run.Permanent, "unknown variable ${%s}", name)
	}
	if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
		e.permanent = e.permanent || refusal.Category == run.Permanent
		e.own = e.own || refusal.Own
	}
	if err == nil {
		e.used = append(e.used, value)
	}
	return value, err
}

// refuse returns a Refusal for the findings: a transient one only if nothing is wrong except unreadable files.
func (e *expander) refuse(findings []document.Finding) error {
	var texts []string
	for _, f := range findings {
		if f.Severity != document.Warning {
			texts = append(texts, document.JoinPath("job.config", f.Path)+": "+f.Message)
		}
	}
	category := run.Transient
	if e.permanent {
		category = run.Permanent
	}
	return &Refusal{Category: category, Reason: strings.Join(texts, "; "), Own: e.own && !e.permanent}
}

// hide replaces messages about values with a secret, because they may quote all or part of it. The findings stay
// permanent.
func (e *expander) hide(findings []document.Finding, secret []string) []document.Finding {
	e.permanent = true
	for i, f := range findings {
		if slices.ContainsFunc(slices.Concat(f.Also, []string{f.Path}), func(path string) bool { return touches(path, secret) }) {
			findings[i].Message = "is invalid once its secrets are filled in; their values are not shown"
		}
	}
	return findings
}

// touches reports whether a path equals, contains or lies within one of the others.
func touches(path string, others []string) bool {
	within := func(inner, outer string) bool {
		rest, ok := strings.CutPrefix(inner, outer)
		return ok && (rest == "" || outer == "" || rest[0] == '.' || rest[0] == '[')
	}
	return slices.ContainsFunc(others, func(o string) bool { return within(path, o) || within(o, path) })
}

// secretPaths returns the paths of the texts in value that contain a secret.
func secretPaths(value any, path string) []string {
	var paths []string
	switch v := value.(type) {
	case string:
		if HasSecret(v) {
			paths = append(paths, path)
		}
	case []any:
		for i, item := range v {
			paths = append(paths, secretPaths(item, fmt.Sprintf("%s[%d]", path, i))...)
		}
	case map[string]any:
		for key, item := range v {
			paths = append(paths, secretPaths(item, document.KeyPath(path, key))...)
		}
	}
	return paths
}

func hasError(findings []document.Finding) bool {
	return slices.ContainsFunc(findings, func(f document.Finding) bool { return f.Severity != document.Warning })
}
