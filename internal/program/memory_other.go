//go:build !linux

package program

// MachineMemory is unknown on this system.
func MachineMemory() int64 { return 0 }
