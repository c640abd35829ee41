// Package glue is the job type that runs an AWS Glue job.
package glue

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job"
)

// Config is job.config of a glue job.
type Config struct {
	JobName   string                   `yaml:"jobName" required:"true" doc:"The Glue job to run."`
	Arguments map[string]document.Text `yaml:"arguments" doc:"Arguments of the run, with or without the leading --; --par_day, --par_hour and --interlock_run_id are added."`
	LogCheck  LogCheck                 `yaml:"logCheck" doc:"How to check the logs of a run that reports success."`
	job.AWS
	job.Unanswered
}

// LogCheck configures how the logs of a succeeded run are searched for a failure that Glue did not
// report.
type LogCheck struct {
	Enabled  bool     `yaml:"enabled" default:"true" doc:"Whether to check the logs."`
	Group    string   `yaml:"group" doc:"The CloudWatch log group; default the run's own, else /aws-glue/jobs/logs-v2."`
	Patterns []string `yaml:"patterns" minItems:"1" pattern:"\\S" hint:"write a text to search for" doc:"Texts that mean failure; default GlueExceptionAnalysisJobFailed."`
}

func (c *Config) Check() []document.Finding {
	var findings []document.Finding
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Arguments)) {
		at := document.KeyPath("arguments", name)
		bare := strings.TrimPrefix(name, "--")
		first, twice := seen[bare]
		switch {
		case bare == "" || strings.ContainsAny(bare, " =\t\n"):
			findings = append(findings, document.Finding{Path: at, Key: true, Message: fmt.Sprintf("%q is not an argument name; write one such as --source", name)})
		case twice:
			findings = append(findings, document.Finding{Path: at, Key: true, Message: "the same argument is set twice, with and without --", Also: []string{document.KeyPath("arguments", first)}})
		case bare == "interlock_run_id":
			findings = append(findings, document.Finding{Path: at, Key: true, Severity: document.Warning, Message: "Interlock sets this argument itself, to find the job of an unanswered start call; remove it"})
		}
		seen[bare] = name
	}
	return findings
}

// The arguments that every run gets.
const (
	runIDArgument = "--interlock_run_id"
	dayArgument   = "--par_day"
	hourArgument  = "--par_hour"
)

// arguments returns the arguments of the run: the file's own and those that every run gets.
func (g api) arguments() map[string]string {
	arguments := map[string]string{
		dayArgument:   strings.ReplaceAll(g.Attempt.Date(), "-", ""),
		runIDArgument: string(g.Attempt.ID),
	}
	if hour := g.Attempt.Hour(); hour != "" {
		arguments[hourArgument] = hour
	}
	for name, value := range g.Arguments {
		arguments["--"+strings.TrimPrefix(name, "--")] = string(value)
	}
	return arguments
}

// searchable reports whether runs carry the attempt's id. If the file sets that argument itself
// they do not, and another attempt's run could be mistaken for this one's.
func (g api) searchable() bool { return g.arguments()[runIDArgument] == string(g.Attempt.ID) }
