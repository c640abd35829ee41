package redistest

import "syscall"

// dieTogether lets no server outlive a test that was killed.
func dieTogether() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
