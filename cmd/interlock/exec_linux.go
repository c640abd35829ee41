package main

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// ownGroup reports whether the command gets a process group of its own, so that a signal reaches the programs that a script
// has started, too. Not where a terminal controls exec: it lets only the foreground group read.
func ownGroup() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err == nil {
		_ = tty.Close() // nothing was written
	}
	return err != nil
}

// childAttributes has the kernel kill the command if exec is killed.
func childAttributes(group bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: group}
}

// guardArg makes this binary the guard of a process group.
const guardArg = "__guard-exec"

// guardGroup starts a process that kills a group if exec is killed: the kernel kills the command alone, and not what it has
// started. The returned function tells the guard that the command has ended.
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
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a signal to exec's group is not for it
	if err := guard.Start(); err != nil {
		_ = write.Close() // nothing was written
		return nil, err
	}
	go func() { _ = guard.Wait() }() // there is nothing to know of it
	return func() {
		_, _ = write.Write([]byte{'.'}) // a guard that is gone guards nothing
		_ = write.Close()
	}, nil
}

// guards is the guard itself. It reports whether the arguments make this process one, which then has done its work.
func guards(args []string) bool {
	if len(args) != 2 || args[0] != guardArg {
		return false
	}
	group, err := strconv.Atoi(args[1])
	if n, _ := os.Stdin.Read(make([]byte, 1)); n == 0 && err == nil && group > 1 {
		_ = syscall.Kill(-group, syscall.SIGKILL) // it may have ended with its command
	}
	return true
}
