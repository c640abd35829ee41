package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/interlock-go/interlock/internal/store"
)

const damageRemedy = "the database is damaged or no database at all, and was left as it is; " +
	"stop the controller and put a backup in its place, or run interlock repair, which saves what can still be read"

func cannotOpen(path string, err error) error {
	return fmt.Errorf("database %s: it cannot be opened or created; check the directory and its permissions: %w",
		path, err)
}

// fault adds the file's path to an SQLite error. An error that a person can fix becomes a
// store.Fault.
func fault(path string, err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return fmt.Errorf("database %s: %w", path, err)
	}
	kind, remedy := store.FaultKind(""), ""
	code := e.Code() & 0xff
	if e.Code() == lib.SQLITE_IOERR_SHMSIZE {
		code = lib.SQLITE_FULL // the index of the write-ahead log could not grow
	}
	switch code {
	case lib.SQLITE_FULL:
		kind = store.Full
		remedy = "there is no space left on the disk of the data directory; " +
			"what was acknowledged is safe; free some space"
	case lib.SQLITE_READONLY:
		kind = store.ReadOnly
		remedy = "the database cannot be written to; give this user write permission on the file and its directory"
	case lib.SQLITE_IOERR:
		kind = store.Failing
		remedy = "the disk of the data directory returns errors; check the disk and its file system"
	case lib.SQLITE_NOTADB, lib.SQLITE_CORRUPT:
		kind, remedy = store.Damaged, damageRemedy
	case lib.SQLITE_CANTOPEN:
		return cannotOpen(path, err)
	default:
		return fmt.Errorf("database %s: %w", path, err)
	}
	return fmt.Errorf("database %s: %w", path, &store.Fault{Kind: kind, Remedy: remedy, Err: err})
}

// isFull reports whether err says that the disk is full.
func isFull(err error) bool {
	f := store.FaultOf(err)
	return f != nil && f.Kind == store.Full
}
