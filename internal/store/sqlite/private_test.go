//go:build unix

package sqlite

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Only the controller's user may read its files, whatever the umask and the previous permissions.
func TestFilesAreReadableByOneUserOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	before := syscall.Umask(0)
	s, err := OpenEngine(t.Context(), dir, Options{Reserve: 4096})
	syscall.Umask(before)
	check(t, err)
	private := func() {
		t.Helper()
		entries, err := os.ReadDir(dir)
		check(t, err)
		if len(entries) < 4 {
			t.Errorf("there are only %v", entries)
		}
		for _, e := range entries {
			info, err := e.Info()
			check(t, err)
			if info.Mode().Perm() != 0o600 {
				t.Errorf("%s has permissions %04o", e.Name(), info.Mode().Perm())
			}
		}
	}
	put(t, s, reading("rows", 1))
	private()
	image := filepath.Join(t.TempDir(), "image")
	check(t, os.CopyFS(image, os.DirFS(dir)))
	check(t, s.Close())
	dir = image
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	check(t, err)
	for _, name := range names {
		check(t, os.Chmod(name, 0o666))
	}
	s = opened(t, dir, Options{Reserve: 4096})
	put(t, s, reading("rows", 2))
	private()
}
