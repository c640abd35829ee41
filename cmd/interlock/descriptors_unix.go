//go:build unix

package main

import (
	"math"
	"syscall"
)

// descriptors returns how many files the process may have open. Go has raised that to the hard limit at start.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt32
	}
	return int(min(uint64(limit.Cur), math.MaxInt32))
}
