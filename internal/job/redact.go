package job

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// hiddenAs is what stands where a secret stood.
const hiddenAs = "***"

// leastSecret is the length from which a value is hidden. Anything shorter can be guessed, and hiding it would make
// every text unreadable in which a 1 occurs.
const leastSecret = 4

// Redactor hides secrets in texts. The zero Redactor hides nothing.
type Redactor struct {
	secrets []string
	forms   []string // the secrets and how they look when encoded, longest first
}

// NewRedactor makes a Redactor for these secrets.
func NewRedactor(secrets ...string) Redactor {
	var r Redactor
	for _, secret := range secrets {
		if len(secret) < leastSecret || slices.Contains(r.secrets, secret) {
			continue
		}
		r.secrets = append(r.secrets, secret)
		r.forms = append(r.forms, formsOf(secret)...)
	}
	slices.SortFunc(r.forms, func(a, b string) int { return len(b) - len(a) })
	r.forms = slices.Compact(r.forms)
	return r
}

// With is r with more to hide.
func (r Redactor) With(secrets ...string) Redactor {
	return NewRedactor(append(slices.Clone(r.secrets), secrets...)...)
}

// Secrets are the values themselves, for a process that has to hide them on its own.
func (r Redactor) Secrets() []string { return slices.Clone(r.secrets) }

// String shows nothing.
func (r Redactor) String() string { return hiddenAs }

// GoString shows nothing.
func (r Redactor) GoString() string { return hiddenAs }

// formsOf are the texts in which a secret may turn up: as it is, without the blanks around it, line by line, and as
// URLs, JSON, Go's quotes and base64 write it.
func formsOf(secret string) []string {
	forms := append(strings.Split(secret, "\n"), secret, strings.TrimSpace(secret))
	for _, form := range slices.Clone(forms) {
		quoted, err := json.Marshal(form)
		if err == nil {
			forms = append(forms, string(quoted[1:len(quoted)-1]))
		}
		goQuoted := strconv.Quote(form)
		forms = append(forms, goQuoted[1:len(goQuoted)-1], url.QueryEscape(form), url.PathEscape(form))
	}
	for _, code := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		forms = append(forms, code.EncodeToString([]byte(secret)))
	}
	return slices.DeleteFunc(forms, func(form string) bool { return len(strings.TrimSpace(form)) < leastSecret })
}

// Text is text with every secret hidden.
func (r Redactor) Text(text string) string { return r.Part(text, 0, len(text)) }

// Part is what Text shows of the bytes of text from begin to end. A secret that lies in it only partly is hidden as well.
func (r Redactor) Part(text string, begin, end int) string {
	var shown strings.Builder
	at := begin
	for _, s := range r.find(text) {
		if s.end <= begin || s.begin >= end {
			continue
		}
		if s.begin > at {
			shown.WriteString(text[at:s.begin])
		}
		shown.WriteString(hiddenAs)
		at = min(s.end, end)
	}
	shown.WriteString(text[at:end])
	return shown.String()
}

// Overlap is how much of a text's beginning may belong to a secret that began before it, and of its end to one that goes
// on after it. Whoever keeps only a part of a text shows that much less of it: see Part.
func (r Redactor) Overlap() int {
	if len(r.forms) == 0 {
		return 0
	}
	return len(r.forms[0]) - 1
}

type span struct{ begin, end int }

// find gives the parts of text to hide, in order and apart from each other. Secrets that overlap are hidden together, so
// that no end of the second one shows.
func (r Redactor) find(text string) []span {
	var all []span
	for _, form := range r.forms {
		for from := 0; ; {
			i := strings.Index(text[from:], form)
			if i < 0 {
				break
			}
			all = append(all, span{from + i, from + i + len(form)})
			from += i + 1
		}
	}
	slices.SortFunc(all, func(a, b span) int { return a.begin - b.begin })
	var joined []span
	for _, s := range all {
		if last := len(joined) - 1; last >= 0 && s.begin < joined[last].end {
			joined[last].end = max(joined[last].end, s.end)
			continue
		}
		joined = append(joined, s)
	}
	return joined
}
