//go:build unix && !linux

package command

import (
	"os"

	"github.com/interlock-go/interlock/internal/run"
)

func executable() (string, error) { return os.Executable() }

// identify knows no more than the number here; the lock on the claim tells who lives.
func identify(pid int) process { return process{PID: pid} }

// bootID is not told here.
func bootID() string { return "" }

// endRemains can tell no stranger from a command's child here, and ends nobody.
func (t *Type) endRemains(run.AttemptID) {}
