package job

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
)

// Headers are the HTTP headers of a request, by name.
type Headers map[string]document.Text

// Headers that the job type sets itself: the file's own would break the start's idempotency or the
// message.
var reservedHeaders = []string{"content-length", "idempotency-key", "transfer-encoding"}

// Headers whose value is a secret.
var secretHeaders = []string{"api-key", "authorization", "cookie", "proxy-authorization", "x-api-key", "x-auth-token"}

// Check reports invalid headers, in order of their names.
func (h Headers) Check(path string) []document.Finding {
	var findings []document.Finding
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		at := document.KeyPath(path, name)
		lower := strings.ToLower(name)
		value := string(h[name])
		switch first, twice := seen[lower]; {
		case !isToken(name):
			findings = append(findings, document.Finding{Path: at, Key: true, Message: fmt.Sprintf("%q is not a header name; use letters, digits and -", name)})
		case twice:
			findings = append(findings, document.Finding{Path: at, Key: true, Message: "the same header is set twice; names are case-insensitive", Also: []string{document.KeyPath(path, first)}})
		case slices.Contains(reservedHeaders, lower):
			findings = append(findings, document.Finding{Path: at, Key: true, Message: fmt.Sprintf("Interlock sets %s itself; remove it", name)})
		case strings.ContainsAny(value, "\r\n\x00"):
			findings = append(findings, document.Finding{Path: at, Message: "a header value must be one line of text"})
		case slices.Contains(secretHeaders, lower) && value != "" && !HasSecret(value):
			findings = append(findings, document.Finding{Path: at, Severity: document.Warning, Message: "contains a secret; use ${env:NAME} or ${file:PATH} instead"})
		}
		seen[lower] = name
	}
	return findings
}

// isToken reports whether RFC 9110 allows name as a header name.
func isToken(name string) bool {
	for _, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r) {
			return false
		}
	}
	return name != ""
}

// CheckURL finds what is wrong with the URL at path. It never repeats the URL, which may hold a secret.
func CheckURL(path, text string) []document.Finding {
	if text == "" { // missing, which is reported already
		return nil
	}
	u, err := url.Parse(maskURL(text))
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return []document.Finding{{Path: path, Message: "must be an absolute http or https URL such as https://host/path"}}
	case u.User != nil:
		return []document.Finding{{Path: path, Message: "contains a user or password; send credentials in a header, from ${env:NAME} or ${file:PATH}"}}
	case u.Fragment != "":
		return []document.Finding{{Path: path, Message: "contains a fragment (#…), which is never sent; remove it or write %23"}}
	}
	return nil
}

// maskURL returns the URL with its variables masked. If it begins with a variable, its scheme is known only when the
// job starts, so it gets one.
func maskURL(text string) string {
	masked := Mask(text)
	if !strings.HasPrefix(text, "${") {
		return masked
	}
	if rest, isScheme := strings.CutPrefix(masked, "1://"); isScheme {
		return "http://" + rest
	}
	return "http://" + masked
}

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
