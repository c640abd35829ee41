package main

import (
	"context"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
)

// lastOf returns the last value of a variable in an environment, which is the one that counts.
func lastOf(env []string, name string) (value string) {
	for _, v := range env {
		if is, found := strings.CutPrefix(v, name+"="); found {
			value = is
		}
	}
	return value
}

func TestCommandContinuesTheTraceOfItsAttempt(t *testing.T) {
	lease := &client.Lease{Claim: client.Claim{Env: map[string]string{traceVariable: "of the attempt", "INTERLOCK_ATTEMPT": "2"}}}
	const valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for given, want := range map[string]string{
		"": "of the attempt", "garbage": "of the attempt", "00-00000000000000000000000000000000-b7ad6b7169203331-01": "of the attempt", valid: valid,
	} {
		a := &app{getenv: func(string) string { return given }, remote: &remoteFlags{}}
		x := execution{traceparent: a.traceparent()}
		if (x.traceparent == given) != (want == given) || len(x.traceparent) != len(valid) {
			t.Errorf("with %q in exec's environment, the claim has %q", given, x.traceparent)
		}
		env := a.childEnv(x, lease)
		if got := lastOf(env, traceVariable); got != want || lastOf(env, "INTERLOCK_ATTEMPT") != "2" {
			t.Errorf("with %q in exec's environment, the command has %q, want %q", given, got, want)
		}
		if got := lastOf(a.childEnv(x, nil), traceVariable); got != x.traceparent {
			t.Errorf("without a claim, the command has %q", got)
		}
	}
}

// No server listens at the address: the name is checked before any request.
func TestExecRejectsAWorkersName(t *testing.T) {
	for name, want := range map[string]string{
		strings.Repeat("ü", 201): "--worker has 201 characters, at most 200 are allowed", "a\nb": "contains a control character", strings.Repeat("ü", 200): "",
	} {
		got := call{args: []string{"exec", "orders", "--server", "http://127.0.0.1:1", "--worker", name, "--", "true"}}.run()
		if want != "" && (got.code != exitUsage || !strings.Contains(got.stderr, want)) || want == "" && got.code != exitUnreached {
			t.Errorf("%.10q: got %+v, want %q", name, got, want)
		}
	}
}

func TestSignalDuringTheStartReachesTheCommand(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := &signals{}
	cmd := exec.CommandContext(ctx, "sh", "-c", "while :; do read -r line; done")
	input, err := cmd.StdinPipe() // open until the command has ended, so that read waits
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.handle(syscall.SIGTERM)
	s.forward(cmd.Process, false)
	_ = cmd.Wait() // the result is in ProcessState
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("%v, want signal %d", cmd.ProcessState, syscall.SIGTERM)
	}
}
