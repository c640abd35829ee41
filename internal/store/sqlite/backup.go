package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/interlock-go/interlock/internal/datadir"
)

// Backup writes a consistent copy of the store to path while the store stays in use. The copy is a
// complete database: to use it, put it into an empty data directory as interlock.db. Backup fails
// if path exists. The copy gets its name last, so a file with that name is complete.
func (e *Engine) Backup(ctx context.Context, path string) error {
	if err := e.isOpen(); err != nil {
		return err
	}
	return copyFile(ctx, e.conn.path, path)
}

// BackupDir is Backup for a data directory that this process has not opened; another process may
// have.
func BackupDir(ctx context.Context, dir, path string) error {
	from, err := filepath.Abs(filepath.Join(dir, fileName))
	if err != nil {
		return fmt.Errorf("back up %s: %w", dir, err)
	}
	if _, err := os.Stat(from); err != nil {
		return fmt.Errorf("back up data directory %s: %w", dir, err)
	}
	return copyFile(ctx, from, path)
}

// Size returns the size in bytes of the store in a data directory; 0 if unknown.
func Size(dir string) int64 {
	info, err := os.Stat(filepath.Join(dir, fileName))
	if err != nil {
		return 0
	}
	return info.Size()
}

func copyFile(ctx context.Context, from, path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fmt.Errorf("%w; choose another name, or delete it first", fs.ErrExist)
		}
		return fmt.Errorf("back up to %s: %w", path, err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.partial") // private
	if err != nil {
		return fmt.Errorf("back up to %s: %w", path, err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // by then a second name of the copy, or an incomplete copy
	if err = f.Close(); err == nil {
		err = copyTo(ctx, from, f.Name())
	}
	if err == nil {
		err = finishCopy(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("back up to %s: %w", path, err)
	}
	return nil
}

func copyTo(ctx context.Context, from, to string) (err error) {
	c, err := connect(from, "rw")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	scripts, err := migrations()
	if err != nil {
		return err
	}
	if _, err := versionOf(c, len(scripts)); err != nil {
		return err
	}
	return c.run(ctx, "PRAGMA busy_timeout = 5000; VACUUM INTO ?", to)
}

// finishCopy flushes the copy to disk before it gets its name.
func finishCopy(partial, path string) error {
	f, err := os.OpenFile(partial, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(partial, path); err != nil { // unlike a rename, it never replaces a file
		return err
	}
	return datadir.Sync(filepath.Dir(path))
}
