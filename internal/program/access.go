//go:build unix

package program

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Check returns an error if this process cannot run programs as the policy's user, or if that user
// is not isolated from it: root, the controller's own user, or a user that can read a path with
// secrets. A directory includes everything below it. A missing path is not checked.
func (p Policy) Check(secret ...string) error {
	u := p.User
	if u == nil {
		return nil
	}
	switch {
	case u.UID == 0:
		return errors.New("jobs.user: root can read everything; use an unprivileged user")
	case int(u.UID) == os.Geteuid():
		return fmt.Errorf("jobs.user: %s is the user that runs the controller; use another user", u.Name)
	}
	if err := maySwitch(); err != nil {
		return fmt.Errorf("jobs.user: commands cannot be run as %s: %w", u.Name, err)
	}
	for _, path := range secret {
		open, err := u.reads(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("jobs.user: check whether %s can read %s: %w", u.Name, path, err)
		}
		if open != "" {
			return fmt.Errorf("jobs.user: %s can read %s, which contains secrets of the controller; remove that permission, usually with chmod go-rwx", u.Name, open)
		}
	}
	return nil
}

// reads returns the first path at or below path that the user can read; "" if there is none. It
// checks owner, groups and mode, but not access control lists.
func (u *User) reads(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", err
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if may, err := u.may(dir, mayEnter); err != nil || !may {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	found := ""
	err = filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		want := mayRead
		if entry.IsDir() {
			want = mayEnter
		}
		may, err := u.may(at, want)
		switch {
		case err != nil:
			return err
		case !entry.IsDir() && may:
			found = at
			return fs.SkipAll
		case entry.IsDir() && !may:
			return fs.SkipDir
		}
		return nil
	})
	return found, err
}

// The permission bits of a mode.
const (
	mayRead  uint32 = 0o4
	mayEnter uint32 = 0o1
)

// may reports whether the user has that permission on a file. The owner always has, because the
// owner can change the mode.
func (u *User) may(path string, right uint32) (bool, error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return true, nil // unknown, so not shown to be closed
	}
	mode := uint32(info.Mode().Perm())
	switch {
	case owner.Uid == u.UID:
		return true, nil
	case owner.Gid == u.GID || slices.Contains(u.Groups, owner.Gid):
		return mode>>3&right != 0, nil
	default:
		return mode&right != 0, nil
	}
}

// credential returns the credential for a process of the user; nil for the own user.
func (u *User) credential() *syscall.Credential {
	if u == nil {
		return nil
	}
	return &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.Groups}
}
