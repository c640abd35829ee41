package command

import (
	"bytes"
	"fmt"
	"iter"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the parent of its descendants whose own parent ends. None leaves its tree then, also
// none that has begun a session of its own, so that all can be found and ended.
func adoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// descendants yields the processes that this one has started, and those that they have started, however far down: their
// numbers and what /proc says about them, which is nothing for one that is gone by then. One that was only just started may
// be missing.
func descendants() iter.Seq2[int, stat] {
	return func(yield func(int, stat) bool) {
		seen := map[int]bool{}
		next := childrenOf(os.Getpid())
		for len(next) > 0 {
			pid := next[0]
			next = next[1:]
			if seen[pid] {
				continue
			}
			seen[pid] = true
			if s, _ := statOf(pid); !yield(pid, s) {
				return
			}
			next = append(next, childrenOf(pid)...) // also of one that is dead: they are about to be adopted
		}
	}
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
	killTime = 30 * time.Second
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
		k.group.Kill()
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

// signalAll sends a signal to every process group of the command's descendants, each at one instant, so that none can start
// another in between. A group is of one session, and all sessions but this process's own were begun by descendants. One that
// has joined this process's own group is signalled alone.
func (k *keeper) signalAll(s syscall.Signal) {
	own, done := syscall.Getpgrp(), map[int]bool{k.command: true}
	_ = syscall.Kill(-k.command, s) // it may have ended
	for pid, p := range descendants() {
		switch {
		case p.group <= 1: // it is gone
		case p.group == own:
			_ = syscall.Kill(pid, s)
		case !done[p.group]:
			done[p.group] = true
			_ = syscall.Kill(-p.group, s)
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
