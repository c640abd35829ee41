package program

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// AdoptOrphans makes this process the parent of its orphaned descendants. All descendants, even
// those with their own session, then stay in its process tree, so that they can be found and ended.
// This process must reap them.
func AdoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// Stat is the part of /proc/PID/stat that is used.
type Stat struct {
	State   string
	Group   int
	Threads int
	Start   string // in ticks since the machine started
}

// StatOf returns the state of a process; ok is false if there is none.
func StatOf(pid int) (s Stat, ok bool) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return Stat{}, false
	}
	// The second field is the program's name in brackets, and may contain anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const state, group, threads, start = 0, 2, 17, 19 // counted from the third
	if len(fields) <= start {
		return Stat{}, false
	}
	number, badGroup := strconv.Atoi(fields[group])
	count, badCount := strconv.Atoi(fields[threads])
	return Stat{fields[state], number, count, fields[start]}, badGroup == nil && badCount == nil
}

// Dead reports whether a process is a zombie.
func (s Stat) Dead() bool { return s.State == "Z" || s.State == "X" }

// Suspended reports whether a process has been stopped by a signal or a debugger.
func (s Stat) Suspended() bool { return s.State == "T" || s.State == "t" }

// Descendants yields all direct and indirect children of this process: see DescendantsOf.
func Descendants() iter.Seq2[int, Stat] { return DescendantsOf(os.Getpid()) }

// DescendantsOf yields all direct and indirect children of a process: their PIDs and states, which
// are empty for one that has exited meanwhile. A child that was only just started may be missing.
func DescendantsOf(root int) iter.Seq2[int, Stat] {
	return func(yield func(int, Stat) bool) {
		seen := map[int]bool{}
		next := childrenOf(root)
		for len(next) > 0 {
			pid := next[0]
			next = next[1:]
			if seen[pid] {
				continue
			}
			seen[pid] = true
			if s, _ := StatOf(pid); !yield(pid, s) {
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

// ReapOrphans waits for the ended children of this process that it has adopted. Those in except are
// its own, and are waited for elsewhere.
func ReapOrphans(except ...int) {
	for _, pid := range childrenOf(os.Getpid()) {
		if s, _ := StatOf(pid); s.Dead() && !slices.Contains(except, pid) {
			var status syscall.WaitStatus
			_, _ = syscall.Wait4(pid, &status, syscall.WNOHANG, nil) // it is reaped, or was
		}
	}
}

// Tree is a program that a process has started, with all its descendants: those of that process,
// which must adopt orphans.
type Tree struct {
	Root   int    // the process that has started it; 0: this one
	Group  int    // the process group of the program, if it has its own
	Except []int  // children of this process that are not part of the tree
	Kill   func() // kills the program's control group, if it has one; may be nil
}

const (
	// treeTick is how often new descendants, started during the killing, are killed.
	treeTick = 10 * time.Millisecond
	// treeTime is how long a killed tree has to disappear. A process that hangs in the kernel does
	// not.
	treeTime = 30 * time.Second
)

// End ends the program and all its descendants: it sends SIGTERM, and SIGKILL after the grace
// period. none is closed when none is left.
func (t Tree) End(grace time.Duration, none <-chan struct{}) {
	t.signal(syscall.SIGTERM)
	t.signal(syscall.SIGCONT) // a suspended process handles no signal
	select {
	case <-none:
		return
	case <-time.After(grace):
	}
	for end := time.After(treeTime); ; {
		if t.Kill != nil {
			t.Kill()
		}
		t.signal(syscall.SIGKILL)
		select {
		case <-none:
			return
		case <-end:
			return
		case <-time.After(treeTick):
		}
	}
}

// Destroy sends SIGKILL to the tree, and reports whether any process of it had not ended.
func (t Tree) Destroy() bool {
	alive := t.Alive()
	if alive {
		t.signal(syscall.SIGKILL)
	}
	return alive
}

// Alive reports whether any process of the tree has not ended.
func (t Tree) Alive() bool {
	for pid, s := range t.descendants() {
		if s.Group != 0 && !s.Dead() && !slices.Contains(t.Except, pid) {
			return true
		}
	}
	return false
}

func (t Tree) descendants() iter.Seq2[int, Stat] { return DescendantsOf(cmp.Or(t.Root, os.Getpid())) }

// signal sends a signal to every process group of the tree. Each group is signalled at once, so
// that no member can start another process in between. A group belongs to one session, and all
// sessions but the root's own were created by descendants. A descendant in the root's own group is
// signalled by its PID.
func (t Tree) signal(s syscall.Signal) {
	own, err := syscall.Getpgid(t.Root)
	if err != nil {
		return // the root is gone
	}
	done := map[int]bool{}
	if t.Group > 1 {
		done[t.Group] = true
		_ = syscall.Kill(-t.Group, s) // it may have ended
	}
	for pid, p := range t.descendants() {
		switch {
		case p.Group <= 1, slices.Contains(t.Except, pid): // it is gone, or not part of the tree
		case p.Group == own:
			_ = syscall.Kill(pid, s)
		case !done[p.Group]:
			done[p.Group] = true
			_ = syscall.Kill(-p.Group, s)
		}
	}
}
