package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/interlock-go/interlock/internal/datadir"
	"github.com/interlock-go/interlock/internal/store"
)

// checkThere returns an error if the directory has no database but belonged to one: what has
// started, and what was acknowledged, would be forgotten in silence.
func (o Options) checkThere(dir *datadir.Dir, path string) error {
	if size(path) > 0 || size(path+"-wal") > 0 {
		return nil
	}
	owner, err := dir.Store()
	switch {
	case err != nil || o.New:
		return err
	case owner != "":
		return fmt.Errorf("its database %s is missing or empty, and with it all that was acknowledged and started; "+
			"put it back, restore a backup with interlock restore, or begin anew with interlock serve --new", fileName)
	case o.MustExist:
		return fmt.Errorf("there is no database %s, and it must exist: is the right volume mounted? "+
			"For the very first start, use interlock serve --new", fileName)
	}
	return nil
}

// size returns the size of a file; 0 if there is none.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// openFiles are the open files of the database, to notice when they are deleted or replaced.
type openFiles map[string]fs.FileInfo

func statFiles(path string) (openFiles, error) {
	all := openFiles{}
	for _, name := range []string{path, path + "-wal"} {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		all[name] = info
	}
	return all, nil
}

// lost returns a fault if a file was deleted or replaced: what is written to it is gone when the
// process ends.
func (o openFiles) lost() error {
	for path, info := range o {
		now, err := os.Stat(path)
		if err == nil && os.SameFile(now, info) {
			continue
		}
		f := &store.Fault{Kind: store.Failing, Err: err, Remedy: "a file of the database was deleted or replaced while the controller used it, " +
			"so nothing is acknowledged any more; put the file back, or stop the controller and restore a backup"}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			f.Remedy = "the files of the database cannot be seen any more; check the permissions of the data directory, and its disk"
		}
		return fmt.Errorf("database %s: %w", path, f)
	}
	return nil
}
