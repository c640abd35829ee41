//go:build !linux

package main

import "syscall"

// childAttributes leaves the command in exec's process group: a signal to the group reaches both.
func childAttributes() *syscall.SysProcAttr { return nil }
