//go:build !linux

package datadir

import (
	"errors"
	"os"
	"syscall"
)

// freeSpace is unknown on this system: whether there is space shows when it is occupied.
func freeSpace(string) (bytes int64, known bool) { return 0, false }

// allocate occupies disk space for a file.
func allocate(f *os.File, size int64) error { return writeZeros(f, size) }

func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) }
