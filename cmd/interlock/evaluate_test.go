package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// report is the JSON output of evaluate.
type report struct {
	Open    bool
	Outcome string
	Date    string
	At      string
	Rules   []struct{ Key, Outcome, Reason string }
}

// evaluate runs the command on a pipeline and facts, and decodes its JSON output.
func evaluate(t *testing.T, yaml, facts string, args ...string) (report, int) {
	t.Helper()
	args = append([]string{"evaluate", write(t, "p.yaml", yaml), "--sensors", "-", "--format", "json"}, args...)
	got := call{args: args, stdin: facts}.run()
	var r report
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		t.Fatalf("%v\nstdout: %s\nstderr: %s", err, got.stdout, got.stderr)
	}
	return r, got.code
}

// outcomes returns the gate's outcome, and then that of each rule.
func outcomes(r report) string {
	all := []string{r.Outcome}
	for _, leaf := range r.Rules {
		all = append(all, leaf.Outcome)
	}
	return strings.Join(all, " ")
}

const (
	ruled   = "pipeline: {id: ruled, owner: data}\nschedule: {cron: \"0 6 * * *\"}\nvalidation: {rules: [{key: r, check: equals, field: ok, value: true}]}\n"
	cronned = "pipeline: {id: cronned, owner: data}\nschedule: {cron: \"0 6 * * *\", timezone: America/New_York, trigger: {key: go, check: exists}}\n"
	shifted = "pipeline: {id: shifted, owner: data}\nschedule: {cron: \"5 * * * *\", offset: -1, trigger: {key: go, check: exists}}\n"
	borrow  = "pipeline: {id: borrow, owner: data}\nvalidation: {rules: [{key: r, check: equals, field: n, value: 1, from: lender}]}\n"
)

func TestTheReadingOfThePeriodCounts(t *testing.T) {
	at := "2026-03-03T12:00:00Z"
	tests := []struct {
		name, yaml, facts string
		args              []string
		want              string
		code              int
	}{
		{"undated", ruled, `{"r": {"ok": true}}`, nil, "pass pass", 0},
		{"fails", ruled, `{"r": {"ok": false}}`, nil, "fail fail", 1},
		{"unknown", ruled, `{}`, nil, "unknown unknown", 1},
		{"dated by the key", ruled, `{"r#2026-03-03": {"ok": true}}`, nil, "pass pass", 0},
		{"dated by the data", ruled, `{"r": {"ok": true, "date": "20260303"}}`, nil, "pass pass", 0},
		{"of another period", ruled, `{"r#2026-03-02": {"ok": true}}`, nil, "unknown unknown", 1},
		{"dated before undated", ruled, `{"r": {"ok": true}, "r#2026-03-03": {"ok": false}}`, nil, "fail fail", 1},
		{"several periods", ruled, `{"r#2026-03-02": {"ok": true}, "r#2026-03-03": {"ok": false}}`, []string{"--date", "2026-03-02"}, "pass pass", 0},
		{"a day holds for its hours", ruled, `{"r#2026-03-03": {"ok": true}}`, []string{"--date", "2026-03-03T07"}, "pass pass", 0},
		{"an hour does not hold for its day", ruled, `{"r#2026-03-03T07": {"ok": true}}`, nil, "unknown unknown", 1},

		{"undated start condition", cronned, `{"go": {}}`, nil, "pass pass", 0},
		{"undated start condition before the period", cronned, `{"go": {}}`, []string{"--date", "2026-03-04"}, "fail fail", 1},
		{"undated start condition after the period", cronned, `{"go": {}}`, []string{"--date", "2026-03-01"}, "pass pass", 0},
		{"dated start condition before the period", cronned, `{"go#2026-03-04": {}}`, []string{"--date", "2026-03-04"}, "pass pass", 0},
		{"the period begins in the schedule's zone", cronned, `{"go": {}}`, []string{"--at", "2026-03-04T04:59:59Z", "--date", "2026-03-04"}, "fail fail", 1},
		{"and not later", cronned, `{"go": {}}`, []string{"--at", "2026-03-04T05:00:00Z", "--date", "2026-03-04"}, "pass pass", 0},
		{"the period is that of the fire, not of the data", shifted, `{"go": {}}`, []string{"--at", "2026-03-03T11:59:59Z", "--date", "2026-03-03T11"}, "fail fail", 1},
		{"from its first instant", shifted, `{"go": {}}`, []string{"--at", "2026-03-03T12:00:00Z", "--date", "2026-03-03T11"}, "pass pass", 0},

		{"another pipeline's by its full name", borrow, `{"lender:r": {"n": 1}, "r": {"n": 2}}`, nil, "pass pass", 0},
		{"another pipeline's by its key", borrow, `{"r": {"n": 1}}`, nil, "pass pass", 0},
		{"another pipeline's with a period", borrow, `{"lender:r#2026-03-03": {"n": 1}}`, nil, "pass pass", 0},
		{"a third pipeline's is not it", borrow, `{"third:r": {"n": 1}}`, nil, "unknown unknown", 1},
		{"one's own by its full name", ruled, `{"ruled:r": {"ok": true}}`, nil, "pass pass", 0},

		{"no rules", good, `{}`, nil, "pass", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"--at", at}, tt.args...)
			got, code := evaluate(t, tt.yaml, tt.facts, args...)
			if outcomes(got) != tt.want {
				t.Errorf("outcomes %q, want %q: %+v", outcomes(got), tt.want, got)
			}
			if code != tt.code || got.Open != (tt.code == 0) {
				t.Errorf("exit code %d, open %v, want code %d", code, got.Open, tt.code)
			}
		})
	}
}

func TestARuleInsideNotIsShownAsItCounts(t *testing.T) {
	file := write(t, "p.yaml", "pipeline: {id: calm, owner: data}\nvalidation: {rules: [{not: {key: hold, check: exists}}]}\n")
	for facts, want := range map[string][]string{
		"{}":           {"✓  hold", "gate: open (its rule passes)"},
		`{"hold": {}}`: {"✗  hold", "gate: closed (1 rule: 1 failed)"},
	} {
		got := call{args: []string{"evaluate", file, "--sensors", "-"}, stdin: facts}.run()
		if !in(got.stdout, want...) {
			t.Errorf("%s: %q is not in: %s", facts, want, got.stdout)
		}
		got = call{args: []string{"evaluate", file, "--sensors", "-", "--format", "json"}, stdin: facts}.run()
		own, counts := `"outcome": "fail"`, `"effectiveOutcome": "pass"`
		if facts != "{}" {
			own, counts = `"outcome": "pass"`, `"effectiveOutcome": "fail"`
		}
		if !in(got.stdout, own, counts) {
			t.Errorf("%s: %s and %s are not in: %s", facts, own, counts, got.stdout)
		}
	}
}

// Without cron the start condition opens the run: passing rules are not enough.
func TestGateIsClosedWhileTheStartConditionIsNotMet(t *testing.T) {
	file := write(t, "p.yaml", "pipeline: {id: landing, owner: data}\nschedule: {trigger: {key: landed, check: exists}, exclude: {weekends: true}}\n"+
		"validation: {rules: [{key: rows, check: exists}]}\njob: {type: command, config: {command: [load]}}\n")
	for _, tt := range []struct {
		facts, at string
		code      int
		want      []string
	}{
		{`{"rows": {}}`, "2026-03-03T06:00:00Z", 1, []string{`"open": false`, `"outcome": "pass"`, `"code": "start-condition"`}},
		{`{"rows": {}, "landed#2026-03-02": {}}`, "2026-03-03T06:00:00Z", 1, []string{`"code": "start-condition"`, "2026-03-02"}},
		{`{"rows": {}, "landed": {}}`, "2026-03-03T06:00:00Z", 0, []string{`"open": true`, `"blockedBy": []`}},
		{`{"landed": {}}`, "2026-03-03T06:00:00Z", 1, []string{`"open": false`, `"code": "rules"`}},
		{`{"rows": {}, "landed": {}}`, "2026-03-07T06:00:00Z", 1, []string{`"open": false`, `"code": "excluded"`}},
	} {
		got := call{args: []string{"evaluate", file, "--sensors", "-", "--at", tt.at, "--format", "json"}, stdin: tt.facts}.run()
		if got.code != tt.code || !in(got.stdout, tt.want...) {
			t.Errorf("%s at %s: exit code %d, want %d and %q in: %s", tt.facts, tt.at, got.code, tt.code, tt.want, got.stdout)
		}
	}
	got := call{args: []string{"evaluate", file, "--sensors", "-"}, stdin: `{"rows": {}}`}.run()
	if !in(got.stdout, "✗  landed", "(start condition)", "gate: closed (the start condition is not met: landed: no reading)") {
		t.Errorf("got %s", got.stdout)
	}
}

func TestThePeriodDefaultsToThatOfTheInstant(t *testing.T) {
	tests := []struct{ yaml, at, want string }{
		{cronned, "2026-03-04T04:59:59Z", "2026-03-03"},
		{cronned, "2026-03-04T05:00:00Z", "2026-03-04"},
		{shifted, "2026-03-03T11:00:00Z", "2026-03-03T10"},
	}
	for _, tt := range tests {
		if got, _ := evaluate(t, tt.yaml, "{}", "--at", tt.at); got.Date != tt.want {
			t.Errorf("at %s: %s, want %s", tt.at, got.Date, tt.want)
		}
	}
	if got, _ := evaluate(t, ruled, "{}"); got.At != "2026-03-03T12:00:00Z" || got.Date != "2026-03-03" {
		t.Errorf("without --at: %+v", got)
	}
}

func TestEveryKeyOfAnEvaluationIsThere(t *testing.T) {
	got := call{args: []string{"evaluate", write(t, "p.yaml", ruled), "--sensors", "-", "--format", "json"}, stdin: "{}"}.run()
	var r map[string]any
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		"after", "at", "blockedBy", "date", "degraded", "excluded", "excludedReason", "open", "opensAt", "outcome", "pipeline", "preferUntil", "retryAfterSeconds", "rules", "run", "startCondition",
	}, sortedKeys(r)); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	leaf := r["rules"].([]any)[0].(map[string]any)
	if diff := cmp.Diff([]string{"check", "effectiveOutcome", "field", "from", "group", "key", "level", "needs", "outcome", "reason", "time", "value"}, sortedKeys(leaf)); diff != "" {
		t.Errorf("keys of a rule (-want +got):\n%s", diff)
	}
	if leaf["value"] != nil || leaf["reason"] == "" {
		t.Errorf("value %v, reason %v", leaf["value"], leaf["reason"])
	}
	got = call{args: []string{"evaluate", write(t, "p.yaml", good), "--sensors", "-", "--format", "json"}, stdin: "{}"}.run()
	if !strings.Contains(got.stdout, `"rules": []`) || !strings.Contains(got.stdout, `"after": []`) {
		t.Errorf("empty lists: %s", got.stdout)
	}
}

func TestMalformedFactsNameTheirKey(t *testing.T) {
	tests := []struct {
		name, facts string
		want        []string
	}{
		{"not an object", `{"r": 5}`, []string{`"r"`, "a number"}},
		{"bad date", `{"r": {"date": "2026-02-30"}}`, []string{`"r"`, "2026-02-30"}},
		{"bad hour", `{"r": {"date": "2026-03-03", "hour": 24}}`, []string{`"r"`, "24"}},
		{"bad suffix", `{"r#yesterday": {}}`, []string{"r#yesterday"}},
		{"bad key", `{"a b": {}}`, []string{"a b"}},
		{"bad pipeline", `{"A B:r": {}}`, []string{"A B:r"}},
		{"a key twice", `{"r": {}, "r": {}}`, []string{`"r"`, "two readings", "undated"}},
		{"a period twice", `{"r": {"date": "2026-03-03"}, "r#20260303": {}}`, []string{"two readings", "for 2026-03-03"}},
		{"a field twice", `{"r": {"a": 1, "a": 2}}`, []string{`"r"`, "twice"}},
		{"list", `[]`, []string{"an object of sensors"}},
		{"empty", ``, []string{"not JSON"}},
		{"cut short", `{"r": {"a": 1}`, []string{"unexpected end of input"}},
		{"cut in a reading", `{"r": {"a": `, []string{`"r"`, "unexpected end of input"}},
		{"no JSON", "{\n\"r\": {],\n}", []string{"line 2"}},
		{"no JSON between", "{\"r\": {}\n x}", []string{"line"}},
		{"no key", `{5: {}}`, []string{"not JSON"}},
		{"no value", `{"r"}`, []string{"not JSON"}},
		{"only a comma", `{,}`, []string{"not JSON"}},
		{"no colon", `{"r" {}}`, []string{"not JSON"}},
		{"more behind", `{} {}`, []string{"unexpected data after"}},
		{"too large", `{"r": {"a": "` + strings.Repeat("x", maxFactsBytes) + `"}}`, []string{"16 MiB"}},
	}
	file := write(t, "p.yaml", ruled)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := call{args: []string{"evaluate", file, "--sensors", "-"}, stdin: tt.facts}.run()
			if got.code != 2 || got.stdout != "" {
				t.Errorf("exit code %d, stdout %s", got.code, got.stdout)
			}
			for _, want := range tt.want {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("%q is not in: %s", want, got.stderr)
				}
			}
		})
	}
}

func TestAnInvalidPipelineIsNotEvaluated(t *testing.T) {
	for _, args := range [][]string{
		{"evaluate", "testdata/broken/mistakes.yaml", "--sensors", "testdata/facts/open.json"},
		{"next", "testdata/broken/mistakes.yaml"},
	} {
		got := must(t, 2, args...)
		if got.stdout != "" || !strings.Contains(got.stderr, "mistakes.yaml:5:1: schedul:") || !strings.Contains(got.stderr, "^\n") {
			t.Errorf("%s\nstdout: %s\nstderr: %s", args[0], got.stdout, got.stderr)
		}
	}
}

func TestNotesSayWhatTheVerdictOmits(t *testing.T) {
	got := must(t, 1, "evaluate", "testdata/pipelines/orders.yaml", "--sensors", "testdata/facts/closed.json", "--at", "2026-12-25T06:00:00Z")
	for _, want := range []string{`calendar "holidays"`, "bronze must also be COMPLETED", `no rule reads the sensor "rate"`} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is not in:\n%s", want, got.stdout)
		}
	}
}
