package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
)

// variables are the names allowed in ${…} in the strings of job.config.
var variables = []string{"DATE", "HOUR", "PERIOD", "PIPELINE", "SCHEDULE", "ATTEMPT", "RUN_ID"}

// probeVariables are those of a probe, which is for a period and belongs to no run.
var probeVariables = []string{"DATE", "HOUR", "PERIOD", "PIPELINE", "ATTEMPT"}

// variableFindings checks every ${…} in the strings of value, a decoded job.config or a part of a probe, against the
// known names.
func variableFindings(value any, known []string) []document.Finding {
	return eachVariable(value, func(name string) string { return variableProblem(name, known) })
}

// eachVariable calls problem with the name of every ${…} in the strings of value, and returns its messages at their
// paths. An empty message is not a finding.
func eachVariable(value any, problem func(name string) string) []document.Finding {
	switch v := value.(type) {
	case string:
		return textFindings(v, problem)
	case []any:
		var findings []document.Finding
		for i, item := range v {
			findings = append(findings, document.Under(fmt.Sprintf("[%d]", i), eachVariable(item, problem))...)
		}
		return findings
	case map[string]any:
		var findings []document.Finding
		for _, key := range slices.Sorted(maps.Keys(v)) {
			findings = append(findings, document.Under(document.KeyPath("", key), eachVariable(v[key], problem))...)
		}
		return findings
	default:
		return nil
	}
}

// textFindings checks the variables of one text. `\${` is a literal.
func textFindings(text string, problem func(name string) string) []document.Finding {
	var findings []document.Finding
	_, err := document.Fill(text, func(name string) (string, error) {
		if message := problem(name); message != "" {
			findings = append(findings, document.Finding{Message: message})
		}
		return "", nil
	})
	if err != nil {
		findings = append(findings, document.Finding{Message: err.Error()})
	}
	return findings
}

func variableProblem(name string, known []string) string {
	for _, prefix := range []string{"env:", "file:", "secret:", "ssm:"} {
		if secret, ok := strings.CutPrefix(name, prefix); ok {
			if strings.TrimSpace(secret) == "" {
				return fmt.Sprintf("${%s} names nothing; write ${env:NAME}, ${file:PATH}, ${secret:NAME#key} or ${ssm:NAME}", name)
			}
			return secretProblem(name)
		}
	}
	if slices.Contains(known, name) {
		return ""
	}
	if near, ok := document.Suggest(name, known); ok {
		return fmt.Sprintf("unknown variable ${%s}; did you mean ${%s}?", name, near)
	}
	return fmt.Sprintf("unknown variable ${%s}; known are %s, env:NAME, file:PATH, secret:NAME#key and ssm:NAME; write \\${%s} for a literal one",
		name, strings.Join(known, ", "), name)
}
