package pipeline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
)

// variables are the names allowed in ${…} in the strings of job.config.
var variables = []string{"DATE", "HOUR", "PERIOD", "PIPELINE", "SCHEDULE", "ATTEMPT", "RUN_ID"}

// probeVariables are those of a probe, which is for a period and belongs to no run.
var probeVariables = []string{"DATE", "HOUR", "PERIOD", "PIPELINE", "ATTEMPT"}

// variableFindings checks every ${…} in the strings of value, a decoded job.config or a part of a
// probe, against the known names.
func variableFindings(value any, known []string) []document.Finding {
	return eachVariable(value, func(name string) string { return variableProblem(name, known) })
}

// eachVariable calls problem with the name of every ${…} in the strings of value, and returns its
// messages at their paths. An empty message is not a finding.
func eachVariable(value any, problem func(name string) string) []document.Finding {
	var findings []document.Finding
	document.EachText(value, "", func(path, text string) {
		findings = append(findings, document.Under(path, textFindings(text, problem))...)
	})
	return findings
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
				return fmt.Sprintf("${%s} has no name; write ${env:NAME}, ${file:PATH}, ${secret:NAME#key} or ${ssm:NAME}", name)
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
	return fmt.Sprintf("unknown variable ${%s}; use %s, env:NAME, file:PATH, secret:NAME#key or ssm:NAME, or write \\${%s} for a literal one",
		name, strings.Join(known, ", "), name)
}

// The allowed names in Secrets Manager and Systems Manager, including ARNs. A parameter may be
// followed by its version or label.
var (
	secretName    = regexp.MustCompile(`^[A-Za-z0-9/_+=.@:-]+$`)
	parameterName = regexp.MustCompile(`^[A-Za-z0-9/_.:-]+$`)
)

// secretProblem returns what is wrong with the form of ${secret:NAME}, ${secret:NAME#key} or
// ${ssm:NAME}; "" if nothing is, or if name is something else.
func secretProblem(name string) string {
	if secret, is := strings.CutPrefix(name, "secret:"); is {
		id, key, keyed := strings.Cut(secret, "#")
		switch {
		case !secretName.MatchString(id):
			return fmt.Sprintf("${%s} is not a valid secret name; write ${secret:NAME} or ${secret:NAME#key}, where NAME may be an ARN", name)
		case keyed && strings.TrimSpace(key) == "":
			return fmt.Sprintf("${%s} has no key after #; write ${secret:%s#key}, or ${secret:%s} for the whole secret", name, id, id)
		}
	}
	if parameter, is := strings.CutPrefix(name, "ssm:"); is {
		switch {
		case strings.Contains(parameter, "#"):
			return fmt.Sprintf("${%s}: a parameter has no keys; write ${ssm:NAME}, or ${secret:NAME#key} for a secret of Secrets Manager", name)
		case !parameterName.MatchString(parameter):
			return fmt.Sprintf("${%s} is not a valid parameter name; write ${ssm:NAME} or ${ssm:/path/NAME}", name)
		}
	}
	return ""
}

// unreadable returns a message if the deployment may not read a secret or parameter, or if name is
// a file; otherwise "".
func (o *Offers) unreadable(name string) string {
	if path, is := strings.CutPrefix(name, "file:"); is {
		return fmt.Sprintf("${file:%s} cannot be used on AWS; use ${secret:NAME#key} or ${ssm:NAME}", path)
	}
	if secret, is := strings.CutPrefix(name, "secret:"); is && o != nil {
		id, _, _ := strings.Cut(secret, "#")
		if !slices.ContainsFunc(o.Secrets, func(arn string) bool { return covers(arn, ":secret:", id, randomPart) }) {
			return fmt.Sprintf("the deployment may not read secret %s; add its ARN to job_secret_arns%s", id, example("arn:aws:secretsmanager:REGION:ACCOUNT:secret:", id, "-??????"))
		}
	}
	if parameter, is := strings.CutPrefix(name, "ssm:"); is && o != nil {
		id := parameter
		if !strings.HasPrefix(id, "arn:") {
			id, _, _ = strings.Cut(id, ":") // its version
			id = strings.TrimPrefix(id, "/")
		}
		if !slices.ContainsFunc(o.Parameters, func(arn string) bool { return covers(arn, ":parameter/", id, "") }) {
			return fmt.Sprintf("the deployment may not read parameter %s; add its ARN to job_parameter_arns%s", id, example("arn:aws:ssm:REGION:ACCOUNT:parameter/", id, ""))
		}
	}
	return ""
}

// example returns an example ARN for a name; "" if the name is an ARN.
func example(before, id, after string) string {
	if strings.HasPrefix(id, "arn:") {
		return ""
	}
	return ", such as " + before + id + after
}

// anyByte represents an unknown byte, and randomPart the suffix that Secrets Manager adds to a
// secret's name in its ARN.
const (
	anyByte    = '\x00'
	randomPart = "-\x00\x00\x00\x00\x00\x00"
)

// covers reports whether an ARN with IAM wildcards may match id: an ARN, or the name that follows
// before in one. The ARN of a name ends in after.
func covers(arn, before, id, after string) bool {
	if strings.HasPrefix(id, "arn:") {
		return wildcard(arn, id) || after != "" && wildcard(arn, id+after)
	}
	_, name, whole := strings.Cut(arn, before)
	if !whole {
		return strings.HasSuffix(arn, "*") // a wildcard for all names
	}
	return wildcard(name, id+after)
}

// wildcard reports whether text matches a pattern, in which * matches any text and ? any byte.
func wildcard(pattern, text string) bool {
	for len(pattern) > 0 {
		switch {
		case pattern[0] == '*':
			for i := 0; i <= len(text); i++ {
				if wildcard(pattern[1:], text[i:]) {
					return true
				}
			}
			return false
		case text == "" || pattern[0] != '?' && text[0] != anyByte && pattern[0] != text[0]:
			return false
		}
		pattern, text = pattern[1:], text[1:]
	}
	return text == ""
}
