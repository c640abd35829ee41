package job

import (
	"slices"
	"strings"
)

// Template variables such as ${DATE} may occur in any text of a job's config. Their names are checked with the
// pipeline; the functions here only keep them from disturbing other checks.

// HasVariable reports whether text contains a template variable.
func HasVariable(text string) bool { return Mask(text) != text }

// HasSecret reports whether text contains a value from the environment, a file or a secret store.
func HasSecret(text string) bool {
	return slices.ContainsFunc([]string{"${env:", "${file:", "${secret:", "${ssm:"}, func(prefix string) bool { return strings.Contains(text, prefix) })
}

// Mask returns text with each template variable replaced by the digit 1, which is valid wherever a variable may
// occur: in a host, a port, a path, a JSON number or text. An escaped \${ is not a variable.
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

// VariableEnd returns the length of the template variable at the beginning of text; 0 if there is none.
func VariableEnd(text string) int {
	if !strings.HasPrefix(text, "${") {
		return 0
	}
	return strings.IndexByte(text, '}') + 1
}
