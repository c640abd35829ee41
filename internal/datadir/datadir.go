// Package datadir takes a controller's data directory for one process: its identity and its running commands are there, and
// with the embedded store all it remembers. It knows nothing of what is in it.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Dir is a directory that this process has taken.
type Dir struct {
	Path string // absolute
	lock *os.File
}

// Take creates the directory if need be. It refuses one that another process has, and one in which other users could put
// files in the place of those that it trusts: a directory that everybody may write to, that belongs to another user, or
// whose lock is a symbolic link.
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
	return &Dir{Path: full, lock: held}, nil
}

// Close gives it back.
func (d *Dir) Close() error { return d.lock.Close() }

func checkSafe(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("lock data directory %s: %w", dir, err)
	}
	if info.Mode().Perm()&0o002 != 0 {
		return fmt.Errorf("data directory %s can be written to by every user (mode %04o); run chmod o-w, or name a directory below it, which is then created for this user alone", dir, info.Mode().Perm())
	}
	if uid, other := otherOwner(info); other {
		return fmt.Errorf("data directory %s belongs to user %d, and this is user %d; run as that user, or change its owner with chown -R", dir, uid, os.Geteuid())
	}
	return nil
}

// Private takes the permissions of all other users from files and directories, as far as they exist. Symbolic links are
// left alone.
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
			return fmt.Errorf("keep %s from other users: %w", path, err)
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
			return "", fmt.Errorf("create data directory %s: there is a file where a directory should be: %w", full, err)
		}
		return "", fmt.Errorf("create data directory %s: %w", full, err)
	}
	return full, nil
}
