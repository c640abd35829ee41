//go:build unix

package datadir

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// locked returns a lock file that names pid, and is held until it is closed.
func locked(t *testing.T, pid int) (name string, held *os.File) {
	t.Helper()
	name = filepath.Join(t.TempDir(), lockName)
	if err := os.WriteFile(name, []byte(strconv.Itoa(pid)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	held = lockFile(t, name)
	if err := tryLock(held); err != nil {
		t.Fatal(err)
	}
	return name, held
}

func lockFile(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // some are closed already
	return f
}

// deadPid returns the id of a process that has ended.
func deadPid(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

// A process that is killed while it starts a child leaves its lock to the child for a moment.
func TestLockThatOutlivesItsProcessIsWaitedFor(t *testing.T) {
	name, held := locked(t, deadPid(t))
	waits := 0
	file := lockFile(t, name)
	err := takeLock(file, file, func() {
		if waits++; waits == 3 {
			if err := held.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
	if err != nil || waits != 3 {
		t.Errorf("after %d waits: %v", waits, err)
	}
}

func TestLockThatNobodyLetsGoIsNotWaitedForForEver(t *testing.T) {
	name, _ := locked(t, deadPid(t))
	waits := 0
	file := lockFile(t, name)
	if err := takeLock(file, file, func() { waits++ }); !isHeld(err) || waits != lockTries {
		t.Errorf("after %d waits: %v", waits, err)
	}
}

func TestLockOfALivingProcessIsNotWaitedFor(t *testing.T) {
	for _, pid := range []int{os.Getpid(), 1, 0} {
		name, _ := locked(t, pid)
		file := lockFile(t, name)
		err := takeLock(file, file, func() { t.Errorf("waits for process %d", pid) })
		if !isHeld(err) {
			t.Errorf("process %d: %v", pid, err)
		}
	}
}

func TestDirectoryStaysLockedWhenItsLockFileIsDeleted(t *testing.T) {
	dir := t.TempDir()
	held, err := Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, lockName)); err != nil {
		t.Fatal(err)
	}
	if again, err := Take(dir); err == nil || !strings.Contains(err.Error(), "is in use") {
		t.Errorf("taken twice: %v, %v", again, err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}
