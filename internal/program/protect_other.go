//go:build !linux

package program

// Protect does nothing here: the system decides which processes may read this one.
func Protect() {}
