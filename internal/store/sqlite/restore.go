package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/interlock-go/interlock/internal/datadir"
	"github.com/interlock-go/interlock/internal/store"
)

// Check returns the damages of the database in a directory, also while a process uses it; none if
// it is intact.
func Check(ctx context.Context, dir string) (found []string, err error) {
	path, err := filepath.Abs(filepath.Join(dir, fileName))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return nil, fmt.Errorf("check data directory %s: %w", dir, err)
	}
	c, err := connect(path, "rw")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	scripts, err := migrations()
	if err != nil {
		return nil, err
	}
	if _, err := versionOf(c, len(scripts)); err != nil && !isDamage(err) {
		return nil, err
	}
	return damages(ctx, c), nil
}

// damages returns what is damaged of a database and its write-ahead log.
func damages(ctx context.Context, c *conn) (found []string) {
	if err := checkLog(c.path); err != nil {
		found = append(found, fmt.Sprintf("the write-ahead log %s-wal is missing or empty", c.path))
	} else if !replays(c.path) {
		found = append(found, fmt.Sprintf("the write-ahead log %s-wal cannot be replayed", c.path))
	}
	all, err := quickCheck(ctx, c)
	if err != nil {
		found = append(found, err.Error())
	}
	return append(found, all...)
}

// replays reports whether the write-ahead log can be replayed. It looks again, because a process that
// uses the log may begin it anew during the first look.
func replays(path string) bool {
	for range 2 {
		if checkReplay(path) == nil {
			return true
		}
	}
	return false
}

// Restore puts a backup in the place of the database in a directory, and returns under which name
// the database that was there is kept; "" if there was none. It changes nothing if the backup is
// damaged, or if a process uses the directory.
func Restore(ctx context.Context, backup, dir string, now time.Time) (kept string, err error) {
	if err := checkBackup(ctx, backup); err != nil {
		return "", fmt.Errorf("restore %s: %w", backup, err)
	}
	taken, err := datadir.Take(dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, taken.Close()) }()
	kept, err = restore(backup, filepath.Join(taken.Path, fileName), now)
	if err == nil {
		err = taken.Disown() // the backup may be of another store
	}
	if err != nil {
		return kept, fmt.Errorf("restore %s to %s: %w", backup, dir, err)
	}
	return kept, nil
}

// checkBackup reads a whole backup, and does not change it.
func checkBackup(ctx context.Context, backup string) error {
	full, err := filepath.Abs(backup)
	if err == nil {
		_, err = os.Stat(full)
	}
	if err != nil {
		return err
	}
	if size(full+"-wal") > 0 {
		return fmt.Errorf("it has a write-ahead log beside it, so it is no backup but a copy of a store in use; make one with interlock backup --data %s", filepath.Dir(backup))
	}
	c, err := connect(full, "ro&immutable=1")
	if err != nil {
		return err
	}
	err = checkIntact(ctx, c)
	if isDamage(err) {
		err = fmt.Errorf("it is damaged, or no backup: %w", store.FaultOf(err).Err)
	}
	return errors.Join(err, c.close())
}

func checkIntact(ctx context.Context, c *conn) error {
	scripts, err := migrations()
	if err != nil {
		return err
	}
	version, err := versionOf(c, len(scripts))
	if err != nil {
		return err
	}
	if version == 0 {
		return errors.New("it is empty")
	}
	found, err := quickCheck(ctx, c)
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("it is damaged: %s", found[0])
	}
	return err
}

func restore(backup, path string, now time.Time) (kept string, err error) {
	fresh := path + ".restored"
	if err := copyPrivate(backup, fresh); err != nil {
		return "", errors.Join(err, removeAll(fresh))
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := errors.Join(removeAll(path+"-wal", path+"-shm"), unmarkOpen(path)); err != nil {
			return "", err
		}
		return "", errors.Join(os.Rename(fresh, path), datadir.Sync(filepath.Dir(path)))
	}
	kept = fmt.Sprintf("%s.replaced-%s", path, now.UTC().Format("20060102T150405Z"))
	return kept, replace(path, fresh, kept)
}

func copyPrivate(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it is only read
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}
