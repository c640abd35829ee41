//go:build unix && !linux

package program

import (
	"errors"
	"os"
	"syscall"
)

// Attributes returns how a program is started: in a group of its own, as the user of the policy. Here it outlives a parent
// that is killed.
func (p Policy) Attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: p.User.credential()}
}

// Delegate does nothing here: only root can switch to another user.
func (p Policy) Delegate(*syscall.SysProcAttr) {}

// DropCapabilities does nothing here: there are none.
func DropCapabilities() {}

// maySwitch returns an error if this process cannot start programs as another user.
func maySwitch() error {
	if os.Geteuid() != 0 {
		return errors.New("this needs root; start the controller as root, or remove jobs.user")
	}
	return nil
}
