//go:build !linux

package program

// MachineMemory is not known here.
func MachineMemory() int64 { return 0 }
