//go:build unix && !linux

package command

import (
	"os"
	"syscall"

	"github.com/interlock-go/interlock/internal/program"
	"github.com/interlock-go/interlock/internal/run"
)

func executable() (string, error) { return os.Executable() }

// identify knows only the PID on this system; the lock on the claim shows whether the keeper lives.
func identify(pid int) process { return process{PID: pid} }

// killDescendants does nothing: a command's descendants cannot be identified on this system.
func (t *Type) killDescendants(run.AttemptID, int) {}

// suspended returns false: the state of another process is unknown on this system.
func (process) suspended() bool { return false }

// container is empty: there are no control groups on this system.
type container struct{}

func (container) close(*exit) {}

// launch starts the command.
func (k *keeper) launch(attr *syscall.ProcAttr) (pid int, err error) {
	return syscall.ForkExec(k.Path, k.Argv, attr)
}

// preferForOOMKill does nothing: this system has no OOM score.
func preferForOOMKill(int) {}

// sample checks nothing: the usage of a command is unknown on this system.
func (k *keeper) sample(<-chan struct{}) {}

// endAll ends the command's process group: it sends SIGTERM, and SIGKILL after the grace period. A
// process that has left the group cannot be found on this system.
func (k *keeper) endAll(<-chan struct{}) {
	program.EndGroup(k.command, k.Grace, func() {}) // reap waits for its processes
}
