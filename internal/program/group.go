//go:build unix

package program

import (
	"errors"
	"syscall"
	"time"
)

const (
	// groupTick is how often an ending group is checked. It is short, so that its id cannot be
	// reused between a check and a signal.
	groupTick = 10 * time.Millisecond
	// killTime is how long a killed group has to disappear. One that hangs in the kernel does not.
	killTime = 5 * time.Second
)

// EndGroup ends the remaining processes of a group: it sends SIGTERM, and SIGKILL after the grace
// period. A program's children end with it, because another try, or a job that waits for this one,
// may follow at once. Meanwhile it calls look repeatedly, to reap: an ended process counts as alive
// until its parent has waited for it.
func EndGroup(group int, grace time.Duration, look func()) {
	if signalGroup(group, syscall.SIGTERM) != nil {
		return
	}
	signalGroup(group, syscall.SIGCONT) // a suspended process handles no signal
	if !groupGone(group, grace, look) {
		signalGroup(group, syscall.SIGKILL)
		groupGone(group, killTime, look)
	}
}

// groupGone waits until the group is empty, but not longer than limit.
func groupGone(group int, limit time.Duration, look func()) bool {
	tick := time.NewTicker(groupTick)
	defer tick.Stop()
	for end := time.After(limit); ; {
		look()
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

// signalGroup fails if the group is empty.
func signalGroup(group int, s syscall.Signal) error { return syscall.Kill(-group, s) }

// Reap waits for the ended processes of the group that this process has adopted: as PID 1 of a
// container it adopts all orphans, which count as alive until then. The leader must have been
// waited for before.
func Reap(group int) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-group, &status, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
	}
}
