//go:build unix

package datadir

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func refused(t *testing.T, dir, why string) {
	t.Helper()
	d, err := Take(dir)
	if err == nil {
		_ = d.Close() // the test has failed
	}
	if err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v, want that %s", err, why)
	}
}

func TestDirectoryThatOthersCanChangeIsRefused(t *testing.T) {
	dir := t.TempDir()
	for _, mode := range []os.FileMode{0o777, 0o777 | os.ModeSticky, 0o702} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		refused(t, dir, "is writable by every user")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("a refusal has left %v, %v", entries, err)
	}
	if err := os.Chmod(dir, 0o775); err != nil {
		t.Fatal(err)
	}
	d, err := Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestLockThatIsALinkIsRefused(t *testing.T) {
	dir, precious := t.TempDir(), filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(precious, []byte("of another program"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(precious, filepath.Join(dir, lockName)); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, "is a symbolic link")
	if text, err := os.ReadFile(precious); err != nil || string(text) != "of another program" {
		t.Errorf("the file behind the link is %q, %v", text, err)
	}
}

// owned is a file of that user.
type owned struct {
	os.FileInfo
	sys any
}

func (o owned) Sys() any { return o.sys }

func statOf(info os.FileInfo, uid int) *syscall.Stat_t {
	s := *info.Sys().(*syscall.Stat_t)
	s.Uid = uint32(uid)
	return &s
}

func TestDirectoryOfAnotherUserIsRefused(t *testing.T) {
	info, err := os.Stat(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[int]bool{0: false, os.Geteuid(): false, os.Geteuid() + 1: true} {
		if _, got := otherOwner(owned{info, statOf(info, uid)}); got != want {
			t.Errorf("user %d: %t, want %t", uid, got, want)
		}
	}
	if os.Geteuid() != 0 {
		return // only root may change an owner
	}
	dir := t.TempDir()
	if err := os.Chown(dir, 4711, -1); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, "belongs to user 4711")
}
