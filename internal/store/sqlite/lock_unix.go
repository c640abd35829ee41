//go:build unix

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

func tryLock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

func isHeld(err error) bool { return errors.Is(err, syscall.EWOULDBLOCK) }
