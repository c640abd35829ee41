//go:build !linux

package files

import "io/fs"

// changed is what can be said everywhere of who may read a file.
func changed(info fs.FileInfo) int64 { return int64(info.Mode()) }
