//go:build linux

package command_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/command"
	"github.com/interlock-go/interlock/internal/program"
	"github.com/interlock-go/interlock/internal/run"
)

// governed is the place's type under a policy.
func (p place) governed(policy program.Policy) *command.Type {
	p.Helper()
	kind, err := command.New(command.Options{Jobs: p.jobs, Getenv: os.Getenv, Grace: 300 * time.Millisecond, Programs: policy})
	if err != nil {
		p.Fatal(err)
	}
	return kind
}

func TestCommandsThatAreTurnedOffAreRefused(t *testing.T) {
	p := newPlace(t)
	kind := p.governed(program.Policy{Off: true})
	a := p.attempt("off", "command: 'true'\n")
	_, started := kind.Start(t.Context(), a)
	for _, err := range []error{started, kind.Check(t.Context(), a)} {
		refusal := (*job.Refusal)(nil)
		if !errors.As(err, &refusal) || refusal.Category != run.Permanent || !strings.Contains(refusal.Reason, "jobs: {command: on}") {
			t.Errorf("got %v", err)
		}
	}
	if _, err := os.Stat(p.dirOf(a)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the attempt was claimed: %v", err)
	}
}

// TestACommandRunsAsAnotherUser starts a command as nobody, which takes root. Without root the start is refused.
func TestACommandRunsAsAnotherUser(t *testing.T) {
	p := newPlace(t)
	nobody, err := program.FindUser("nobody")
	if err != nil {
		t.Fatal(err)
	}
	p.kind = p.governed(program.Policy{User: nobody})
	key := filepath.Join(filepath.Dir(p.jobs), "callback.key")
	if err := os.MkdirAll(filepath.Dir(key), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := `id -un; id -Gn; echo $HOME $USER; cat ` + key + ` 2>/dev/null; ls ` + p.jobs + ` 2>/dev/null; grep CapEff /proc/self/status; echo reopened > /dev/stdout; kill -TERM $PPID 2>/dev/null && echo signalled`
	a := p.attempt("other-user", "command: '"+strings.ReplaceAll(script, "'", "''")+"; true'\nshell: true\ndir: /\n")
	started, err := p.kind.Start(t.Context(), a)
	if os.Geteuid() != 0 {
		if refusal := (*job.Refusal)(nil); !errors.As(err, &refusal) || !strings.Contains(refusal.Reason, "operation not permitted") {
			t.Errorf("got %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	groups := "nogroup"
	if _, err := os.Stat("/etc/redhat-release"); err == nil {
		groups = "nobody"
	}
	want := "nobody\n" + groups + "\n" + nobody.Home + " nobody\nCapEff:\t0000000000000000\nreopened\n"
	if got := p.end(a, started.Handle); got.Result != run.ResultSuccess || got.Output != want {
		t.Errorf("got %+v, want the output %q", got, want)
	}
}
