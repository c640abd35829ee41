package job

import (
	"slices"
	"strings"
)

// Template variables such as ${DATE} may stand in any text of a job's config. Their names are checked with the pipeline;
// here they are only kept out of the way of other checks.

// HasVariable reports whether text holds a template variable.
func HasVariable(text string) bool { return Mask(text) != text }

// HasSecret reports whether text takes a part from the environment, a file or a service that stores secrets.
func HasSecret(text string) bool {
	return slices.ContainsFunc([]string{"${env:", "${file:", "${secret:", "${ssm:"}, func(prefix string) bool { return strings.Contains(text, prefix) })
}

// Mask is text with each template variable replaced by the digit 1, which fits wherever a variable's value would: in a
// host, a port, a path, a JSON number or text. An escaped \${ is no variable.
func Mask(text string) string {
	var masked strings.Builder
	for {
		start := strings.Index(text, "${")
		if start < 0 {
			break
		}
		end := VariableEnd(text[start:])
		if end == 0 || start > 0 && text[start-1] == '\\' {
			masked.WriteString(text[:start+2])
			text = text[start+2:]
			continue
		}
		masked.WriteString(text[:start] + "1")
		text = text[start+end:]
	}
	masked.WriteString(text)
	return masked.String()
}

// VariableEnd is the length of the template variable that text begins with; 0 when it begins with none.
func VariableEnd(text string) int {
	if !strings.HasPrefix(text, "${") {
		return 0
	}
	return strings.IndexByte(text, '}') + 1
}
