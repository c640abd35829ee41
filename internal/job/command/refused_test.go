//go:build linux

package command_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

// unready returns an attempt whose program the system refuses to start until ready is called. After
// that it does as the arguments say.
func (p place) unready(pipelineID string, args ...string) (a job.Attempt, ready func()) {
	p.Helper()
	config, ready := p.unreadyConfig(args...)
	return p.attempt(pipelineID, config), ready
}

func (p place) unreadyConfig(args ...string) (config string, ready func()) {
	p.Helper()
	dir := p.TempDir()
	script, interpreter := filepath.Join(dir, "script"), filepath.Join(dir, "interpreter")
	if err := os.WriteFile(script, []byte("#!"+interpreter+"\nexec \"$@\"\n"), 0o700); err != nil {
		p.Fatal(err)
	}
	config = strings.Replace(p.config("", args...), "command: [", fmt.Sprintf("command: [%q, ", script), 1)
	return config, func() {
		p.Helper()
		if err := os.Symlink("/bin/sh", interpreter); err != nil {
			p.Fatal(err)
		}
	}
}

// refused makes a start that must be refused.
func (p place) refused(kind job.Type, a job.Attempt) *job.Refusal {
	p.Helper()
	started, err := kind.Start(p.Context(), a)
	var refusal *job.Refusal
	if !errors.As(err, &refusal) {
		p.Fatalf("got %+v, %v; want a refusal", started, err)
	}
	return refusal
}

// found reports whether a controller finds a job of the attempt.
func (p place) found(a job.Attempt) bool {
	p.Helper()
	h, found, err := p.controller().Find(p.Context(), a)
	if err != nil || found && string(h) != filepath.Base(p.dirOf(a)) {
		p.Fatalf("find: %q, %v", h, err)
	}
	return found
}

func TestARefusedStartIsTriedAgain(t *testing.T) {
	p := newPlace(t)
	a, ready := p.unready("refused", "print", "at last", "exit", "5")
	for range 2 {
		p.refused(p.kind, a)
		if p.found(a) {
			t.Error("the refused job was found")
		}
	}
	ready()
	h := p.start(a)
	if !p.found(a) {
		t.Error("the started job was not found")
	}
	if got := p.end(a, h); got.ExitCode != 5 || got.Output != "at last\n" {
		t.Errorf("got %+v", got)
	}
	if again := p.end(a, p.start(a)); again.ExitCode != 5 || len(p.noted(a)) != 1 {
		t.Errorf("started again: %+v, %v", again, p.noted(a))
	}
}

// TestAFileThatIsStillWrittenIsTriedAgain covers a refusal that passes by itself, as during a
// deployment.
func TestAFileThatIsStillWrittenIsTriedAgain(t *testing.T) {
	p := newPlace(t)
	script := filepath.Join(p.notes, "script")
	f, err := os.OpenFile(script, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("#!/bin/sh\necho written\n"); err != nil {
		t.Fatal(err)
	}
	a := p.attempt("busy", "command: "+script+"\n")
	if started, err := p.kind.Start(t.Context(), a); err == nil {
		p.end(a, started.Handle)
		t.Skip("this system starts programs that are still being written")
	}
	if got := p.refused(p.kind, a); got.Category != run.Transient {
		t.Errorf("got %s: %s", got.Category, got.Reason)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := p.end(a, p.start(a)); got.Output != "written\n" {
		t.Errorf("got %+v", got)
	}
}

func TestARepeatThatRunsCanBeFollowedAndStopped(t *testing.T) {
	p := newPlace(t)
	a, ready := p.unready("followed", "endless")
	p.refused(p.kind, a)
	ready()
	h := p.start(a)
	pid := p.notedPID(a, "pid")
	if status := p.status(a, h); status.Done {
		t.Errorf("got %+v, want it running", status)
	}
	if err := p.kind.Stop(t.Context(), a, h); err != nil {
		t.Fatal(err)
	}
	if got := p.end(a, h); got.Message != "was stopped" || alive(pid) {
		t.Errorf("got %+v; it runs: %v", got, alive(pid))
	}
}

func TestAKeeperThatDiesBeforeARepeatClaimsHasStartedNothing(t *testing.T) {
	p := newPlace(t)
	a, ready := p.unready("early", "exit", "0")
	p.refused(p.kind, a)
	dead := p.controller()
	dead.KeepWith(deadArg)
	if got := p.refused(dead, a); got.Category != run.Transient {
		t.Errorf("got %s: %s", got.Category, got.Reason)
	}
	ready()
	if got := p.end(a, p.start(a)); got.Result != run.ResultSuccess {
		t.Errorf("after a repeat: %+v", got)
	}
}

// TestRepeatsAtOnceStartOnce has several controllers repeat one start as fast as they can while it
// becomes possible.
func TestRepeatsAtOnceStartOnce(t *testing.T) {
	p := newPlace(t)
	for i := range 4 {
		a, ready := p.unready(fmt.Sprintf("many-%d", i), "exit", "5")
		p.refused(p.kind, a)
		var all sync.WaitGroup
		for range 6 {
			kind := p.controller()
			all.Go(func() {
				err := error(&job.Refusal{})
				for tries := 0; tries < 50 && errors.As(err, new(*job.Refusal)); tries++ {
					_, err = kind.Start(t.Context(), a)
				}
				if err != nil {
					t.Errorf("start: %v", err)
				}
			})
		}
		ready()
		all.Wait()
		// A start that met another's claim adopted it, and that claim may have been refused.
		if got := p.end(a, p.start(a)); got.ExitCode != 5 || len(p.noted(a)) != 1 {
			t.Errorf("got %+v, %v", got, p.noted(a))
		}
	}
}

// TestAControllerKilledAtAnyInstantOfARepeatStartsNothingTwice is the same test for an attempt that
// was refused before.
func TestAControllerKilledAtAnyInstantOfARepeatStartsNothingTwice(t *testing.T) {
	p := newPlace(t)
	for i := range 15 {
		config, ready := p.unreadyConfig("print", "once", "exit", "3")
		a := p.attempt(fmt.Sprintf("any-%d", i), config)
		p.refused(p.kind, a)
		ready()
		controller := exec.Command(os.Args[0], controllerArg, p.jobs, string(a.ID), config)
		if err := controller.Start(); err != nil {
			t.Fatal(err)
		}
		killed := make(chan error)
		time.AfterFunc(time.Duration(i)*8*time.Millisecond, func() { killed <- controller.Process.Kill() })
		if err := <-killed; err != nil {
			t.Fatal(err)
		}
		got := p.end(a, p.start(a))
		controller.Wait()
		if got.ExitCode != 3 || got.Output != "once\n" || len(p.noted(a)) != 1 {
			t.Errorf("killed after %d ms: got %+v, %v", i*8, got, p.noted(a))
		}
	}
}

// TestAKeeperKilledAtAnyInstantOfARepeatStartsNothingTwice kills keepers at different instants: the
// next keeper starts an unclaimed job; a claimed one is lost or has ended.
func TestAKeeperKilledAtAnyInstantOfARepeatStartsNothingTwice(t *testing.T) {
	p := newPlace(t)
	for i := range 20 {
		a, ready := p.unready(fmt.Sprintf("mortal-%d", i), "exit", "3")
		p.refused(p.kind, a)
		ready()
		mortal := p.controller()
		mortal.KeepWith(mortalArg, (time.Duration(i) * time.Millisecond).String())
		mortal.Start(t.Context(), a) // any result will do
		got := p.end(a, p.start(a))
		if lost := strings.HasPrefix(got.Message, "lost"); !lost && (got.ExitCode != 3 || len(p.noted(a)) != 1) || len(p.noted(a)) > 1 {
			t.Errorf("killed after %d ms: got %+v, %v", i, got, p.noted(a))
		}
	}
}

// TestOnlyARefusalLeavesRoomForARepeat puts into the place of a repeat what a power failure may
// leave there.
func TestOnlyARefusalLeavesRoomForARepeat(t *testing.T) {
	p := newPlace(t)
	for name, left := range map[string]string{"nothing": "", "half a claim": "claim"} {
		a, ready := p.unready(strings.ReplaceAll(name, " ", "-"), "exit", "0")
		p.refused(p.kind, a)
		ready()
		again := filepath.Join(p.dirOf(a), "again")
		if err := os.Mkdir(again, 0o700); err != nil {
			t.Fatal(err)
		}
		if left != "" {
			if err := os.WriteFile(filepath.Join(again, left), []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := p.end(a, p.start(a)); !strings.HasPrefix(got.Message, "lost") || !p.found(a) || p.noted(a) != nil {
			t.Errorf("%s: got %+v, %v", name, got, p.noted(a))
		}
	}
}

func TestAnEndThatCannotBeReadIsNotARefusal(t *testing.T) {
	p := newPlace(t)
	a := p.attempt("torn", p.config(""))
	if err := os.MkdirAll(p.dirOf(a), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dirOf(a), "exit"), []byte(`{"refused": "x`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := p.kind.Start(t.Context(), a)
	var refusal *job.Refusal
	if err == nil || errors.As(err, &refusal) || p.noted(a) != nil {
		t.Errorf("start: %v, %v", err, p.noted(a))
	}
	if _, found, err := p.kind.Find(t.Context(), a); err == nil {
		t.Errorf("find: %v", found)
	}
}

func TestARepeatKeepsItsAttemptFromBeingSwept(t *testing.T) {
	p := newPlace(t)
	long := time.Now().Add(-48 * time.Hour)
	sweep := func(want int) {
		t.Helper()
		if removed, err := p.kind.Sweep(t.Context(), long.Add(time.Hour), always); err != nil || removed != want {
			t.Errorf("removed %d, %v; want %d", removed, err, want)
		}
	}
	age := func(path string) {
		t.Helper()
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
	}
	a, ready := p.unready("swept", "endless")
	p.refused(p.kind, a)
	ready()
	h := p.start(a)
	age(p.dirOf(a))
	age(filepath.Join(p.dirOf(a), "again"))
	sweep(0) // it runs
	if err := p.kind.Stop(t.Context(), a, h); err != nil {
		t.Fatal(err)
	}
	p.end(a, h)
	age(p.dirOf(a))
	sweep(0) // it has just ended
	if !p.found(a) {
		t.Fatal("the job is not found")
	}
	age(filepath.Join(p.dirOf(a), "again"))
	sweep(1)
	if left, err := os.ReadDir(p.jobs); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
