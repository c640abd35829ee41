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

// identify returns the identity of the process with that PID, without a start time if there is
// none.
func identify(pid int) process {
	s, ok := program.StatOf(pid)
	if !ok || s.Dead() {
		return process{PID: pid}
	}
	return process{PID: pid, Start: s.Start, Boot: bootID()}
}

// bootID changes with each boot of the machine; "" if it is unknown.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// killDescendants kills the command and its descendants if its keeper cannot: because it was killed
// (keeper is 0), or suspended. They are the descendants of the keeper, the processes in the
// command's control group, and those with the attempt's id in their environment. If the keeper was
// killed and there is no control group, a process that has cleared its environment is not found.
func (t *Type) killDescendants(id run.AttemptID, keeper int) {
	program.EndCgroup(t.programs.Cgroup, cgroupName(id))
	// A process that is started during the search is found in the next round.
	for end := time.Now().Add(killTime); time.Now().Before(end); {
		found := keeper != 0 && program.Tree{Root: keeper}.Destroy()
		if found = killBearers(id) || found; !found {
			return
		}
	}
}

// suspended reports whether that very process is suspended, and stays so for a moment: a debugger
// that looks at a process suspends it briefly.
func (p process) suspended() bool {
	for end := time.Now().Add(suspendedFor); ; time.Sleep(suspendedFor / 20) {
		s, ok := program.StatOf(p.PID)
		switch {
		case !ok || !s.Suspended() || s.Start != p.Start || p.Boot != bootID():
			return false
		case time.Now().After(end):
			return true
		}
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
		if s, ok := program.StatOf(pid); ok && !s.Dead() {
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
