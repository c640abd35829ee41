package datadir

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// lockName is the file in the data directory whose lock means that a process owns the directory. It
// contains the process's id and stays when the process is gone; only the lock counts.
const lockName = "lock"

// lock locks a directory for this process, until the file is closed or the process ends.
func lock(dir string) (*os.File, error) {
	name := filepath.Join(dir, lockName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if isLink(err) {
		return nil, fmt.Errorf("lock data directory %s: %s is a symbolic link, which may point to another program's file; remove it", dir, name)
	}
	if err == nil {
		err = Private(name)
	}
	if err != nil {
		return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
	}
	if err := takeLock(f, pause); err != nil {
		defer func() { _ = f.Close() }() // it was only read
		if !isHeld(err) {
			return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
		}
		return nil, fmt.Errorf("data directory %s is in use by %s; stop it first, or choose another directory", dir, holder(f))
	}
	if err := writePid(f); err != nil {
		_ = f.Close() // the first error says more
		return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
	}
	return f, nil
}

const (
	lockPause = 10 * time.Millisecond
	lockTries = 500
)

func pause() { time.Sleep(lockPause) }

// takeLock takes the lock. If the holder is dead, it waits for a moment: a child that the holder
// was just starting when it was killed holds the lock, too, until it has called exec.
func takeLock(f *os.File, wait func()) error {
	err := tryLock(f)
	for n := 0; err != nil && isHeld(err) && n < lockTries && !alive(holderPid(f)); n++ {
		wait()
		err = tryLock(f)
	}
	return err
}

func writePid(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func holder(f *os.File) string {
	if pid := holderPid(f); pid > 0 {
		return fmt.Sprintf("process %d", pid)
	}
	return "another process"
}

// holderPid returns the process id in the lock file; 0 if there is none.
func holderPid(f *os.File) int {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}
