//go:build unix && !linux

package program

import "syscall"

// Attributes of a program: a group of its own. Here it outlives a parent that is killed.
func Attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
