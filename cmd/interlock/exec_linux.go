package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// ownGroup reports whether the command gets its own process group, so that signals also reach the
// programs that a script started. It does not if exec has a controlling terminal, because only the
// foreground group may read from it.
func ownGroup() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err == nil {
		_ = tty.Close() // nothing was written
	}
	return err != nil
}

// childAttributes makes the kernel kill the command if exec is killed.
func childAttributes(group bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: group}
}

// guardArg makes this binary run as the guard of a process group.
const guardArg = "__guard-exec"

// guard is a process that kills the command's process group if exec is killed: the kernel kills
// only the command itself, not its children. It starts before the command, so that exec has a guard
// as soon as the command runs.
type guard struct{ pipe *os.File }

// startGuard starts a guard. The caller must call end, also if the command does not start.
func startGuard() (*guard, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	process := exec.Command(self, guardArg)
	process.Stdin, process.Dir, process.Env = read, "/", []string{}
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // signals to exec's group must not reach the guard
	if err := process.Start(); err != nil {
		_ = write.Close() // nothing was written
		return nil, err
	}
	go func() { _ = process.Wait() }() // only to reap it
	return &guard{write}, nil
}

// watch tells the guard which process group to kill if exec is killed.
func (g *guard) watch(group int) {
	_, _ = fmt.Fprintln(g.pipe, group) // fails only if the guard has died
}

// end tells the guard that the command has ended.
func (g *guard) end() {
	_, _ = fmt.Fprintln(g.pipe, guardEnd) // fails only if the guard has died
	_ = g.pipe.Close()
}

// guardEnd is the line with which a guard ends.
const guardEnd = "end"

// guards runs the guard if args ask for it, and reports whether they did.
func guards(args []string) bool {
	if len(args) != 1 || args[0] != guardArg {
		return false
	}
	group := 0
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if lines.Text() == guardEnd {
			return true
		}
		group, _ = strconv.Atoi(lines.Text()) // exec writes a number
	}
	if group > 1 {
		_ = syscall.Kill(-group, syscall.SIGKILL) // the group may have ended with its command
	}
	return true
}
