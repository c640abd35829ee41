//go:build unix

package datadir

import (
	"errors"
	"os"
	"syscall"
)

func tryLock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

func isHeld(err error) bool { return errors.Is(err, syscall.EWOULDBLOCK) }

// alive says whether there is such a process. Of one that nobody names, and is about to, it says that there is.
func alive(pid int) bool {
	return pid <= 0 || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
