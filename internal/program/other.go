//go:build !linux

package program

import "errors"

// DelegatedCgroup is "": there are no control groups here.
func DelegatedCgroup() string { return "" }

// CheckCgroup returns an error: there are no control groups here.
func CheckCgroup(string) error { return errors.New("there are no control groups on this system") }

// MachineMemory is unknown on this system.
func MachineMemory() int64 { return 0 }

// Protect does nothing on this system, which decides itself which processes may read this one.
func Protect() {}

// AdoptOrphans does nothing on this system, where the init process adopts orphans.
func AdoptOrphans() {}
