//go:build unix

package files

import (
	"io/fs"
	"os/user"
	"strconv"
	"syscall"
)

// ownerOf returns the name of a file's owner, or the number if it has no name; "" if unknown.
func ownerOf(info fs.FileInfo) string {
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	id := strconv.FormatUint(uint64(sys.Uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}
