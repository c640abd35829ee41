//go:build !linux

package main

import (
	"syscall"
	"time"
)

// ownGroup is always false: signals to exec's group also reach the command.
func ownGroup() bool { return false }

// childAttributes leaves the command in exec's process group.
func childAttributes(bool) *syscall.SysProcAttr { return nil }

// guard is never started: no command has its own group.
type guard struct{ pid int }

func startGuard() (*guard, error) { return &guard{}, nil }

func (*guard) watch(int) {}
func (*guard) end()      {}

func guards([]string) bool { return false }

// reapOrphans does nothing: this process adopts no orphans.
func reapOrphans(...int) (stop func()) { return func() {} }

// end ends the command: it is asked to end, and killed after the grace period. Its descendants
// cannot be found on this system.
func (c *child) end(grace time.Duration) {
	if signalChild(c.cmd.Process, false, syscall.SIGTERM) != nil {
		_ = c.cmd.Process.Kill() // Windows knows no other signal, and it may have just exited
	}
	select {
	case <-c.over:
	case <-time.After(grace):
		_ = c.cmd.Process.Kill()
	}
}
