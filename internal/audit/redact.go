package audit

import (
	"regexp"
	"slices"
	"strings"
)

const redacted = "[redacted]"

const secretWord = `(?:passw|passphrase|pwd|secret|token|credential|authoriz|cookie|signature|dsn|(?:api|access|account|private|shared|encryption|signing|client|ssh|hmac)[-_.]?key)`

var (
	// secretName matches the name of a value that is probably a secret.
	secretName = regexp.MustCompile(`(?i)` + secretWord + `|^auth$|(?:^|[-_.])pass(?:$|[-_.])`)
	// secretFlag matches an argument after which a secret follows.
	secretFlag = regexp.MustCompile(`(?i)^--?[\w-]*` + secretWord + `[\w-]*$|^(?:-u|--user|--pass|--auth)$`)
	// reference matches a text that contains only references, such as Bearer ${env:TOKEN}.
	reference = regexp.MustCompile(`(?i)^(?:\$\{[^}]*\}|\b(?:bearer|basic|token)\b|[\s:;,="'])*$`)
	variable  = regexp.MustCompile(`\$\{[^}]*\}`)
	// secretsInText match secrets inside a text; the first group stays.
	secretsInText = []*regexp.Regexp{
		regexp.MustCompile(`(?is)(-----BEGIN [A-Z ]*-----).*`),
		regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[^\s"'$]+`),
		regexp.MustCompile(`(?i)([\w.-]*` + secretWord + `[\w.-]*["']?(?:\s*[=:]\s*|\s+)["']?)[^\s"',;&$]+`),
		regexp.MustCompile(`(://)[^/\s@$]+@`),
		regexp.MustCompile(`(hooks\.slack\.com/services/)\S+`),
		regexp.MustCompile(`()\b(?:AKIA|ASIA|xox[abeprs]-|gh[opsru]_|github_pat_|glpat-|sk[-_]|eyJ)[\w.-]{8,}`),
	}
	longWord = regexp.MustCompile(`[\w+=-]{32,}`)
)

// redact replaces what looks like a secret in a value of a configuration file. keys are the keys
// that lead to it, before is the value before it in its list. References such as ${env:NAME} stay.
func redact(keys []string, before, text string) string {
	named := slices.ContainsFunc(keys, func(key string) bool {
		return secretName.MatchString(key) || strings.EqualFold(key, "headers")
	})
	if (named || secretFlag.MatchString(before)) && !reference.MatchString(text) {
		return redacted
	}
	var shown strings.Builder
	for at := 0; at <= len(text); {
		end, next := len(text), len(text)+1
		if found := variable.FindStringIndex(text[at:]); found != nil {
			end, next = at+found[0], at+found[1]
		}
		shown.WriteString(redactText(text[at:end]))
		shown.WriteString(text[end:min(next, len(text))])
		at = next
	}
	return shown.String()
}

// redactText replaces the secrets in a text without references.
func redactText(text string) string {
	for _, pattern := range secretsInText {
		text = pattern.ReplaceAllString(text, "${1}"+redacted)
	}
	return longWord.ReplaceAllStringFunc(text, func(word string) string {
		if looksRandom(word) {
			return redacted
		}
		return word
	})
}

// looksRandom reports whether a long word is more likely a key than a name: without separators it
// has letters and digits, with separators also letters of both cases.
func looksRandom(word string) bool {
	has := func(set string) bool { return strings.ContainsAny(word, set) }
	const lower, upper, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	if !has(digits) {
		return false
	}
	if has("-_") {
		return has(lower) && has(upper)
	}
	return has(lower) || has(upper)
}
