//go:build !linux

package main

import "syscall"

// ownGroup is always false: signals to exec's group also reach the command.
func ownGroup() bool { return false }

// childAttributes leaves the command in exec's process group.
func childAttributes(bool) *syscall.SysProcAttr { return nil }

// guardGroup is never called: no command has its own group.
func guardGroup(int) (func(), error) { return func() {}, nil }

func guards([]string) bool { return false }
