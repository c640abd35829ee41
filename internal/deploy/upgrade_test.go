package deploy

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// states calls Step Functions, and returns the field of its answer.
func (e *emulated) states(operation string, in map[string]string, field string) string {
	e.t.Helper()
	body, _ := json.Marshal(in) // texts
	r, err := http.NewRequestWithContext(e.t.Context(), http.MethodPost, e.URL, bytes.NewReader(body))
	check(e.t, err)
	r.Header.Set("X-Amz-Target", "AWSStepFunctions."+operation)
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=a/20260303/eu-central-1/states/aws4_request, SignedHeaders=host, Signature=b")
	answer, err := http.DefaultClient.Do(r)
	check(e.t, err)
	defer answer.Body.Close()
	var out map[string]any
	check(e.t, json.NewDecoder(answer.Body).Decode(&out))
	text, ok := out[field].(string)
	if !ok {
		e.t.Fatalf("%s: %v", operation, out)
	}
	return text
}

// An upgrade of a function and of the state machine keeps what is under way, and a rollback is one
// variable.
func TestUpgradeIsAppliedUnderRunningExecutions(t *testing.T) {
	if !*applied {
		t.Skip("takes minutes; run it with -apply")
	}
	e := newEmulated(t)
	c := newCheckout(t, e)
	const in, apply = "examples/aws", "apply -auto-approve -var environment=dev -var alarm_email=you@example.com"
	c.init(in)
	c.step(in, apply)
	versions := func() (all map[string]string) {
		out := c.must(in, "output", "-json", "function_versions")
		check(t, json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &all)) // a warning may precede it
		return all
	}
	before := versions()
	const machine = "arn:aws:states:eu-central-1:123456789012:stateMachine:dev-interlock-pipeline"
	execution := e.states("StartExecution", map[string]string{"stateMachineArn": machine, "input": "{}"}, "executionArn")

	check(t, os.WriteFile(filepath.Join(c.dir, "dist", "orchestrator.zip"), []byte("another release"), 0o600))
	definition := filepath.Join(c.dir, terraformDir, "statemachine.asl.json")
	text, err := os.ReadFile(definition)
	check(t, err)
	check(t, os.WriteFile(definition, []byte(strings.Replace(string(text), `"StartAt"`, `"Version": "1.0", "StartAt"`, 1)), 0o600))
	c.step(in, apply, "0 added,", "0 destroyed")
	after := versions()
	if after["orchestrator"] == before["orchestrator"] || after["watchdog"] != before["watchdog"] {
		t.Errorf("an upgrade of the orchestrator turned the versions %v into %v", before, after)
	}
	c.step(in, apply+` -var function_versions={"orchestrator":"`+before["orchestrator"]+`"}`, "0 added, 1 changed, 0 destroyed")
	if now := versions(); now["orchestrator"] != before["orchestrator"] {
		t.Errorf("rolled back to %v, want %v", now, before)
	}
	c.step(in, apply, "0 added, 1 changed, 0 destroyed")
	c.step(in, apply, "0 added, 0 changed, 0 destroyed")

	if status := e.states("DescribeExecution", map[string]string{"executionArn": execution}, "status"); status != "RUNNING" {
		t.Errorf("the execution is %s", status)
	}
}
