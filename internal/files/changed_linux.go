package files

import (
	"io/fs"
	"syscall"
)

// changed returns the inode change time of a file, in nanoseconds: it also covers owner and
// permissions.
func changed(info fs.FileInfo) int64 {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		return sys.Ctim.Nano()
	}
	return 0
}
