package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/interlock-go/interlock/internal/program"
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
type guard struct {
	pipe *os.File
	pid  int
}

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
	return &guard{write, process.Process.Pid}, nil
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

// reapOrphans reaps the orphans that this process has adopted, also as PID 1 of a container, until
// the returned function is called. own are the children that are waited for elsewhere.
func reapOrphans(own ...int) (stop func()) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	go func() {
		for more := true; more; _, more = <-ended {
			program.ReapOrphans(own...)
		}
	}()
	return func() {
		signal.Stop(ended)
		close(ended)
	}
}

// aliveTick is how often a command that was asked to end is checked.
const aliveTick = 10 * time.Millisecond

// end ends the command and all its descendants, also those with a session of their own: it sends
// SIGTERM, and SIGKILL after the grace period.
func (c *child) end(grace time.Duration) {
	tree := program.Tree{Except: c.helpers()}
	if c.group {
		tree.Group = c.cmd.Process.Pid
	}
	none := make(chan struct{})
	go func() {
		defer close(none)
		for tree.Alive() {
			time.Sleep(aliveTick)
		}
	}()
	tree.End(grace, none)
}
