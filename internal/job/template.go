package job

import (
	"regexp"
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

// variable matches a template variable, together with the backslash that escapes it.
var variable = regexp.MustCompile(`\\?\$\{[^}]*\}`)

// Mask returns text with each template variable replaced by the digit 1, which is valid wherever a variable may
// occur: in a host, a port, a path, a JSON number or text. An escaped \${ is not a variable.
func Mask(text string) string {
	return variable.ReplaceAllStringFunc(text, func(found string) string {
		if found[0] == '\\' {
			return found
		}
		return "1"
	})
}
