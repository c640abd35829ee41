// Package datadir takes a controller's data directory for one process: its identity and its running commands are there, and
// with the embedded store all it remembers. It knows nothing of what is in it.
package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Dir is a directory that this process has taken.
type Dir struct {
	Path string // absolute
	lock *os.File
}

// Take creates the directory if need be, and refuses one that another process has.
func Take(dir string) (*Dir, error) {
	full, err := create(dir)
	if err != nil {
		return nil, err
	}
	held, err := lock(full)
	if err != nil {
		return nil, err
	}
	return &Dir{Path: full, lock: held}, nil
}

// Close gives it back.
func (d *Dir) Close() error { return d.lock.Close() }

func create(dir string) (string, error) {
	full, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find data directory %s: %w", dir, err)
	}
	if err := os.MkdirAll(full, 0o700); err != nil {
		if errors.Is(err, syscall.ENOTDIR) {
			return "", fmt.Errorf("create data directory %s: there is a file where a directory should be: %w", full, err)
		}
		return "", fmt.Errorf("create data directory %s: %w", full, err)
	}
	return full, nil
}
