//go:build unix

package program

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Check returns an error if this process cannot run programs as the policy's user, or if that user
// is not isolated from it: root, the controller's own user, or a user that can read or change a path
// with secrets. A directory includes everything below it. A missing path is not checked.
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
		open, right, err := u.reaches(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("jobs.user: check whether %s can read or change %s: %w", u.Name, path, err)
		}
		switch right {
		case mayRead:
			return fmt.Errorf("jobs.user: %s can read %s, which contains secrets of the controller; remove that permission, usually with chmod go-rwx", u.Name, open)
		case mayWrite:
			return fmt.Errorf("jobs.user: %s can change %s, which the controller trusts; remove that permission, usually with chmod go-w", u.Name, open)
		}
	}
	return nil
}

// reaches returns the first path at or below path that the user can read or write, and which of the
// two; 0 if there is none. It also returns a directory above path if the user can replace what is in
// it. It checks owner, groups and mode, but not access control lists.
func (u *User) reaches(path string) (found string, right uint32, err error) {
	path, err = filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", 0, err
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		may, err := u.may(dir, mayEnter)
		if err != nil || !may {
			return "", 0, err
		}
		if replaces, err := u.replaces(dir); err != nil {
			return "", 0, err
		} else if replaces {
			found, right = dir, mayWrite
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if right != 0 {
		return found, right, nil
	}
	err = filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rights := []uint32{mayRead, mayWrite}
		if entry.IsDir() {
			if may, err := u.may(at, mayEnter); err != nil || !may {
				return cmp.Or(err, fs.SkipDir)
			}
			rights = []uint32{mayWrite}
		}
		for _, want := range rights {
			may, err := u.may(at, want)
			if err != nil {
				return err
			}
			if may {
				found, right = at, want
				return fs.SkipAll
			}
		}
		return nil
	})
	return found, right, err
}

// replaces reports whether the user can replace the files of others in a directory that it may enter.
func (u *User) replaces(dir string) (bool, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return false, err
	}
	may, err := u.may(dir, mayWrite)
	owner, ok := info.Sys().(*syscall.Stat_t)
	return may && (info.Mode()&fs.ModeSticky == 0 || ok && owner.Uid == u.UID), err
}

// The permission bits of a mode.
const (
	mayRead  uint32 = 0o4
	mayWrite uint32 = 0o2
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
