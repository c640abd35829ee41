package audit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/audit"
)

func TestDiffListsTheValuesThatChanged(t *testing.T) {
	const before = "# one\nschedule: {cron: 0 5 * * *}\nvalidation:\n  rules:\n    - {key: rows, check: gt, value: 10}\n    - {key: ready, check: exists}\n"
	many := func(format string) string {
		var b strings.Builder
		for i := range 2000 {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	tests := []struct {
		name, before, after string
		want                []string
	}{
		{"a comment is no change", before, strings.Replace(before, "# one", "# two", 1), nil},
		{"a value", before, strings.Replace(before, "10", "5", 1), []string{"- validation.rules[0].value: 10", "+ validation.rules[0].value: 5"}},
		{"a new first item moves the others", before, strings.Replace(before, "rules:\n", "rules:\n    - {key: new, check: exists}\n", 1), []string{"+ validation.rules[0].key: \"new\"", "+ validation.rules[0].check: \"exists\""}},
		{"another type", "a: 5", "a: '5'", []string{"- a: 5", `+ a: "5"`}},
		{"the order of arguments", "command: [rm, a, b]", "command: [rm, b, a]", []string{`- command: ["rm", "a", "b"]`, `+ command: ["rm", "b", "a"]`}},
		{"swapped values of items", "r: [{v: 1}, {v: 2}]", "r: [{v: 2}, {v: 1}]", []string{"- r[0].v: 1", "+ r[1].v: 1"}},
		{"nothing is removed", "a: {}", "a: {b: null}", []string{"- a: {}", "+ a.b: null"}},
		{"what cannot be parsed", "a: 1", "a: [", nil},
		{"a long value is cut", "a: x", "a: " + strings.Repeat("ab ", 200), []string{`- a: "x"`, `+ a: "` + strings.Repeat("ab ", 200)[:199] + "…"}},
		{"far too many values", many("a%d: 1\n"), many("b%d: 1\n"), []string{"about 2000 values changed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, audit.Diff([]byte(tt.before), []byte(tt.after))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDiffIsBounded(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "a%d: 1\n", i)
	}
	lines := audit.Diff([]byte("z: 1\n"), []byte(b.String()))
	if len(lines) != 61 || lines[60] != "and 241 more lines" {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}

// The secret of each text must not be shown; what is around it may.
func TestDiffShowsNoSecrets(t *testing.T) {
	const secret = "hunter2"
	for _, text := range []string{
		"job: {config: {headers: {X-Anything: hunter2}}}",
		"job: {config: {headers: {Authorization: 'Bearer hunter2'}}}",
		"job: {config: {password: hunter2}}",
		"job: {config: {auth: {user: ann, pass: hunter2}}}",
		"job: {config: {env: {DB_PASSWORD: hunter2, AWS_SECRET_ACCESS_KEY: hunter2}}}",
		"job: {config: {apiKey: hunter2, api_token: [hunter2]}}",
		"job:\n  config:\n    token: |\n      hunter2\n      hunter2\n",
		"job: {config: {command: [curl, -H, 'Authorization: Bearer hunter2']}}",
		"job: {config: {command: [curl, -u, 'ann:hunter2']}}",
		"job: {config: {command: [psql, --password, hunter2]}}",
		"job: {config: {command: [psql, --password=hunter2]}}",
		"job: {config: {command: 'sh -c \"PGPASSWORD=hunter2 psql\"'}}",
		"job: {config: {command: 'mysql --token hunter2'}}",
		"job: {config: {url: 'https://ann:hunter2@host/'}}",
		"job: {config: {url: 'https://host/?a=1&api_key=hunter2'}}",
		"job: {config: {url: 'https://hooks.slack.com/services/T0/B0/hunter2'}}",
		"job: {config: {body: '{\"password\": \"hunter2\"}'}}",
		"job: {config: {text: 'xoxb-hunter2hunter2'}}",
		"job: {config: {text: 'ghp_hunter2hunter2'}}",
		"job: {config: {text: 'eyJhunter2.hunter2.hunter2'}}",
		"job: {config: {text: \"-----BEGIN RSA PRIVATE KEY-----\\nhunter2\\n-----END\"}}",
		"job: {config: {text: 'hunter2hunter2hunter2hunter2hunter2'}}",
		"# hunter2\njob: {config: {text: other}}",
	} {
		for _, lines := range [][]string{audit.Diff([]byte("a: 1"), []byte(text)), audit.Diff([]byte(text), []byte("a: 1"))} {
			if got := strings.Join(lines, "\n"); strings.Contains(got, secret) || len(lines) == 0 {
				t.Errorf("%s\nis shown as\n%s", text, got)
			}
		}
	}
	changed := audit.Diff([]byte("headers: {a: hunter1}"), []byte("headers: {a: hunter2}"))
	if diff := cmp.Diff([]string{`- headers.a: "[redacted]"`, `+ headers.a: "[redacted]"`}, changed); diff != "" {
		t.Errorf("a changed secret (-want +got):\n%s", diff)
	}
}

func TestDiffShowsNamesOfSecretsAndOrdinaryValues(t *testing.T) {
	for _, value := range []string{
		`headers.Authorization: "Bearer ${env:TOKEN}"`, `token: "${file:/run/secrets/token}"`, `password: "${secret:db}"`,
		`text: "--password=${env:PW}"`, `cron: "0 5 * * *"`, `path: "s3://bucket/silver-orders-enriched-daily-v2-europe/2026"`,
		`image: "registry.example.com/team/load:1.2.3"`, `key: "rows"`, `on: true`,
	} {
		key, text, _ := strings.Cut(value, ": ")
		file := key + ": " + text
		if top, sub, nested := strings.Cut(key, "."); nested {
			file = top + ": {" + sub + ": " + text + "}"
		}
		if diff := cmp.Diff([]string{"- a: 1", "+ " + value}, audit.Diff([]byte("a: 1"), []byte(file))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
