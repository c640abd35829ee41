//go:build linux

package command_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/command"
	"github.com/interlock-go/interlock/internal/job/jobtest"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// place is where the commands of a test run.
type place struct {
	*testing.T
	jobs, notes string
	kind        *command.Type
}

func newPlace(t *testing.T) place {
	t.Helper()
	p := place{T: t, jobs: filepath.Join(t.TempDir(), "data", "jobs"), notes: t.TempDir()}
	p.kind = p.controller()
	return p
}

// controller returns the type as another controller on the same machine has it.
func (p place) controller() *command.Type {
	p.Helper()
	kind, err := command.New(command.Options{Jobs: p.jobs, Getenv: os.Getenv, Grace: 300 * time.Millisecond})
	if err != nil {
		p.Fatal(err)
	}
	return kind
}

// config returns the config of a command that does as these arguments say.
func (p place) config(extra string, args ...string) string {
	quoted := []string{strconv.Quote(os.Args[0]), strconv.Quote(jobArg)}
	for _, arg := range args {
		quoted = append(quoted, "'"+strings.ReplaceAll(arg, "'", "''")+"'")
	}
	return fmt.Sprintf("command: [%s]\nenv: {NOTES: %q}\n%s", strings.Join(quoted, ", "), p.notes, extra)
}

// attempt returns the first attempt of a new run.
func (p place) attempt(pipelineID, config string) job.Attempt {
	p.Helper()
	hour, err := period.Parse("2026-03-03T07")
	if err != nil {
		p.Fatal(err)
	}
	key := run.Key{Pipeline: pipeline.ID(pipelineID), Schedule: pipeline.ByCron, Period: hour}
	a := job.Attempt{ID: key.Attempt(1), Pipeline: key.Pipeline, Schedule: key.Schedule, Period: hour, Number: 1}
	return jobtest.Expand(p.T, a, config, new(command.Config))
}

func (p place) start(a job.Attempt) run.Handle {
	p.Helper()
	started, err := p.kind.Start(p.Context(), a)
	if err != nil {
		p.Fatal(err)
	}
	return started.Handle
}

// end waits until the job ends.
func (p place) end(a job.Attempt, h run.Handle) job.Status {
	p.Helper()
	if err := p.kind.Wait(p.Context(), a, h); err != nil {
		p.Fatal(err)
	}
	return p.status(a, h)
}

func (p place) status(a job.Attempt, h run.Handle) job.Status {
	p.Helper()
	status, err := p.kind.Status(p.Context(), a, h)
	if err != nil {
		p.Fatal(err)
	}
	return status
}

// noted returns the lines that the attempt's commands have noted.
func (p place) noted(a job.Attempt) []string {
	text, err := os.ReadFile(notesOf(p.notes, string(a.ID)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		p.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// notedPID waits for a process to note its PID.
func (p place) notedPID(a job.Attempt, what string) int {
	p.Helper()
	pid := 0
	p.eventually(what+" to be noted", func() bool {
		for _, line := range p.noted(a) {
			if number, ok := strings.CutPrefix(line, what+" "); ok {
				pid, _ = strconv.Atoi(number)
			}
		}
		return pid != 0
	})
	return pid
}

// eventually polls until another process has made a condition hold.
func (p place) eventually(what string, holds func() bool) {
	p.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(2 * time.Minute); ; {
		if holds() {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			p.Fatalf("timed out waiting for %s", what)
		}
	}
}

// alive reports whether a process exists and is not a zombie.
func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	state := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))[0]
	return state != "Z" && state != "X"
}

// dirOf returns the directory of an attempt's job.
func (p place) dirOf(a job.Attempt) string { return p.kind.Dir(command.HashOf(a.ID)) }

// keeperOf returns the PID of a job's keeper.
func (p place) keeperOf(h run.Handle) int {
	p.Helper()
	text, err := os.ReadFile(filepath.Join(p.kind.Dir(string(h)), "claim"))
	if err != nil {
		p.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), `"pid":`)
	number, _, _ := strings.Cut(rest, ",")
	pid, err := strconv.Atoi(number)
	if err != nil {
		p.Fatal(err)
	}
	return pid
}

func TestCommandsKeepThePromisesOfAJobType(t *testing.T) {
	p := newPlace(t)
	script := func(name, text string, mode fs.FileMode) string {
		path := filepath.Join(p.notes, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	dull, odd, blank := script("dull", "#!/bin/sh\n", 0o600), script("odd", "#!/no/such/interpreter\n", 0o700), script("blank", "\x00\x01", 0o700)
	failed := func(category run.Category, code int, message string) job.Status {
		return job.Status{Result: run.ResultFail, Category: category, Exited: true, ExitCode: code, Message: message}
	}
	refusal := func(reason string) job.Refusal { return job.Refusal{Category: run.Permanent, Reason: reason} }
	unfit := []jobtest.Refusal{
		{Name: "no such program", Config: "command: no-such-program\nenv: {PATH: '/bin:/${env:JOBTEST_TOKEN}'}\n", Want: refusal(`no program "no-such-program" in PATH (/bin:/***)`)},
		{Name: "no such path", Config: "command: /no/such/program\n", Want: refusal("/no/such/program cannot be executed: no such file")},
		{Name: "not executable", Config: "command: " + dull + "\n", Want: refusal("not executable; chmod +x")},
		{Name: "a directory", Config: "command: /tmp\n", Want: refusal("is a directory")},
		{Name: "no directory", Config: "command: pwd\ndir: /no/such/dir\n", Want: refusal("job.config.dir: /no/such/dir")},
		{Name: "not in this path", Config: "command: sh\nenv: {PATH: /proc}\n", Want: refusal("in PATH (/proc)")},
	}
	var newest *command.Type
	jobtest.Run(t, jobtest.Bench{
		New: func(*testing.T) job.Type {
			newest = p.controller()
			return newest
		},
		NewConfig: func() pipeline.JobConfig { return new(command.Config) },
		Good:      p.config("", "print", "done"),
		Endless:   p.config("", "endless"),
		Flooding:  p.config("", "flood"),
		Leaking:   p.config("", "print", "token ${env:JOBTEST_TOKEN}", "env", "complain", "${env:JOBTEST_TOKEN}", "exit", "1"),
		Ends: []jobtest.End{
			{Name: "exit 0", Config: p.config("", "print", "fine", "complain", "but"), Want: job.Status{Result: run.ResultSuccess, Exited: true, Message: "exit code 0", Output: "fine\nbut\n"}},
			{Name: "exit 1", Config: p.config("", "print", "a", "complain", "disk full", "exit", "1"), Want: failed(run.Unknown, 1, "exit code 1, disk full")},
			{Name: "exit 2", Config: p.config("", "exit", "2"), Want: failed(run.Permanent, 2, "exit code 2")},
			{Name: "exit 75", Config: p.config("", "exit", "75"), Want: failed(run.Transient, 75, "exit code 75")},
			{Name: "exit 255", Config: p.config("", "exit", "255"), Want: failed(run.Unknown, 255, "exit code 255")},
			{Name: "signal", Config: p.config("", "kill-me"), Want: job.Status{Result: run.ResultFail, Category: run.Transient, Message: "killed by signal 9 (killed)"}},
			{Name: "timeout", Config: p.config("timeout: 20ms\n", "endless"), Want: job.Status{Result: run.ResultTimeout, Category: run.Timeout, Message: "its timeout of 20ms"}},
			{Name: "timeout of a deaf one", Config: p.config("timeout: 100ms\n", "ignore-term", "endless"), Want: job.Status{Result: run.ResultTimeout, Category: run.Timeout}},
			{Name: "words", Config: "command: printf '%s|' a 'b c' \"${DATE} x\"\n", Want: job.Status{Result: run.ResultSuccess, Exited: true, Output: "a|b c|2026-03-03 x|"}},
			{Name: "no shell", Config: "command: echo $HOME *; echo\n", Want: job.Status{Result: run.ResultSuccess, Exited: true, Output: "$HOME *; echo\n"}},
			{Name: "shell", Config: "command: 'echo a; echo b | tr b c; exit 3'\nshell: true\n", Want: job.Status{Result: run.ResultFail, Exited: true, ExitCode: 3, Output: "a\nc\n"}},
			{Name: "dir", Config: "command: pwd\ndir: /\n", Want: job.Status{Result: run.ResultSuccess, Exited: true, Output: "/\n"}},
			{Name: "own path", Config: "command: ./sh -c 'echo here'\ndir: /bin\n", Want: job.Status{Result: run.ResultSuccess, Exited: true, Output: "here\n"}},
		},
		Unfit: unfit,
		Refused: append([]jobtest.Refusal{
			{Name: "no interpreter", Config: "command: " + odd + "\n", Want: refusal("interpreter in its first line")},
			{Name: "no format", Config: "command: " + blank + "\n", Want: refusal("begins with #!")},
		}, unfit...),
		Starts: func(_ *testing.T, id run.AttemptID) int {
			return len(p.noted(job.Attempt{ID: id}))
		},
		Lose: func(*testing.T) { newest.KeepWith(muteArg) },
	})
}

func TestAKilledControllerLeavesItsJobsToTheNext(t *testing.T) {
	p := newPlace(t)
	flag := filepath.Join(p.notes, "go-on")
	config := p.config("", "print", "before", "await", flag, "print", "after", "exit", "6")
	a := p.attempt("survivor", config)
	controller := exec.Command(os.Args[0], controllerArg, p.jobs, string(a.ID), config)
	out, err := controller.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := controller.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := controller.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	controller.Wait()

	h, found, err := p.kind.Find(t.Context(), a)
	if err != nil || !found || string(h) != strings.TrimSpace(line) {
		t.Fatalf("found %q, %v, %v; want %s", h, found, err, line)
	}
	if status := p.status(a, h); status.Done {
		t.Fatalf("got %+v, want it running", status)
	}
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := p.end(a, p.start(a))
	want := job.Status{Done: true, Result: run.ResultFail, Exited: true, ExitCode: 6, Message: "exit code 6, after", Output: "before\nafter\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := len(p.noted(a)); n != 1 {
		t.Errorf("started %d times", n)
	}
}

func TestAKilledKeeperIsALostJobThatNeverStartsAgain(t *testing.T) {
	p := newPlace(t)
	a := p.attempt("lost", p.config("", "print", "so far", "child", "ignore-term", "endless"))
	h := p.start(a)
	child := p.notedPID(a, "pid")
	p.eventually("the output to be written down", func() bool { return p.status(a, h).Output != "" })
	if err := syscall.Kill(p.keeperOf(h), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	got := p.end(a, h)
	if got.Result != run.ResultFail || got.Category != run.Transient || !strings.HasPrefix(got.Message, "lost: ") || got.Output != "so far\n" {
		t.Errorf("got %+v", got)
	}
	p.eventually("the command's children to be gone", func() bool { return !alive(child) })
	if again := p.end(a, p.start(a)); again != got || len(p.noted(a)) != 4 {
		t.Errorf("started again: %+v, %v", again, p.noted(a))
	}
	if err := p.kind.Stop(t.Context(), a, h); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func TestAKeeperThatDiesBeforeItClaimsHasStartedNothing(t *testing.T) {
	p := newPlace(t)
	a := p.attempt("early", p.config(""))
	dead := p.controller()
	dead.KeepWith(deadArg)
	_, err := dead.Start(t.Context(), a)
	var refusal *job.Refusal
	if !errors.As(err, &refusal) || refusal.Category != run.Transient {
		t.Errorf("got %v", err)
	}
	if got := p.end(a, p.start(a)); got.Result != run.ResultSuccess {
		t.Errorf("after a repeat: %+v", got)
	}
}

// A keeper that was slow to begin may find that no controller waits for it: the controller was
// killed, or has given up and may be about to mark the attempt as failed. The next start of the
// attempt has its own keeper.
func TestAnAbandonedKeeperClaimsNothing(t *testing.T) {
	jobs := t.TempDir()
	order := fmt.Sprintf(`{"id": "orders/cron/2026-03-03/1", "jobs": %q, "path": "/bin/true", "argv": ["true"], "grace": 1}`, jobs)
	answers, answerEnd, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answers.Close()
	defer answerEnd.Close()
	keeper := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{"interlock", command.KeeperArg}, Env: []string{},
		Stdin: strings.NewReader(order), ExtraFiles: []*os.File{answerEnd},
	}
	if err := keeper.Run(); err == nil {
		t.Error("the keeper reported no error")
	}
	if left, err := os.ReadDir(jobs); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestATimeoutEndsTheWholeGroup gives a slow machine more time, until the grandchild exists before
// the timeout.
func TestATimeoutEndsTheWholeGroup(t *testing.T) {
	p := newPlace(t)
	for timeout := 500 * time.Millisecond; ; timeout *= 4 {
		a := p.attempt("group-"+timeout.String(), p.config(fmt.Sprintf("timeout: %dms\n", timeout.Milliseconds()), "child", "ignore-term", "child", "ignore-term", "endless"))
		if got := p.end(a, p.start(a)); got.Result != run.ResultTimeout {
			t.Errorf("got %+v", got)
		}
		if !strings.Contains(strings.Join(p.noted(a), "\n"), "pid ") && timeout < 30*time.Second {
			continue
		}
		if grandchild := p.notedPID(a, "pid"); alive(grandchild) {
			t.Errorf("process %d still runs", grandchild)
		}
		return
	}
}

func TestDescendantsEndWithTheirCommand(t *testing.T) {
	p := newPlace(t)
	a := p.attempt("leftover", p.config("", "child-and-exit", "ignore-term", "endless"))
	if got := p.end(a, p.start(a)); got.Result != run.ResultSuccess {
		t.Errorf("got %+v", got)
	}
	if child := p.notedPID(a, "child"); alive(child) {
		t.Errorf("process %d still runs", child)
	}
}

// TestAChildInASessionOfItsOwnEndsWithTheCommand has a child leave the command's process group,
// twice over.
func TestAChildInASessionOfItsOwnEndsWithTheCommand(t *testing.T) {
	p := newPlace(t)
	for name, args := range map[string][]string{
		"obedient": {"session", "session", "endless"},
		"deaf":     {"session", "session", "ignore-term", "endless"},
	} {
		a := p.attempt(name, p.config("", args...))
		if got := p.end(a, p.start(a)); got.Result != run.ResultSuccess {
			t.Errorf("%s: got %+v", name, got)
		}
		if child := p.notedPID(a, "pid"); alive(child) {
			t.Errorf("%s: process %d still runs", name, child)
		}
	}
}

func TestOnlyARequestToEndEndsAKeeper(t *testing.T) {
	p := newPlace(t)
	a := p.attempt("signals", p.config("", "endless"))
	h := p.start(a)
	p.notedPID(a, "pid")
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE} {
		if err := syscall.Kill(p.keeperOf(h), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.kind.Stop(t.Context(), a, h); err != nil {
		t.Fatal(err)
	}
	if got := p.end(a, h); got.Message != "was stopped" || got.Category != run.Transient {
		t.Errorf("got %+v", got)
	}
}

func TestACommandSeesItsOwnEnvironmentAndLittleElse(t *testing.T) {
	p := newPlace(t)
	for name, value := range map[string]string{"PATH": "/usr/bin:/bin", "HOME": "/home/me", "USER": "me", "LANG": "C", "TZ": "UTC", "TMPDIR": "/tmp", "SERVER_SECRET": "x", "INTERLOCK_TOKEN": "y"} {
		t.Setenv(name, value)
	}
	a := p.attempt("orders", "command: env\nenv: {MODE: full, LANG: de, DAY: '${DATE}'}\n")
	a.Callback = job.Callback{URL: "http://127.0.0.1:8740/cb", Token: jobtest.CallbackToken}
	got := strings.Split(strings.TrimSpace(p.end(a, p.start(a)).Output), "\n")
	want := []string{
		"DAY=2026-03-03", "HOME=/home/me", "INTERLOCK_ATTEMPT=1", "INTERLOCK_CALLBACK_TOKEN=***", "INTERLOCK_CALLBACK_URL=http://127.0.0.1:8740/cb",
		"INTERLOCK_DATE=2026-03-03", "INTERLOCK_HOUR=07", "INTERLOCK_PIPELINE=orders", "INTERLOCK_RUN_ID=orders/cron/2026-03-03T07/1",
		"LANG=de", "MODE=full", "PATH=/usr/bin:/bin", "TMPDIR=/tmp", "TZ=UTC", "USER=me",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestASecretStaysOneWordAndOutOfEveryFile(t *testing.T) {
	p := newPlace(t)
	a := p.attempt("secret", fmt.Sprintf("command: %s %s print ${env:JOBTEST_TOKEN} env endless\nenv: {NOTES: %q, KEY: '${env:JOBTEST_TOKEN}'}\n", os.Args[0], jobArg, p.notes))
	h := p.start(a)
	p.notedPID(a, "pid")
	keeper := p.keeperOf(h)
	for _, name := range []string{"cmdline", "environ"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", keeper, name))
		if err != nil || strings.Contains(string(text), jobtest.Secret) {
			t.Errorf("the keeper's %s shows the secret: %q, %v", name, text, err)
		}
	}
	if err := p.kind.Stop(t.Context(), a, h); err != nil {
		t.Fatal(err)
	}
	if got := p.end(a, h); !strings.HasPrefix(got.Output, "***\n") || !strings.Contains(got.Output, "KEY=***\n") {
		t.Errorf("got %q", got.Output)
	}
	err := filepath.WalkDir(p.jobs, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), jobtest.Secret) {
			t.Errorf("%s shows the secret: %q, %v", path, text, err)
		}
		if info, err := entry.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s may be read by others: %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOnlyTheEndOfTheOutputIsKept(t *testing.T) {
	p := newPlace(t)
	a := p.attempt("long", p.config("", "flood", "print", "the end"))
	got := p.end(a, p.start(a)).Output
	if len(got) != 64<<10 || !strings.HasSuffix(got, "cde\nthe end\n") {
		t.Errorf("got %d bytes that end in %q", len(got), got[max(0, len(got)-20):])
	}
}

// TestANewClaimAlwaysHasALivingKeeper polls a job while it is being claimed: from the first moment
// on it has a living keeper.
func TestANewClaimAlwaysHasALivingKeeper(t *testing.T) {
	p := newPlace(t)
	for i := range 20 {
		a := p.attempt(fmt.Sprintf("young-%d", i), p.config("", "exit", "0"))
		started := make(chan run.Handle)
		go func() { started <- p.start(a) }()
		var h run.Handle
		p.eventually("the claim", func() bool {
			var found bool
			var err error
			h, found, err = p.kind.Find(t.Context(), a)
			return found || err != nil
		})
		for done := false; !done; {
			status := p.status(a, h)
			if strings.HasPrefix(status.Message, "lost") {
				t.Fatal("a job that was just claimed counts as lost")
			}
			done = status.Done
		}
		<-started
	}
}

func TestAnExitThatCannotBeWrittenIsRetried(t *testing.T) {
	p := newPlace(t)
	flag := filepath.Join(p.notes, "go-on")
	a := p.attempt("full", p.config("", "await", flag, "exit", "5"))
	h := p.start(a)
	// This directory blocks the file that records the exit, as a full disk would.
	obstacle := filepath.Join(p.kind.Dir(string(h)), "exit.new")
	if err := os.Mkdir(obstacle, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.eventually("the last output, which comes before the end", func() bool {
		_, err := os.Stat(filepath.Join(p.kind.Dir(string(h)), "output"))
		return err == nil
	})
	looks := 0
	p.eventually("the keeper to have tried", func() bool {
		if status := p.status(a, h); status.Done {
			t.Fatalf("got %+v", status)
		}
		looks++
		return looks > 50
	})
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	if got := p.end(a, h); got.ExitCode != 5 {
		t.Errorf("got %+v", got)
	}
}

// always reports every attempt as settled.
func always(run.AttemptID, time.Time) (bool, error) { return true, nil }

func TestOldJobsAreSweptAndOthersAreNot(t *testing.T) {
	p := newPlace(t)
	long := time.Now().Add(-48 * time.Hour)
	old := p.attempt("old", p.config(""))
	recent := p.attempt("recent", p.config(""))
	runs := p.attempt("runs", p.config("", "endless"))
	for _, a := range []job.Attempt{old, recent} {
		p.end(a, p.start(a))
	}
	h := p.start(runs)
	aged := []string{p.kind.Dir(string(command.HashOf(old.ID))), p.kind.Dir(string(h))}
	for _, name := range []string{".new-1", ".old-1", "not-ours"} {
		path := filepath.Join(p.jobs, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		aged = append(aged, path)
	}
	for _, path := range aged {
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
	}
	unsettled := func(id run.AttemptID, since time.Time) (bool, error) {
		if id != old.ID || !since.Equal(long) {
			t.Errorf("asked about %s, last written at %s", id, since)
		}
		return false, nil
	}
	if removed, err := p.kind.Sweep(t.Context(), long.Add(time.Hour), unsettled); err != nil || removed != 0 {
		t.Errorf("removed %d whose result is not stored, %v", removed, err)
	}
	removed, err := p.kind.Sweep(t.Context(), long.Add(time.Hour), always)
	if err != nil || removed != 1 {
		t.Errorf("removed %d, %v", removed, err)
	}
	for _, a := range []job.Attempt{recent, runs} {
		if _, found, err := p.kind.Find(t.Context(), a); !found || err != nil {
			t.Errorf("%s: %v, %v", a.ID, found, err)
		}
	}
	left, err := os.ReadDir(p.jobs)
	if err != nil || len(left) != 3 {
		t.Errorf("left %v, %v", left, err)
	}
	if err := p.kind.Stop(t.Context(), runs, h); err != nil {
		t.Fatal(err)
	}
	p.end(runs, h)
}

func TestAClaimThatLostItsFilesIsNotStartedAgain(t *testing.T) {
	p := newPlace(t)
	a := p.attempt("torn", p.config(""))
	for name, content := range map[string]string{"": "", "claim": "{"} {
		dir := p.kind.Dir(command.HashOf(a.ID))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if name != "" {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := p.end(a, p.start(a)); !strings.HasPrefix(got.Message, "lost") || p.noted(a) != nil {
			t.Errorf("%q: got %+v", name, got)
		}
	}
}

func TestACommandWhoseClaimCannotBeWrittenIsRefused(t *testing.T) {
	p := newPlace(t)
	if err := os.WriteFile(filepath.Dir(p.jobs), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := p.attempt("nowhere", p.config(""))
	_, err := p.kind.Start(t.Context(), a)
	var refusal *job.Refusal
	if !errors.As(err, &refusal) || refusal.Category != run.Transient || p.noted(a) != nil {
		t.Errorf("got %v", err)
	}
}

func TestWaitWorksWithoutAPipe(t *testing.T) {
	p := newPlace(t)
	flag := filepath.Join(p.notes, "go-on")
	a := p.attempt("pipeless", p.config("", "await", flag, "exit", "5"))
	h := p.start(a)
	if err := os.Remove(filepath.Join(p.kind.Dir(string(h)), "alive")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := p.end(a, h); got.ExitCode != 5 {
		t.Errorf("got %+v", got)
	}
}

// TestAControllerKilledAtAnyInstantStartsNothingTwice kills controllers at different instants of
// their start, with their keepers at any stage, and has the next controller start the same attempt
// at once.
func TestAControllerKilledAtAnyInstantStartsNothingTwice(t *testing.T) {
	p := newPlace(t)
	for i := range 25 {
		config := p.config("", "print", "once", "exit", "3")
		a := p.attempt(fmt.Sprintf("any-%d", i), config)
		controller := exec.Command(os.Args[0], controllerArg, p.jobs, string(a.ID), config)
		if err := controller.Start(); err != nil {
			t.Fatal(err)
		}
		killed := make(chan error)
		time.AfterFunc(time.Duration(i)*5*time.Millisecond, func() { killed <- controller.Process.Kill() })
		if err := <-killed; err != nil {
			t.Fatal(err)
		}
		got := p.end(a, p.start(a))
		controller.Wait()
		if got.ExitCode != 3 || got.Output != "once\n" || len(p.noted(a)) != 1 {
			t.Errorf("killed after %d ms: got %+v, %v", i*5, got, p.noted(a))
		}
	}
}

func TestAKeeperWhoseDirectoryIsGoneGivesUp(t *testing.T) {
	p := newPlace(t)
	flag := filepath.Join(p.notes, "go-on")
	a := p.attempt("removed", p.config("", "await", flag))
	h := p.start(a)
	keeper := p.keeperOf(h)
	if err := os.RemoveAll(p.jobs); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.eventually("the keeper to end", func() bool { return !alive(keeper) })
	if _, err := p.kind.Status(t.Context(), a, h); !errors.Is(err, job.ErrUnknownHandle) {
		t.Errorf("got %v", err)
	}
}

func TestExitIsFoundAfterTheDataDirectoryWasMoved(t *testing.T) {
	p := newPlace(t)
	released := filepath.Join(p.notes, "released")
	a := p.attempt("moved", p.config("", "await", released, "print", "done", "exit", "3"))
	h := p.start(a)
	p.eventually("the command to begin", func() bool { return p.noted(a) != nil })
	data := filepath.Dir(p.jobs)
	if err := os.Rename(data, data+"-moved"); err != nil {
		t.Fatal(err)
	}
	p.jobs = filepath.Join(data+"-moved", "jobs")
	p.kind = p.controller()
	if status := p.status(a, h); status.Done {
		t.Errorf("before its end: %+v", status)
	}
	if err := os.WriteFile(released, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if status := p.end(a, h); status.ExitCode != 3 || !strings.Contains(status.Output, "done") {
		t.Errorf("after its end: %+v", status)
	}
}

func TestRelativePathsAreTakenFromTheProjectDirectory(t *testing.T) {
	p := newPlace(t)
	project := t.TempDir()
	for _, dir := range []string{"pipelines", "jobs"} {
		if err := os.Mkdir(filepath.Join(project, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script := "#!/bin/sh\npwd\n"
	for _, name := range []string{"where.sh", "jobs/where.sh"} {
		if err := os.WriteFile(filepath.Join(project, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for config, want := range map[string]string{
		"command: [./jobs/where.sh]\n":           project,
		"command: [./where.sh]\ndir: jobs\n":     filepath.Join(project, "jobs"),
		"command: [sh, jobs/where.sh]\n":         project,
		"command: [./where.sh]\ndir: " + project: project,
	} {
		a := p.attempt("relative"+strconv.Itoa(len(config)), config)
		a.File = filepath.Join(project, "pipelines", "orders.yaml")
		if status := p.end(a, p.start(a)); strings.TrimSpace(status.Output) != want {
			t.Errorf("%q ran in %q, want %s: %+v", config, status.Output, want, status)
		}
	}
}
