package command

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the parent of its descendants whose own parent ends. None leaves its tree then, also
// none that has begun a session of its own, so that all can be found and ended.
func adoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// descendant is a living process, as it was when it was listed.
type descendant struct {
	process
	stat
}

// descendants lists the living processes that this one has started, and those that they have started, however far down.
// One that was only just started may be missing.
func descendants() []descendant {
	var found []descendant
	seen := map[int]bool{}
	next := childrenOf(os.Getpid())
	for len(next) > 0 {
		pid := next[0]
		next = next[1:]
		if seen[pid] {
			continue
		}
		seen[pid] = true
		if s, ok := statOf(pid); ok && !s.dead() {
			found = append(found, descendant{process{PID: pid, Start: s.start, Boot: bootID()}, s})
		}
		next = append(next, childrenOf(pid)...) // also of one that is dead: they are about to be adopted
	}
	return found
}

// childrenOf lists the children of all threads of a process.
func childrenOf(pid int) []int {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	var children []int
	for _, thread := range threads {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, thread.Name()))
		if err != nil {
			continue
		}
		for _, word := range bytes.Fields(text) {
			if child, err := strconv.Atoi(string(word)); err == nil {
				children = append(children, child)
			}
		}
	}
	return children
}

const (
	// killEvery is how often the descendants are killed that were started while the others were.
	killEvery = 10 * time.Millisecond
	// killTime is how long a killed process has to disappear. One that hangs in the kernel does not.
	killTime = 5 * time.Second
)

// endAll ends the command and all its descendants: it asks, and after the grace it kills. They end with it because another
// attempt, or a job that waits for this one, may follow at once. none is closed when none is left.
func (k *keeper) endAll(none <-chan struct{}) {
	if closedWithin(none, killEvery) {
		return
	}
	k.signalAll(syscall.SIGTERM)
	k.signalAll(syscall.SIGCONT) // a suspended process handles no signal
	if closedWithin(none, k.Grace) {
		return
	}
	for end := time.After(killTime); ; {
		k.signalAll(syscall.SIGKILL)
		select {
		case <-none:
			return
		case <-end:
			return
		case <-time.After(killEvery):
		}
	}
}

// signalAll sends a signal to the command's group at one instant, and then to its descendants outside of the group. The
// number of one that has ended meanwhile may have been given to another process, which is not signalled.
func (k *keeper) signalAll(s syscall.Signal) {
	_ = syscall.Kill(-k.group, s) // it may have ended
	for _, p := range descendants() {
		if p.group == k.group {
			continue
		}
		if found, err := os.FindProcess(p.PID); err == nil {
			if p.lives() {
				_ = found.Signal(s) // it may have just ended
			}
			_ = found.Release()
		}
	}
}

// closedWithin reports whether a channel is closed before the time is over.
func closedWithin(c <-chan struct{}, limit time.Duration) bool {
	select {
	case <-c:
		return true
	case <-time.After(limit):
		return false
	}
}
