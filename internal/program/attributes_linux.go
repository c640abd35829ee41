package program

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Attributes returns how a program is started: in its own session, as the user of the policy, and
// killed when its parent ends, because only the parent knows its time limit. Within a session every
// process may resume every other, whatever their users.
func (p Policy) Attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, Credential: p.User.credential()}
}

// switching are the capabilities that are needed to run a program as another user, and to end it.
var switching = []uintptr{unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_KILL}

// Delegate passes to a process that starts programs for this one what it needs to switch to the
// policy's user. Root needs nothing.
func (p Policy) Delegate(to *syscall.SysProcAttr) {
	if p.User != nil && os.Geteuid() != 0 {
		to.AmbientCaps = switching
	}
}

// DropCapabilities keeps the programs that this thread starts from inheriting capabilities:
// changing the user drops only those of root.
func DropCapabilities() { _ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) }

// maySwitch returns an error if this process cannot start programs as another user.
func maySwitch() error {
	// Protect clears them for all threads, which Go can do only without cgo.
	if set, _, _ := unix.Syscall6(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_IS_SET, unix.CAP_SETUID, 0, 0, 0); set == 1 {
		return errors.New("programs would inherit the server's capabilities; use a binary that was built with CGO_ENABLED=0, or start it as root")
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	return canSwitch(uint64(data[0].Effective) | uint64(data[1].Effective)<<32)
}

// canSwitch returns an error if one of the capabilities is missing.
func canSwitch(effective uint64) error {
	for _, c := range switching {
		if effective&(1<<c) == 0 {
			return errors.New("this needs root, or the capabilities CAP_SETUID, CAP_SETGID and CAP_KILL (AmbientCapabilities= in a systemd unit); start the controller with them, or remove jobs.user")
		}
	}
	return nil
}
