//go:build unix

package pgtest

import (
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// servant is who the server runs as: PostgreSQL refuses to run as root.
func servant() (uid, gid int, other bool) {
	if os.Getuid() != 0 {
		return 0, 0, false
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(u.Uid)
		gid, wrong := strconv.Atoi(u.Gid)
		if err == nil && wrong == nil {
			return uid, gid, true
		}
	}
	return 0, 0, false
}

// apart runs cmd as the servant, and in a group of its own: who kills a test with all that it
// started does not reach it.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if uid, gid, other := servant(); other {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
}

// give makes dir the servant's.
func give(dir string) error {
	if uid, gid, other := servant(); other {
		return os.Chown(dir, uid, gid)
	}
	return nil
}
