package datadir

import (
	"errors"
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

// lock locks a directory for this process, until the files are closed or the process ends. Both its
// lock file and the directory itself are locked: the file says who holds it, and can be deleted; the
// directory cannot, but some file systems do not lock directories.
func lock(dir string) (_ []*os.File, err error) {
	name := filepath.Join(dir, lockName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if isLink(err) {
		return nil, fmt.Errorf("lock data directory %s: %s is a symbolic link, which may point to another program's file; remove it", dir, name)
	}
	if err != nil {
		return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
	}
	held := []*os.File{f}
	defer func() {
		if err != nil {
			_ = closeAll(held) // the first error says more
		}
	}()
	if err := Private(name); err != nil {
		return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
	}
	self, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
	}
	held = append(held, self)
	err = takeLock(f, f, pause)
	if err == nil {
		if err = takeLock(self, f, pause); !isHeld(err) {
			err = nil // locked, or on a file system that locks no directories
		}
	}
	if isHeld(err) {
		return nil, fmt.Errorf("data directory %s is in use by %s; stop it first, or choose another directory", dir, holder(f))
	}
	if err != nil {
		return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
	}
	if err := writePid(f); err != nil {
		return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
	}
	return held, nil
}

func closeAll(files []*os.File) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

const (
	lockPause = 10 * time.Millisecond
	lockTries = 500
)

func pause() { time.Sleep(lockPause) }

// takeLock locks a file. If the holder, whose id is in pid, is dead, it waits for a moment: a child
// that the holder was just starting when it was killed holds the lock, too, until it has called exec.
func takeLock(f, pid *os.File, wait func()) error {
	err := tryLock(f)
	for n := 0; err != nil && isHeld(err) && n < lockTries && !alive(holderPid(pid)); n++ {
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
