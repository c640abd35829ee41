//go:build unix

package command

import (
	"errors"
	"syscall"
)

// reap waits for the command and for the orphans it leaves, which would otherwise count as living members of its group
// until somebody else takes note of their end. It gives how the command ended.
func reap(command int) <-chan syscall.WaitStatus {
	gone := make(chan syscall.WaitStatus, 1)
	go func() {
		for {
			var status syscall.WaitStatus
			pid, err := syscall.Wait4(-1, &status, 0, nil)
			switch {
			case errors.Is(err, syscall.EINTR):
			case err != nil:
				return // nobody is left
			case pid == command:
				gone <- status
			}
		}
	}()
	return gone
}

func signalName(number int) string { return syscall.Signal(number).String() }
