//go:build !linux

package redistest

import "syscall"

func dieTogether() *syscall.SysProcAttr { return nil }
