//go:build unix

package datadir

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

func tryLock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

func isHeld(err error) bool { return errors.Is(err, syscall.EWOULDBLOCK) }

// alive reports whether there is such a process. It returns true for 0: the holder is about to
// write its id.
func alive(pid int) bool {
	return pid <= 0 || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// noFollow makes opening a symbolic link fail with an error that isLink recognizes.
const noFollow = syscall.O_NOFOLLOW

func isLink(err error) bool { return errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EMLINK) } // EMLINK on FreeBSD

// otherOwner returns the owner of a file, and whether that is another user than this one. A
// directory of root is safe: root can change any file anyway, and volumes are often mounted this
// way, with write permission for a group.
func otherOwner(info fs.FileInfo) (uid int, other bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), s.Uid != 0 && int(s.Uid) != os.Geteuid()
}
