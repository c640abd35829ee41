package command_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job/command"
)

func text(s string) document.TextOrList {
	return document.TextOrList{Values: []string{s}, IsText: true}
}

func TestAListIsUsedAsItIsAndAShellGetsTheText(t *testing.T) {
	list := command.Config{Command: document.TextOrList{Values: []string{"a b", "'c"}}}
	if got, err := list.Argv(); err != nil || !cmp.Equal(got, []string{"a b", "'c"}) {
		t.Errorf("got %q, %v", got, err)
	}
	shell := command.Config{Command: text("a 'b | c"), Shell: true}
	if got, err := shell.Argv(); err != nil || !cmp.Equal(got, []string{"/bin/sh", "-c", "a 'b | c"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestOnAWSACommandNeedsAShortTimeout(t *testing.T) {
	const short = "on AWS a command runs inside the orchestrator function and dies with it; prefer lambda, glue or another job type"
	warning := document.Finding{Path: "command", Severity: document.Warning, Message: short}
	tests := map[time.Duration][]document.Finding{
		0:                 {warning, {Path: "timeout", Message: "is required on AWS: at most 100s"}},
		101 * time.Second: {warning, {Path: "timeout", Message: "is 1m41s; on AWS it must be at most 100s"}},
		100 * time.Second: {warning},
		time.Second:       {warning},
	}
	for timeout, want := range tests {
		c := command.Config{Command: text("a"), Timeout: document.Duration(timeout)}
		if diff := cmp.Diff(want, c.AWSFindings()); diff != "" {
			t.Errorf("%v (-want +got):\n%s", timeout, diff)
		}
	}
}
