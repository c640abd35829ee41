package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/interlock-go/interlock/internal/program"
	"github.com/interlock-go/interlock/internal/run"
)

// executable returns the path of this very program, even if its file has been replaced by a newer
// one.
func executable() (string, error) { return "/proc/self/exe", nil }

// stat is the part of /proc/PID/stat that is used.
type stat struct {
	state   string
	group   int
	threads int
	start   string // in ticks since the machine started
}

func statOf(pid int) (stat, bool) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return stat{}, false
	}
	// The second field is the program's name in brackets, and may contain anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const state, group, threads, start = 0, 2, 17, 19 // counted from the third
	if len(fields) <= start {
		return stat{}, false
	}
	number, badGroup := strconv.Atoi(fields[group])
	count, badCount := strconv.Atoi(fields[threads])
	return stat{fields[state], number, count, fields[start]}, badGroup == nil && badCount == nil
}

// dead reports whether a process is a zombie.
func (s stat) dead() bool { return s.state == "Z" || s.state == "X" }

// identify returns the identity of the process with that PID, without a start time if there is
// none.
func identify(pid int) process {
	s, ok := statOf(pid)
	if !ok || s.dead() {
		return process{PID: pid}
	}
	return process{PID: pid, Start: s.start, Boot: bootID()}
}

// bootID changes with each boot of the machine; "" if it is unknown.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// killDescendants kills the descendants of a command whose keeper was killed. The command itself
// died with the keeper; its descendants are the processes in its control group, and those with the
// attempt's id in their environment. Without a control group, a process that has cleared its
// environment is not found.
func (t *Type) killDescendants(id run.AttemptID) {
	program.EndCgroup(t.programs.Cgroup, cgroupName(id))
	// A process that is started during the search is found in the next round.
	for end := time.Now().Add(killTime); killBearers(id) && time.Now().Before(end); {
	}
}

// killBearers kills the processes with the attempt's id in their environment, and reports whether
// there were any.
func killBearers(id run.AttemptID) (found bool) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || !bears(pid, id) {
			continue
		}
		if s, ok := statOf(pid); ok && !s.dead() {
			found = syscall.Kill(pid, syscall.SIGKILL) == nil || found
		}
	}
	return found
}

// bears reports whether a process was started with the attempt's id.
func bears(pid int, id run.AttemptID) bool {
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	return err == nil && bytes.Contains(append([]byte{0}, env...), []byte("\x00INTERLOCK_RUN_ID="+string(id)+"\x00"))
}
