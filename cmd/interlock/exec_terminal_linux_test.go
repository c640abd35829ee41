package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// pseudoTerminal opens a pseudo-terminal: the side of the person, and that of the programs.
func pseudoTerminal(t *testing.T) (person, programs *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal can be made here: %v", err)
	}
	t.Cleanup(func() { _ = person.Close() }) // the test is over
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if programs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = programs.Close() }) // the test is over
	go func() { _, _ = io.Copy(io.Discard, person) }()
	return person, programs
}

// Under a controlling terminal the command is in the process group of exec, which must survive.
func TestCommandUnderATerminalAlwaysEnds(t *testing.T) {
	d := execGround(t, "")
	r := relayTo(t, d.url)
	r.claim = map[string]any{"heartbeatSeconds": 3}
	_, tty := pseudoTerminal(t)
	cmd := d.command(slices.Concat([]string{"exec", "orders", "--server", r.URL, "--date", execDay, "--"}, []string{"sh", "-c", d.stubborn()})...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pids := d.stubbornPIDs()
	if group, err := syscall.Getpgid(pids["self"]); err != nil || group != cmd.Process.Pid {
		t.Errorf("the command is in group %d (%v), not in that of exec, so this test proves nothing", group, err)
	}
	if got := d.interlock("cancel", "orders", "--date", execDay, "--reason", "test"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if code := d.stopsAll(cmd, pids); code != exitBySignal+int(syscall.SIGKILL) {
		t.Errorf("exit code %d", code)
	}
}
