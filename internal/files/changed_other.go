//go:build !linux

package files

import "io/fs"

// changed returns the mode, which is the only portable part of a file's permissions.
func changed(info fs.FileInfo) int64 { return int64(info.Mode()) }
