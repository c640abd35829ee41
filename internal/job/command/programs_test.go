//go:build linux

package command_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/command"
	"github.com/interlock-go/interlock/internal/program"
	"github.com/interlock-go/interlock/internal/run"
)

// governed returns the place's type with a policy.
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

// TestACommandRunsAsAnotherUser starts a command as the user nobody, which requires root. Without
// root the start is refused.
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

// TestACommandThatExceedsALimitIsEnded has commands exceed their limits. All their descendants end
// with them.
func TestACommandThatExceedsALimitIsEnded(t *testing.T) {
	for _, tt := range []struct {
		name, command string
		limits        program.Limits
		want          string
	}{
		{"memory", "exec " + os.Args[0] + " " + jobArg + " eat", program.Limits{Memory: 32 << 20}, "used more than 32MiB of memory (jobs.memory"},
		{"processes", "for i in $(seq 60); do setsid sleep 1000 & done; wait", program.Limits{Processes: 40}, "ran more than 40 processes and threads (jobs.processes"},
		{"output", "exec cat /dev/zero", program.Limits{Output: 1 << 20}, "printed more than 1MiB (jobs.output"},
	} {
		p := newPlace(t)
		p.kind = p.governed(program.Policy{Limits: tt.limits})
		a := p.attempt(tt.name, "command: '"+tt.command+"'\nshell: true\nenv: {NOTES: "+p.notes+"}\n")
		got := p.end(a, p.start(a))
		if got.Result != run.ResultFail || got.Category != run.Permanent || !strings.Contains(got.Message, tt.want) || !strings.HasSuffix(got.Message, ", and was ended") {
			t.Errorf("%s: ended with %s %s: %s", tt.name, got.Result, got.Category, got.Message)
		}
		if left := bearers(t, a); len(left) > 0 {
			t.Errorf("%s: processes %v are left", tt.name, left)
		}
	}
}

// TestTheKernelBoundsTheProcessesOfACommandsUser reads the limit that the kernel enforces. The
// kernel exempts root.
func TestTheKernelBoundsTheProcessesOfACommandsUser(t *testing.T) {
	p := newPlace(t)
	policy := program.Policy{Limits: program.Limits{Processes: 50}}
	if os.Geteuid() == 0 {
		var err error
		if policy.User, err = program.FindUser("nobody"); err != nil {
			t.Fatal(err)
		}
	}
	p.kind = p.governed(policy)
	a := p.attempt("bounded", "command: 'cat /proc/self/limits'\ndir: /\n")
	got := p.end(a, p.start(a))
	for line := range strings.Lines(got.Output) {
		if rest, found := strings.CutPrefix(line, "Max processes"); found {
			if limit, err := strconv.Atoi(strings.Fields(rest)[0]); err != nil || limit < 100 {
				t.Errorf("the limit is %q", line)
			}
			return
		}
	}
	t.Errorf("no limit in %+v", got)
}

func TestACommandWithinItsLimitsIsLeftAlone(t *testing.T) {
	p := newPlace(t)
	p.kind = p.governed(program.Policy{Limits: program.Limits{Memory: 64 << 20, Processes: 20, Output: 100}})
	a := p.attempt("modest", "command: 'sleep 0.01 & sleep 0.01 & wait; sleep 1.2; head -c 90 /dev/zero'\nshell: true\n")
	if got := p.end(a, p.start(a)); got.Result != run.ResultSuccess {
		t.Errorf("got %+v", got)
	}
}

// bearers lists the living processes that were started for an attempt.
func bearers(t *testing.T, a job.Attempt) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, name := range files {
		text, err := os.ReadFile(name)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && strings.Contains(string(text), "INTERLOCK_RUN_ID="+string(a.ID)+"\x00") && alive(pid) {
			found = append(found, pid)
		}
	}
	return found
}

// TestACommandRunsWithoutAControlGroupThatCannotBeEntered passes a directory that is not a control
// group.
func TestACommandRunsWithoutAControlGroupThatCannotBeEntered(t *testing.T) {
	p := newPlace(t)
	for _, dir := range []string{t.TempDir(), "/no/such/directory"} {
		p.kind = p.governed(program.Policy{Cgroup: dir})
		a := p.attempt("ungrouped-"+filepath.Base(dir), "command: echo hello\n")
		if got := p.end(a, p.start(a)); got.Output != "hello\n" {
			t.Errorf("in %s: %+v", dir, got)
		}
		if left, err := os.ReadDir(dir); err == nil && len(left) > 0 {
			t.Errorf("%s is left", left[0].Name())
		}
	}
}

// TestAControlGroupHoldsEveryProcess kills the keeper of a command whose child has left its session
// and cleared its environment, so that only the control group leads to it. It needs a group with
// permission to create subgroups; without one, DelegatedCgroup finds none either.
func TestAControlGroupHoldsEveryProcess(t *testing.T) {
	base := program.DelegatedCgroup()
	if base == "" {
		for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
			dir := filepath.Join(mount, "interlock-test-"+strconv.Itoa(os.Getpid()))
			if os.Geteuid() == 0 && program.CheckCgroup(mount) == nil && os.Mkdir(dir, 0o755) == nil {
				base = dir
				t.Cleanup(func() { os.Remove(dir) })
				break
			}
		}
	}
	if base == "" {
		return // the test above shows that commands run without one
	}
	p := newPlace(t)
	p.kind = p.governed(program.Policy{Cgroup: base})
	pid := filepath.Join(p.notes, "pid")
	a := p.attempt("grouped", "command: 'env -i setsid sh -c \"echo \\$\\$ > "+pid+".new; mv "+pid+".new "+pid+"; exec sleep 1000\" & sleep 1000'\nshell: true\n")
	h := p.start(a)
	p.eventually("the child's number", func() bool { _, err := os.Stat(pid); return err == nil })
	text, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(p.keeperOf(h), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.eventually("the end of the keeper", func() bool { return p.status(a, h).Done })
	p.eventually("the end of the child", func() bool { return !alive(child) })
	if left, err := filepath.Glob(filepath.Join(base, "job-*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
