//go:build !linux

package main

import "syscall"

// ownGroup is false: a signal to exec's group reaches the command, too.
func ownGroup() bool { return false }

// childAttributes leaves the command in exec's process group.
func childAttributes(bool) *syscall.SysProcAttr { return nil }

// guardGroup is not called: no command has a group of its own.
func guardGroup(int) (func(), error) { return func() {}, nil }

func guards([]string) bool { return false }
