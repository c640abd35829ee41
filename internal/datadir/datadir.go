// Package datadir locks a controller's data directory for one process: it holds its identity, its
// running commands and, with the embedded store, all of its data. The package knows nothing about
// the contents.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Dir is a directory that this process has locked.
type Dir struct {
	Path string     // absolute
	held []*os.File // with locks
}

// Take locks the directory, and creates it if necessary. It refuses a directory that another
// process has locked, and one in which other users could replace trusted files: it is writable by
// everybody, belongs to another user, or its lock is a symbolic link.
func Take(dir string) (*Dir, error) {
	full, err := create(dir)
	if err != nil {
		return nil, err
	}
	if err := checkSafe(full); err != nil {
		return nil, err
	}
	held, err := lock(full)
	if err != nil {
		return nil, err
	}
	return &Dir{Path: full, held: held}, nil
}

// Close releases the lock.
func (d *Dir) Close() error { return closeAll(d.held) }

func checkSafe(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("lock data directory %s: %w", dir, err)
	}
	if info.Mode().Perm()&0o002 != 0 {
		return fmt.Errorf("data directory %s is writable by every user (mode %04o); run chmod o-w, or use a directory below it, which is created for this user only", dir, info.Mode().Perm())
	}
	if uid, other := otherOwner(info); other {
		return fmt.Errorf("data directory %s belongs to user %d, but this process runs as user %d; run as that user, or change its owner with chown -R", dir, uid, os.Geteuid())
	}
	return nil
}

// Private removes the permissions of all other users from those files and directories that exist.
// It ignores symbolic links.
func Private(paths ...string) error {
	for _, path := range paths {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && info.Mode().Type()&fs.ModeSymlink == 0 && info.Mode().Perm()&0o077 != 0 {
			err = os.Chmod(path, info.Mode().Perm()&0o700)
		}
		if err != nil {
			return fmt.Errorf("restrict %s to this user: %w", path, err)
		}
	}
	return nil
}

func create(dir string) (string, error) {
	full, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find data directory %s: %w", dir, err)
	}
	if err := os.MkdirAll(full, 0o700); err != nil {
		if errors.Is(err, syscall.ENOTDIR) {
			return "", fmt.Errorf("create data directory %s: a file is in the way: %w", full, err)
		}
		return "", fmt.Errorf("create data directory %s: %w", full, err)
	}
	return full, nil
}
