//go:build unix && !linux

package command

import (
	"syscall"

	"github.com/interlock-go/interlock/internal/program"
)

// container is nothing here: there are no control groups.
type container struct{}

func (container) close(*exit) {}

// launch starts the command.
func (k *keeper) launch(attr *syscall.ProcAttr) (pid int, err error) {
	return syscall.ForkExec(k.Path, k.Argv, attr)
}

// sacrifice is left to the system here.
func sacrifice(int) {}

// sample checks nothing here: how much a command uses cannot be told.
func (k *keeper) sample(<-chan struct{}) {}

// adoptOrphans is left to the system's first process here.
func adoptOrphans() {}

// endAll ends the command's process group: it asks, and after the grace it kills. A process that has left the group cannot be
// found here.
func (k *keeper) endAll(<-chan struct{}) {
	program.EndGroup(k.command, k.Grace, func() {}) // reap waits for its processes
}
