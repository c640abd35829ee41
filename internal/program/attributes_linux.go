package program

import "syscall"

// Attributes of a program: a group of its own, and death with whoever started it, who alone knows its time limit.
func Attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
