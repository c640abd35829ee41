//go:build linux

package command_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/program"
	"github.com/interlock-go/interlock/internal/run"
)

// isSuspendedResult checks the result of a job whose keeper was suspended, and that none of its
// processes is left.
func (p place) isSuspendedResult(a job.Attempt, got job.Status, pids ...int) {
	p.Helper()
	if got.Result != run.ResultFail || got.Category != run.Transient || !strings.Contains(got.Message, "keeper process was suspended") {
		p.Errorf("got %+v", got)
	}
	for _, pid := range pids {
		p.eventually("process "+strconv.Itoa(pid)+" to end", func() bool { return !alive(pid) })
	}
	if left := bearers(p.T, a); len(left) > 0 {
		p.Errorf("processes %v are left", left)
	}
}

// suspend suspends a process, and waits until all of it has stopped.
func (p place) suspend(pid int) {
	p.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		p.Fatal(err)
	}
	p.eventually("the process to be suspended", func() bool {
		s, ok := program.StatOf(pid)
		return !ok || s.Suspended()
	})
}

// A command suspends its keeper whenever it is resumed. The run must not wait for its poll window.
func TestACommandThatSuspendsItsKeeperFails(t *testing.T) {
	p := newPlace(t)
	a := p.attempt("mutiny", p.config("timeout: 1h\n", "print", "so far", "session", "ignore-term", "stop-keeper"))
	b := p.attempt("mutiny-polled", p.config("timeout: 1h\n", "stop-keeper"))
	h := p.start(b)
	p.notedPID(b, "pid")
	p.eventually("a poll to notice it", func() bool { return p.status(b, h).Done })
	p.isSuspendedResult(b, p.status(b, h), p.keeperOf(h), p.notedPID(b, "pid"))

	h = p.start(a)
	keeper, commandPID := p.keeperOf(h), p.notedPID(a, "pid")
	p.suspend(keeper) // the child is not the keeper's own while its parent lives
	got := p.end(a, h)
	p.isSuspendedResult(a, got, keeper, commandPID)
	if again := p.end(a, p.start(a)); again != got || strings.Count(strings.Join(p.noted(a), "\n"), "started") != 2 {
		t.Errorf("started again: %+v, %v", again, p.noted(a))
	}
}

// A person, or a command that has ended since, suspended the keeper while no controller ran. The
// next controller adopts the job, and cancels it.
func TestASuspendedKeeperIsEndedByTheNextController(t *testing.T) {
	for name, settle := range map[string]func(p place, a job.Attempt, h run.Handle) error{
		"waits": func(p place, a job.Attempt, h run.Handle) error { return p.kind.Wait(p.Context(), a, h) },
		"stops": func(p place, a job.Attempt, h run.Handle) error { return p.kind.Stop(p.Context(), a, h) },
	} {
		p := newPlace(t)
		a := p.attempt(name, p.config("", "child", "ignore-term", "endless"))
		h := p.start(a)
		child, keeper := p.notedPID(a, "pid"), p.keeperOf(h)
		p.suspend(keeper)
		p.kind = p.controller()
		if adopted, found, err := p.kind.Find(t.Context(), a); !found || err != nil || adopted != h {
			t.Fatalf("%s: found %q, %v, %v", name, adopted, found, err)
		}
		if err := settle(p, a, h); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p.isSuspendedResult(a, p.status(a, h), keeper, child)
	}
}

// A keeper that is resumed while its job is ended may be writing the exit, too.
func TestAnExitThatTheKeeperHasBegunToWriteStopsNoOther(t *testing.T) {
	p := newPlace(t)
	a := p.attempt("torn", p.config("", "ignore-term", "endless"))
	h := p.start(a)
	command, keeper := p.notedPID(a, "pid"), p.keeperOf(h)
	p.suspend(keeper)
	begun := filepath.Join(p.kind.Dir(string(h)), "exit.new")
	if err := os.WriteFile(begun, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.isSuspendedResult(a, p.end(a, h), keeper, command)
	if text, err := os.ReadFile(begun); string(text) != "{" {
		t.Errorf("the draft of the keeper is now %q, %v", text, err)
	}
}

// A keeper that is resumed at once, as after a look with a debugger, has lost nothing.
func TestABrieflySuspendedKeeperGoesOn(t *testing.T) {
	p := newPlace(t)
	released := filepath.Join(p.notes, "released")
	a := p.attempt("brief", p.config("", "await", released, "exit", "3"))
	h := p.start(a)
	for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := syscall.Kill(p.keeperOf(h), s); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.status(a, h); got.Done {
		t.Fatalf("got %+v", got)
	}
	if err := os.WriteFile(released, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := p.end(a, h); got.ExitCode != 3 {
		t.Errorf("got %+v", got)
	}
}

// Whatever a command does to itself, its timeout holds and no process of it is left.
func TestATimeoutHoldsWhateverTheCommandDoesToItself(t *testing.T) {
	p := newPlace(t)
	for name, args := range map[string][]string{
		"suspends itself":        {"stop-me"},
		"suspends its child":     {"child", "ignore-term", "stop-me"},
		"traces a child":         {"traced", "ignore-term", "endless"},
		"closes its descriptors": {"close", "endless"},
		"fills the pipe":         {"child", "flood", "flood", "flood", "endless"},
	} {
		a := p.attempt(strings.ReplaceAll(name, " ", "-"), p.config("timeout: 1s\n", args...))
		if got := p.end(a, p.start(a)); got.Result != run.ResultTimeout {
			t.Errorf("a command that %s: got %+v", name, got)
		}
		if left := bearers(t, a); len(left) > 0 {
			t.Errorf("a command that %s: processes %v are left", name, left)
		}
	}
}

// A command of another user can do nothing to its keeper: it has a session of its own, for even
// another user's process may resume those of its session.
func TestACommandOfAnotherUserCannotSignalItsKeeper(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	p := newPlace(t)
	nobody, err := program.FindUser("nobody")
	if err != nil {
		t.Fatal(err)
	}
	p.kind = p.governed(program.Policy{User: nobody})
	script := `for s in STOP CONT TERM KILL; do kill -$s $PPID 2>/dev/null && echo sent $s; done; set -- $(cat /proc/$$/stat); test $6 = $$ && echo a session of its own`
	a := p.attempt("powerless", "command: '"+script+"'\nshell: true\ndir: /\n")
	if got := p.end(a, p.start(a)); got.Result != run.ResultSuccess || got.Output != "a session of its own\n" {
		t.Errorf("got %+v", got)
	}
}
