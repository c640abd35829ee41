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

// executable is this very program, even if its file was replaced by a newer one meanwhile.
func executable() (string, error) { return "/proc/self/exe", nil }

// stat is what /proc tells of a process.
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
	// The second field is the program's name in brackets, and may hold anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const state, group, threads, start = 0, 2, 17, 19 // counted from the third
	if len(fields) <= start {
		return stat{}, false
	}
	number, badGroup := strconv.Atoi(fields[group])
	count, badCount := strconv.Atoi(fields[threads])
	return stat{fields[state], number, count, fields[start]}, badGroup == nil && badCount == nil
}

// dead says that a process only waits for its parent to take note.
func (s stat) dead() bool { return s.state == "Z" || s.state == "X" }

// identify is who the process of that number is; without a start if there is none.
func identify(pid int) process {
	s, ok := statOf(pid)
	if !ok || s.dead() {
		return process{PID: pid}
	}
	return process{PID: pid, Start: s.start, Boot: bootID()}
}

// bootID is another one after each start of the machine; "" if it does not tell.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// endRemains kills what is left of a command whose keeper was killed. The command itself died with the keeper; its
// descendants are those in its control group, and those that bear the attempt's id in their environment. Without a control
// group, one that has cleared its environment is not found.
func (t *Type) endRemains(id run.AttemptID) {
	program.EndCgroup(t.programs.Cgroup, cgroupName(id))
	// One that starts another while they are looked for is found the next time.
	for end := time.Now().Add(killTime); killBearers(id) && time.Now().Before(end); {
	}
}

// killBearers kills the processes that bear the attempt's id, and reports whether there were any.
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

// bears says whether a process was started with the attempt's id.
func bears(pid int, id run.AttemptID) bool {
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	return err == nil && bytes.Contains(append([]byte{0}, env...), []byte("\x00INTERLOCK_RUN_ID="+string(id)+"\x00"))
}
