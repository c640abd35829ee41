//go:build unix && !linux

package program

import (
	"errors"
	"os"
	"syscall"
)

// Attributes returns how a program is started: in its own session, as the user of the policy.
// On this system it outlives a parent that is killed.
func (p Policy) Attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Credential: p.User.credential()}
}

// Delegate does nothing on this system: only root can switch to another user.
func (p Policy) Delegate(*syscall.SysProcAttr) {}

// DropCapabilities does nothing on this system: there are none.
func DropCapabilities() {}

// maySwitch returns an error if this process cannot start programs as another user.
func maySwitch() error {
	if os.Geteuid() != 0 {
		return errors.New("this needs root; start the controller as root, or remove jobs.user")
	}
	return nil
}
