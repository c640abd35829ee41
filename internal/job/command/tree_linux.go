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

// adoptOrphans makes this process the parent of its orphaned descendants. All descendants, even
// those with their own session, then stay in its process tree, so that they can be found and ended.
func adoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// descendants yields all direct and indirect children of this process: their PIDs and /proc stats,
// which are empty for one that has exited meanwhile. A child that was only just started may be
// missing.
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
			next = append(next, childrenOf(pid)...) // even of a dead process: its children are about to be adopted
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
	// killEvery is how often new descendants, started during the killing, are killed.
	killEvery = 10 * time.Millisecond
	// killTime is how long a killed process has to disappear. One that hangs in the kernel does
	// not.
	killTime = 30 * time.Second
)

// endAll ends the command and all its descendants: it sends SIGTERM, and SIGKILL after the grace
// period. Another attempt, or a job that waits for this one, may follow at once, so no descendant
// may remain. none is closed when none is left.
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

// signalAll sends a signal to every process group of the command's descendants. Each group is
// signalled at once, so that no member can start another process in between. A group belongs to one
// session, and all sessions but this process's own were created by descendants. A descendant in
// this process's own group is signalled by its PID.
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

// closedWithin reports whether a channel is closed within the limit.
func closedWithin(c <-chan struct{}, limit time.Duration) bool {
	select {
	case <-c:
		return true
	case <-time.After(limit):
		return false
	}
}
