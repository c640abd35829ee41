package command

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/interlock-go/interlock/internal/program"
	"github.com/interlock-go/interlock/internal/run"
)

// sampleEvery is how often limits that the kernel does not enforce are checked.
const sampleEvery = 500 * time.Millisecond

// container is the control group of the command, if there is one.
type container struct{ group *program.Cgroup }

// launch starts the command, in a control group if one can be created. If the system does not let
// it enter the group, it starts without one: a failed start has run nothing.
func (k *keeper) launch(attr *syscall.ProcAttr) (pid int, err error) {
	k.group = program.NewCgroup(k.Cgroup, cgroupName(k.ID), k.Limits)
	if k.group != nil {
		k.group.Enter(attr.Sys)
		if pid, err = k.bounded(attr); err == nil {
			return pid, nil
		}
		k.group.Remove()
		k.group, attr.Sys.UseCgroupFD = nil, false
	}
	return k.bounded(attr)
}

// bounded starts the command with a limit on the processes of its user, if no control group limits
// the command. The kernel counts by user, except for root, so the limit is well above the command's
// own. It stops a fork bomb from taking over the machine before the keeper has counted its
// processes.
func (k *keeper) bounded(attr *syscall.ProcAttr) (int, error) {
	user := os.Geteuid()
	if k.User != nil {
		user = int(k.User.UID)
	}
	var before unix.Rlimit
	var now unix.Sysinfo_t
	if k.Limits.Processes == 0 || user == 0 || k.group != nil && k.group.Limited.Processes > 0 ||
		unix.Getrlimit(unix.RLIMIT_NPROC, &before) != nil || unix.Sysinfo(&now) != nil {
		return syscall.ForkExec(k.Path, k.Argv, attr)
	}
	most := min(uint64(now.Procs)+2*uint64(k.Limits.Processes), before.Max)
	// Restore the keeper's own limit at once, so that it can still start threads.
	bound := unix.Rlimit{Cur: most, Max: before.Max}
	if os.Geteuid() == 0 {
		bound.Max = most // only root can raise it again
	}
	if unix.Setrlimit(unix.RLIMIT_NPROC, &bound) == nil {
		defer unix.Setrlimit(unix.RLIMIT_NPROC, &before)
	}
	pid, err := syscall.ForkExec(k.Path, k.Argv, attr)
	if err == nil {
		_ = unix.Prlimit(pid, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: most, Max: most}, nil) // so that the command cannot raise it
	}
	return pid, err
}

func cgroupName(id run.AttemptID) string { return "job-" + hashOf(id) }

// close removes the command's control group, and records whether the kernel killed the command for
// its memory.
func (k *keeper) close(e *exit) {
	if e.Exceeded == "" && k.group.RanOutOfMemory() {
		e.Exceeded = fmt.Sprintf("used more than %s of memory (jobs.memory in the server's file)", sizeText(k.Limits.Memory))
	}
	k.group.Remove()
}

// preferForOOMKill has the kernel's OOM killer prefer the command to the controller and the
// keepers.
func preferForOOMKill(pid int) {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("500"), 0)
}

// sample checks the limits that the kernel does not enforce until the command has ended.
func (k *keeper) sample(none <-chan struct{}) {
	memory, processes := k.Limits.Memory, k.Limits.Processes
	if k.group != nil {
		if k.group.Limited.Memory > 0 {
			memory = 0
		}
		if k.group.Limited.Processes > 0 {
			processes = 0
		}
	}
	for (memory > 0 || processes > 0) && !closedWithin(none, sampleEvery) {
		if why := exceeded(memory, processes); why != "" {
			k.exceed("%s", why)
			return
		}
	}
}

// exceeded describes the limit that the descendants of this process exceed, or returns "". It stops
// counting there: a fork bomb leaves little time to count.
func exceeded(memory int64, processes int) string {
	used, count := int64(0), 0
	for pid, p := range program.Descendants() {
		// Zombies count: most processes of a fork bomb are short-lived.
		if count += max(1, p.Threads); processes > 0 && count > processes {
			return fmt.Sprintf("ran more than %d processes and threads (jobs.processes in the server's file)", processes)
		}
		if memory > 0 {
			used += privateMemory(pid)
		}
		if memory > 0 && used > memory {
			return fmt.Sprintf("used more than %s of memory (jobs.memory in the server's file)", sizeText(memory))
		}
	}
	return ""
}

// privateMemory returns how much memory a process has that it does not share with files or other
// processes.
func privateMemory(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0 // it has ended
	}
	fields := strings.Fields(string(text))
	if len(fields) < 3 {
		return 0
	}
	resident, _ := strconv.ParseInt(fields[1], 10, 64)
	shared, _ := strconv.ParseInt(fields[2], 10, 64)
	return max(0, resident-shared) * int64(os.Getpagesize())
}
