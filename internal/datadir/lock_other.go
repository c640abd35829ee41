//go:build !unix

package datadir

import (
	"errors"
	"os"
)

// tryLock refuses: without a lock two controllers on one directory would start jobs twice.
func tryLock(*os.File) error {
	return errors.New("this system has no file locks that Interlock knows how to use; run it on Linux, macOS or a BSD")
}

func isHeld(error) bool { return false }

func alive(int) bool { return true }
