package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/interlock-go/interlock/internal/store/row"
)

// restored opens a backup in its own directory.
func restored(t *testing.T, backup string) *Engine {
	t.Helper()
	dir := t.TempDir()
	check(t, os.Rename(backup, filepath.Join(dir, fileName)))
	return opened(t, dir, Options{})
}

func TestBackupOfALiveStoreIsComplete(t *testing.T) {
	s := opened(t, empty(t), Options{})
	check(t, s.Apply(t.Context(), opening("x"), noon))
	put(t, s, reading("rows", 0), reading("sum", 0))
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	writers.Go(func() {
		for n := int64(1); ctx.Err() == nil; n++ {
			if err := s.Apply(t.Context(), row.Tx{Ops: []row.Op{reading("rows", n), reading("sum", n)}}, noon); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 5 {
		path := filepath.Join(t.TempDir(), "copy.db")
		before := count(t, s, "rows")
		check(t, s.Backup(t.Context(), path))
		copied := restored(t, path)
		rows, sum := count(t, copied, "rows"), count(t, copied, "sum")
		if rows != sum || rows < before {
			t.Errorf("the copy has %d and %d, but at least %d were written before it", rows, sum, before)
		}
		if get(t, copied, runRef).Version != 1 {
			t.Error("the run is not in the copy")
		}
		copied.mustBeSound(t)
	}
	stop()
	writers.Wait()
}

func TestBackupNeverOverwrites(t *testing.T) {
	s := opened(t, empty(t), Options{})
	path := filepath.Join(t.TempDir(), "copy.db")
	check(t, os.WriteFile(path, []byte("mine"), 0o600))
	untouched(t, path, func() {
		if err := s.Backup(t.Context(), path); !errors.Is(err, fs.ErrExist) {
			t.Errorf("backed up over a file: %v", err)
		}
	})
}

func TestFailedBackupLeavesNothing(t *testing.T) {
	s := opened(t, empty(t), Options{})
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Backup(ctx, filepath.Join(dir, "copy.db")); !errors.Is(err, context.Canceled) {
		t.Errorf("backed up after its context had ended: %v", err)
	}
	left, err := os.ReadDir(dir)
	check(t, err)
	if len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	if err := s.Backup(t.Context(), filepath.Join(dir, "none", "copy.db")); err == nil {
		t.Error("backed up into a directory that does not exist")
	}
}

// Backup while a server uses the directory, and while none does.
func TestBackupOfADirectory(t *testing.T) {
	dir := empty(t)
	s := opened(t, dir, Options{})
	put(t, s, reading("rows", 1))
	for _, state := range []string{"owned", "closed"} {
		path := filepath.Join(t.TempDir(), "copy.db")
		check(t, BackupDir(t.Context(), dir, path))
		if got := count(t, restored(t, path), "rows"); got != 1 {
			t.Errorf("%s: the copy shows %d", state, got)
		}
		check(t, s.Close())
	}
	if err := BackupDir(t.Context(), t.TempDir(), filepath.Join(t.TempDir(), "copy.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("backed up an empty directory: %v", err)
	}
}
