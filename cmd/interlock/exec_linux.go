package main

import "syscall"

// childAttributes has the kernel kill the command if exec is killed.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
