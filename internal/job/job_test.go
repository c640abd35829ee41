package job_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job"
)

func TestURLsAreAbsoluteAndHoldNoCredentials(t *testing.T) {
	const absolute = "must be an absolute http or https URL such as https://host/path"
	tests := map[string]string{
		"https://host/path?d=${DATE}": "", "http://host": "", "http://10.0.0.1:8080/x": "", "http://[::1]:80/": "",
		"${env:BASE}": "", "${env:BASE}/runs/${DATE}": "", "${env:SCHEME}://host/": "", "https://${env:HOST}:${env:PORT}/": "", "https://host/${PIPELINE}": "",
		"host/path": absolute, "/path": absolute, "ftp://host/": absolute, "https://": absolute, "https://:80/": absolute, "mailto:x@y": absolute,
		"https://ho st/": absolute, "http://host:port/": absolute, "hello": absolute, "https:/host": absolute, "http://%zz/": absolute,
		"https://user:pass@host/":   "contains a user or password; send credentials in a header, from ${env:NAME} or ${file:PATH}",
		"https://${env:USER}@host/": "contains a user or password; send credentials in a header, from ${env:NAME} or ${file:PATH}",
		"https://host/#part":        "contains a fragment (#…), which is never sent; remove it or write %23",
		"":                          "",
	}
	for text, want := range tests {
		got := ""
		for _, f := range job.CheckURL("url", text) {
			got += f.Message
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestHeadersAreLegalAndKeepSecretsOut(t *testing.T) {
	got := job.Headers{
		"X-Run": "${RUN_ID}", "Authorization": "Bearer ${env:TOKEN}", "X-Auth-Token": "Basic ${file:/run/secrets/t}",
		"Bad Name": "x", "": "x", "Ünicode": "x", "X-Line": "a\nb", "idempotency-key": "x",
		"X-Api-Key": "s3cret", "x-run": "y",
	}.Check("headers")
	want := []document.Finding{
		{Path: `headers[""]`, Key: true, Message: `"" is not a header name; use letters, digits and -`},
		{Path: `headers["Bad Name"]`, Key: true, Message: `"Bad Name" is not a header name; use letters, digits and -`},
		{Path: "headers.X-Api-Key", Severity: document.Warning, Message: "contains a secret; use ${env:NAME} or ${file:PATH} instead"},
		{Path: "headers.X-Line", Message: "a header value must be one line of text"},
		{Path: "headers.idempotency-key", Key: true, Message: "Interlock sets idempotency-key itself; remove it"},
		{Path: "headers.x-run", Key: true, Message: "the same header is set twice; names are case-insensitive", Also: []string{"headers.X-Run"}},
		{Path: `headers["Ünicode"]`, Key: true, Message: `"Ünicode" is not a header name; use letters, digits and -`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestVariablesAreMaskedUnlessEscaped(t *testing.T) {
	tests := map[string]string{
		"plain": "plain", "${A}": "1", "a${A}b${env:B}": "a1b1", `\${A}`: `\${A}`, `\${A}${B}`: `\${A}1`, "${A": "${A", "$A": "$A", "}${": "}${", "${}": "1",
	}
	for text, want := range tests {
		if got := job.Mask(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
