package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/archive/pgtest"
)

// probeOf runs `probe run` on a pipeline with these probes and rules, for the probe landing.
func probeOf(t *testing.T, text string, flags ...string) result {
	t.Helper()
	file, server := jobFile(t, text)
	c := call{
		args: append([]string{"probe", "run", file, "landing", "--config", server, "--date", "2026-03-03"}, flags...),
		env:  map[string]string{"TOKEN": "Zq9Xv8Jw7Kp6", "PATH": "/bin:/usr/bin"},
	}
	got := c.run()
	if strings.Contains(got.stdout+got.stderr, "Zq9X") {
		t.Errorf("the output contains a secret:\n%s%s", got.stdout, got.stderr)
	}
	return got
}

const passing = "probes: [{key: landing, command: [sh, -c, 'echo \"{\\\"status\\\": \\\"PASS\\\", \\\"value\\\": {\\\"count\\\": 3, \\\"for\\\": \\\"$INTERLOCK_DATE\\\"}}\"']}]\n"

func TestProbeRunShowsTheAnswerAndItsRules(t *testing.T) {
	rules := "validation: {rules: [{key: landing, check: equals, field: status, value: PASS}, {key: landing, check: gte, field: count, value: LEAST}, {key: other, check: exists}]}\n"
	got := probeOf(t, passing+strings.Replace(rules, "LEAST", "3", 1))
	want := "orders: probe landing, for 2026-03-03\n\nPASS  \nvalue: {\"count\":3,\"for\":\"2026-03-03\"}\n"
	if got.code != 0 || !strings.HasPrefix(got.stdout, want) || !strings.Contains(got.stdout, "✓  landing  count gte 3") || strings.Contains(got.stdout, "other") {
		t.Errorf("exit code %d:\n%s%s", got.code, got.stdout, got.stderr)
	}
	if got = probeOf(t, passing+strings.Replace(rules, "LEAST", "4", 1)); got.code != 1 || !strings.Contains(got.stdout, "✗  landing  count gte 4") {
		t.Errorf("exit code %d:\n%s%s", got.code, got.stdout, got.stderr)
	}
	if got = probeOf(t, passing+"validation: {rules: [{not: {key: landing, check: gte, field: count, value: 4}}]}\n"); got.code != 0 {
		t.Errorf("a rule inside not: exit code %d:\n%s%s", got.code, got.stdout, got.stderr)
	}
}

func TestProbeRunWithoutRulesGoesByTheStatus(t *testing.T) {
	if got := probeOf(t, passing); got.code != 0 || !strings.Contains(got.stdout, "no rule of this pipeline reads it") {
		t.Errorf("exit code %d:\n%s%s", got.code, got.stdout, got.stderr)
	}
	if got := probeOf(t, strings.Replace(passing, "PASS", "FAIL", 1)); got.code != 1 {
		t.Errorf("exit code %d:\n%s%s", got.code, got.stdout, got.stderr)
	}
}

// Rules see a query without a row as they see a missing reading.
func TestProbeRunWithoutARow(t *testing.T) {
	file, server := jobFile(t, `probes: [{key: landing, builtin: sql, config: {driver: postgres, dsnEnv: TOKEN, query: "SELECT 1 AS n WHERE false"}}]
validation: {rules: [{key: landing, check: exists}, {key: landing, check: not_equals, field: status, value: FAIL}]}
`)
	got := call{args: []string{"probe", "run", file, "landing", "--config", server}, env: map[string]string{"TOKEN": pgtest.Database(t)}}.run()
	if got.code != 1 || !strings.Contains(got.stdout, "UNKNOWN  the query returned no row\n") || strings.Count(got.stdout, "no reading") != 2 {
		t.Errorf("exit code %d:\n%s%s", got.code, got.stdout, got.stderr)
	}
}

func TestProbeRunSaysWhyAProbeBroke(t *testing.T) {
	const broken = "probes: [{key: landing, command: [sh, -c, 'echo \"no such table $TOKEN\" >&2; exit 4'], env: {TOKEN: '${env:TOKEN}'}}]\n"
	if got := probeOf(t, broken); got.code != 3 || !strings.Contains(got.stdout, "broke  exited with code 4: no such table ***") {
		t.Errorf("exit code %d:\n%s%s", got.code, got.stdout, got.stderr)
	}
	got := probeOf(t, broken, "--format", "json")
	var report map[string]any
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"pipeline", "probe", "date", "seconds", "broken", "status", "value", "reason", "failureCategory", "rules"} {
		if _, there := report[key]; !there {
			t.Errorf("no %s in %s", key, got.stdout)
		}
	}
	if report["broken"] != true || report["status"] != nil || report["failureCategory"] != "TRANSIENT" {
		t.Errorf("got %s", got.stdout)
	}
}

func TestProbeRunRejectsUnknownProbes(t *testing.T) {
	file, _ := jobFile(t, passing)
	for name, want := range map[string]string{"landin": `did you mean "landing"?`, "x": "use one of landing"} {
		if got := interlock("probe", "run", file, name); got.code != 2 || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: exit code %d: %s", name, got.code, got.stderr)
		}
	}
	bare, _ := jobFile(t, "")
	if got := interlock("probe", "run", bare, "x"); got.code != 2 || !strings.Contains(got.stderr, "has no probes") {
		t.Errorf("exit code %d: %s", got.code, got.stderr)
	}
	if got := interlock("probe", "run", filepath.Join(t.TempDir(), "none.yaml"), "x"); got.code != 2 {
		t.Errorf("no file: exit code %d: %s", got.code, got.stderr)
	}
}

func TestProbeOfAnArchetypeIsTriedAsThePipelineUsesIt(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"landing/2026-03-03/a.csv": "1",
		"archetypes/fresh.yaml": "name: fresh\nparameters: {path: {type: string}}\n" +
			"probes: [{key: landing, builtin: file-freshness, config: {path: '${with.path}/${DATE}'}}]\nrules: [{key: landing, check: equals, field: status, value: PASS}]\n",
		"p.yaml": "pipeline: {id: orders, owner: me}\narchetype: fresh\nwith: {path: " + dir + "/landing}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for date, want := range map[string]int{"2026-03-03": 0, "2026-03-04": 1} {
		if got := interlock("probe", "run", filepath.Join(dir, "p.yaml"), "landing", "--date", date); got.code != want {
			t.Errorf("%s: exit code %d, want %d:\n%s%s", date, got.code, want, got.stdout, got.stderr)
		}
	}
}
