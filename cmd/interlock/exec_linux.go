package main

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// ownGroup reports whether the command gets its own process group, so that signals also reach the programs that a
// script started. It does not if exec has a controlling terminal, because only the foreground group may read from it.
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

// guardGroup starts a process that kills a process group if exec is killed: the kernel kills only the command itself,
// not its children. The returned function tells the guard that the command has ended.
func guardGroup(group int) (func(), error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	guard := exec.Command(self, guardArg, strconv.Itoa(group))
	guard.Stdin, guard.Dir, guard.Env = read, "/", []string{}
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // signals to exec's group must not reach the guard
	if err := guard.Start(); err != nil {
		_ = write.Close() // nothing was written
		return nil, err
	}
	go func() { _ = guard.Wait() }() // only to reap it
	return func() {
		_, _ = write.Write([]byte{'.'}) // fails only if the guard has died
		_ = write.Close()
	}, nil
}

// guards runs the guard if args ask for it, and reports whether they did.
func guards(args []string) bool {
	if len(args) != 2 || args[0] != guardArg {
		return false
	}
	group, err := strconv.Atoi(args[1])
	if n, _ := os.Stdin.Read(make([]byte, 1)); n == 0 && err == nil && group > 1 {
		_ = syscall.Kill(-group, syscall.SIGKILL) // the group may have ended with its command
	}
	return true
}
