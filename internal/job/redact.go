package job

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// hiddenAs replaces a secret.
const hiddenAs = "***"

// leastSecret is the minimum length of a value to hide. Anything shorter can be guessed, and hiding
// it would make every text with a 1 in it unreadable.
const leastSecret = 4

// Redactor hides secrets in texts. The zero Redactor hides nothing.
type Redactor struct {
	secrets []string
	forms   []string // the secrets and their encodings, longest first
}

// NewRedactor returns a Redactor for these secrets.
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

// With returns a Redactor that also hides more.
func (r Redactor) With(secrets ...string) Redactor {
	return NewRedactor(append(slices.Clone(r.secrets), secrets...)...)
}

// Secrets returns the values themselves, for a process that has to hide them on its own.
func (r Redactor) Secrets() []string { return slices.Clone(r.secrets) }

// String shows nothing.
func (r Redactor) String() string { return hiddenAs }

// GoString shows nothing.
func (r Redactor) GoString() string { return hiddenAs }

// formsOf returns the texts in which a secret may appear: as it is, trimmed, line by line, and
// encoded for URLs, JSON, Go strings and base64.
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

// Text returns text with every secret hidden.
func (r Redactor) Text(text string) string { return r.Part(text, 0, len(text)) }

// Error returns err with every secret hidden. A *Refusal stays one.
func (r Redactor) Error(err error) error {
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		hidden := *refusal
		hidden.Reason = r.Text(refusal.Reason)
		return &hidden
	}
	if text := r.Text(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}

// Part returns the bytes of text from begin to end as Text shows them. A secret that lies only
// partly in that range is hidden as well.
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

// Overlap returns how much of a text's beginning may belong to a secret that began before it, and
// of its end to one that continues after it. A caller that keeps only a part of a text must show
// that much less of it: see Part.
func (r Redactor) Overlap() int {
	if len(r.forms) == 0 {
		return 0
	}
	return len(r.forms[0]) - 1
}

type span struct{ begin, end int }

// find returns the ranges of text to hide, in order and without overlap. Overlapping secrets are
// hidden together, so that no end of the second one shows.
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
