package program

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// DelegatedCgroup returns the directory of the control group (version 2) that systemd has delegated
// to this process; "" if there is none. With DelegateSubgroup= it is the parent of the process's
// own group, where limits can be set; with only Delegate= it is that group.
func DelegatedCgroup() string {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	own := ownCgroup(string(mounts), string(groups))
	if own == "" {
		return ""
	}
	for _, dir := range []string{filepath.Dir(own), own} {
		if isDelegated(dir) && CheckCgroup(dir) == nil {
			return dir
		}
	}
	return ""
}

// ownCgroup returns the directory of the process's version 2 group, from its mountinfo and cgroup
// files.
func ownCgroup(mounts, groups string) string {
	path, found := "", false
	for line := range strings.Lines(groups) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			path, found = rest, true
		}
	}
	for line := range strings.Lines(mounts) {
		before, after, ok := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if found && ok && strings.HasPrefix(after, "cgroup2 ") && len(fields) > 4 {
			return filepath.Join(fields[4], path)
		}
	}
	return ""
}

// isDelegated reports whether systemd has marked a group as delegated.
func isDelegated(dir string) bool {
	mark := make([]byte, 8)
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		if n, err := unix.Getxattr(dir, name, mark); err == nil && string(mark[:n]) == "1" {
			return true
		}
	}
	return false
}

// CheckCgroup returns an error if groups for programs cannot be created in dir.
func CheckCgroup(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err != nil {
		return fmt.Errorf("%s is not a control group of version 2: %w", dir, err)
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("%s is not delegated to this user: %w", dir, err)
	}
	return nil
}

// Cgroup is the control group of one program. The nil Cgroup has no effect.
type Cgroup struct {
	dir     string
	opened  *os.File
	Limited Limits // the limits that the kernel enforces; the others are zero
}

// NewCgroup creates a group in base with as many of the limits as base allows. It returns nil if
// that fails.
func NewCgroup(base, name string, l Limits) *Cgroup {
	if base == "" {
		return nil
	}
	for _, controller := range []string{"+memory", "+pids"} {
		_ = writeControl(base, "cgroup.subtree_control", controller) // if this fails, the limit below is not set
	}
	c := &Cgroup{dir: filepath.Join(base, name)}
	if err := os.Mkdir(c.dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil
	}
	var err error
	if c.opened, err = os.Open(c.dir); err != nil {
		return nil
	}
	if l.Memory > 0 && writeControl(c.dir, "memory.max", strconv.FormatInt(l.Memory, 10)) == nil {
		_ = writeControl(c.dir, "memory.oom.group", "1") // kills the whole group instead of a single process
		c.Limited.Memory = l.Memory
	}
	if l.Processes > 0 && writeControl(c.dir, "pids.max", strconv.Itoa(l.Processes)) == nil {
		c.Limited.Processes = l.Processes
	}
	return c
}

func writeControl(dir, name, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// Enter makes a program start in the group.
func (c *Cgroup) Enter(a *syscall.SysProcAttr) {
	if c != nil {
		a.UseCgroupFD, a.CgroupFD = true, int(c.opened.Fd())
	}
}

// Kill kills every process in the group. It needs Linux 5.14.
func (c *Cgroup) Kill() {
	if c != nil {
		_ = writeControl(c.dir, "cgroup.kill", "1")
	}
}

// RanOutOfMemory reports whether the kernel has killed the group for its memory limit.
func (c *Cgroup) RanOutOfMemory() bool {
	if c == nil {
		return false
	}
	text, err := os.ReadFile(filepath.Join(c.dir, "memory.events"))
	if err != nil {
		return false
	}
	for line := range bytes.Lines(text) {
		if fields := strings.Fields(string(line)); len(fields) == 2 && fields[0] == "oom_kill" && fields[1] != "0" {
			return true
		}
	}
	return false
}

// Remove removes the group once its processes have ended, which may take a moment.
func (c *Cgroup) Remove() {
	if c == nil {
		return
	}
	c.opened.Close()
	removeCgroup(c.dir)
}

func removeCgroup(dir string) {
	for wait := time.Millisecond; wait < time.Second; wait *= 2 {
		if err := os.Remove(dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
		time.Sleep(wait)
	}
}

// EndCgroup kills the processes that are left in the group of that name, and removes it.
func EndCgroup(base, name string) {
	dir := filepath.Join(base, name)
	if _, err := os.Stat(dir); base == "" || err != nil {
		return
	}
	_ = writeControl(dir, "cgroup.kill", "1")
	removeCgroup(dir)
}
