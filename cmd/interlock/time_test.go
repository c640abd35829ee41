package main

import (
	"strings"
	"testing"

	"github.com/interlock-go/interlock/client"
)

// preferringFile starts without prices once its day has begun; patientFile waits until its data has
// stopped changing.
const (
	preferringFile = `
pipeline: {id: preferring, owner: data}
schedule: {trigger: {key: landed, check: exists}, period: day}
validation: {preferUntil: "00:00", rules: [{key: prices, check: exists, level: preferred}, {key: landed, check: exists}]}
job: {type: command, config: {command: ["true"]}}
`
	patientFile = `
pipeline: {id: patient, owner: data}
schedule: {trigger: {key: landed, check: exists}, period: day, evaluation: {window: 3d}}
validation: {rules: [{key: landed, check: gte, field: count, value: 3, settled: 2d}]}
job: {type: command, config: {command: ["true"]}}
`
)

func TestRunShowsTheDataItStartedWithout(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"preferring.yaml": preferringFile}})
	s.must(0, "sensor", "set", "preferring", "landed#2026-03-03", "count=3")
	run := s.reaches("preferring/stream/2026-03-03", client.Completed)
	if got := strings.Join(run.Degraded, " "); got != "prices" {
		t.Errorf("the run started without %q, want prices", got)
	}
	if got := orZero(&run.Why.Text); got != "started without prices (preferred rules)" {
		t.Errorf("its cause is %q", got)
	}
	for _, command := range [][]string{
		{"run", "show", "preferring/stream/2026-03-03"},
		{"gate", "preferring", "--date", "2026-03-03"},
		{"explain", "preferring", "--date", "2026-03-03"},
	} {
		got := s.run(command...).stdout
		for _, want := range []string{"degraded: open without prices: no reading", "(preferred"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in\n%s", strings.Join(command, " "), want, got)
			}
		}
	}
	if got := s.must(0, "run", "show", "preferring/stream/2026-03-03").stdout; !strings.Contains(got, "started without") {
		t.Errorf("run show does not say what it started without:\n%s", got)
	}
}

func TestTimeAtWhichAGateOpensIsShown(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"patient.yaml": patientFile}})
	s.must(0, "sensor", "set", "patient", "landed#2026-03-03", "count=3")
	s.reaches("patient/stream/2026-03-03", client.Pending)
	s.settled()
	for _, command := range [][]string{
		{"run", "show", "patient/stream/2026-03-03"},
		{"gate", "patient", "--date", "2026-03-03"},
	} {
		got := s.run(command...).stdout
		for _, want := range []string{"settled for 2d", "if its data does not change until then"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in\n%s", strings.Join(command, " "), want, got)
			}
		}
	}
}

func TestSettledFactsHaveAnAge(t *testing.T) {
	for age, want := range map[string]string{"0s": "fail fail", "47h": "fail fail", "2d": "pass pass"} {
		got, _ := evaluate(t, patientFile, `{"landed#2026-03-03": {"count": 3}}`, "--at", "2026-03-04T06:00:00Z", "--date", "2026-03-03", "--age", age)
		if outcomes(got) != want {
			t.Errorf("facts that are %s old: %s, want %s", age, outcomes(got), want)
		}
	}
	if got := must(t, 2, "evaluate", "testdata/pipelines/orders.yaml", "--sensors", "testdata/facts/closed.json", "--age", "old"); !strings.Contains(got.stderr, `--age "old"`) {
		t.Errorf("a bad age: %s", got.stderr)
	}
}
