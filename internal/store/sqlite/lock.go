package sqlite

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// lockName is the file in the data directory whose lock says that a process owns the directory. It holds that process's id
// and stays when the process is gone; only the lock counts.
const lockName = "lock"

// lockDir takes the data directory for this process. The lock ends with the file's Close, or with the process.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
	}
	if err := tryLock(f); err != nil {
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

func writePid(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func holder(f *os.File) string {
	text, err := io.ReadAll(io.LimitReader(f, 32))
	if pid := strings.TrimSpace(string(text)); err == nil && pid != "" {
		return "process " + pid
	}
	return "another process"
}
