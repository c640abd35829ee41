//go:build unix

package program

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

// EndGroup ends whatever is left of a process group: it asks, and after the grace it kills. A program's children end with
// it, because another try, or somebody who waits for this one, may follow at once. Meanwhile it calls look again and again:
// whoever has ended counts as living until its parent has taken note.
func EndGroup(group int, grace time.Duration, look func()) {
	if signalGroup(group, syscall.SIGTERM) != nil {
		return
	}
	signalGroup(group, syscall.SIGCONT) // one that is suspended cannot hear
	if !groupGone(group, grace, look) {
		signalGroup(group, syscall.SIGKILL)
		groupGone(group, killTime, look)
	}
}

// groupGone waits until nobody is left in the group, but not longer than limit.
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

// signalGroup fails if nobody is left in the group.
func signalGroup(group int, s syscall.Signal) error { return syscall.Kill(-group, s) }

// Reap takes note of the end of those in the group whose parent this process has become: as the first process of a
// container it is that of all orphans, which count as living until then. The leader must have been waited for before.
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
