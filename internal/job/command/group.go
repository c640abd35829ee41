//go:build unix

package command

import (
	"errors"
	"syscall"
)

// reap waits for the command and for the orphans it leaves: they count as alive until their parent has waited for
// them. It sends the command's wait status on ended, and closes none when this process has no child left. If this
// process adopts orphans, the command then has no descendants left.
func reap(command int) (ended <-chan syscall.WaitStatus, none <-chan struct{}) {
	gone, last := make(chan syscall.WaitStatus, 1), make(chan struct{})
	go func() {
		defer close(last)
		for {
			var status syscall.WaitStatus
			pid, err := syscall.Wait4(-1, &status, 0, nil)
			switch {
			case errors.Is(err, syscall.EINTR):
			case err != nil:
				return
			case pid == command:
				gone <- status
			}
		}
	}()
	return gone, last
}

func signalName(number int) string { return syscall.Signal(number).String() }
