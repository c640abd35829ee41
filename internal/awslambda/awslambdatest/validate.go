package awslambdatest

import (
	"bytes"
	"os/exec"
	"testing"
)

// Validate has npm's asl-validator look at a state machine.
func Validate(t testing.TB, definition []byte) {
	t.Helper()
	need(t)
	cmd := exec.Command("node", "check.mjs")
	cmd.Dir = folder()
	cmd.Stdin = bytes.NewReader(definition)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the state machine is not valid: %v\n%s", err, out)
	}
}
