//go:build unix && !linux

package command

import (
	"os"

	"github.com/interlock-go/interlock/internal/run"
)

func executable() (string, error) { return os.Executable() }

// identify knows only the PID on this system; the lock on the claim shows whether the keeper lives.
func identify(pid int) process { return process{PID: pid} }

// bootID is unknown on this system.
func bootID() string { return "" }

// endRemains does nothing: a command's descendants cannot be identified on this system.
func (t *Type) endRemains(run.AttemptID) {}
