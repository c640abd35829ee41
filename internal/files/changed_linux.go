package files

import (
	"io/fs"
	"syscall"
)

// changed is when anything about a file last did, its owner and permissions included, in nanoseconds.
func changed(info fs.FileInfo) int64 {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		return sys.Ctim.Nano()
	}
	return 0
}
