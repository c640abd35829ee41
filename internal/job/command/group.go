//go:build unix

package command

import (
	"errors"
	"syscall"
	"time"
)

const (
	// groupTick is how often a group is looked at that was asked to end. It is short, so that its number cannot have been
	// given to another group between a look and a signal.
	groupTick = 10 * time.Millisecond
	// killTime is how long a killed group has to disappear. One that hangs in the kernel does not.
	killTime = 5 * time.Second
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

// endGroup ends whatever is left of a process group: it asks, and after the grace it kills. A command's children end with
// it, because another attempt, or a pipeline that waits for this one, may follow at once.
func endGroup(group int, grace time.Duration) {
	if signalGroup(group, syscall.SIGTERM) != nil {
		return
	}
	signalGroup(group, syscall.SIGCONT) // one that is suspended cannot hear
	if !groupGone(group, grace) {
		signalGroup(group, syscall.SIGKILL)
		groupGone(group, killTime)
	}
}

// groupGone waits until nobody is left in the group, but not longer than limit.
func groupGone(group int, limit time.Duration) bool {
	tick := time.NewTicker(groupTick)
	defer tick.Stop()
	for end := time.After(limit); ; {
		if signalGroup(group, 0) != nil {
			return true
		}
		select {
		case <-tick.C:
		case <-end:
			return false
		}
	}
}

// signalGroup fails if nobody is left in the group.
func signalGroup(group int, s syscall.Signal) error { return syscall.Kill(-group, s) }

func signalName(number int) string { return syscall.Signal(number).String() }
