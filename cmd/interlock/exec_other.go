//go:build !linux

package main

import "syscall"

// ownGroup is always false: signals to exec's group also reach the command.
func ownGroup() bool { return false }

// childAttributes leaves the command in exec's process group.
func childAttributes(bool) *syscall.SysProcAttr { return nil }

// guard is never started: no command has its own group.
type guard struct{}

func startGuard() (*guard, error) { return &guard{}, nil }

func (*guard) watch(int) {}
func (*guard) end()      {}

func guards([]string) bool { return false }
