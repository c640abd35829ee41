//go:build !unix

package datadir

import (
	"errors"
	"io/fs"
	"os"
)

// tryLock fails: without a lock two controllers on one directory would start jobs twice.
func tryLock(*os.File) error {
	return errors.New("Interlock does not support file locks on this system; run it on Linux, macOS or a BSD")
}

func isHeld(error) bool { return false }

func alive(int) bool { return true }

const noFollow = 0

func isLink(error) bool { return false }

func otherOwner(fs.FileInfo) (uid int, other bool) { return 0, false }
