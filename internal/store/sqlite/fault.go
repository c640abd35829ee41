package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// fault names the file that an error of SQLite is about and, for what a person can mend, says how.
func fault(path string, err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("database %s: %w", path, err)
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_FULL:
		return fmt.Errorf("database %s: there is no space left; what was acknowledged is safe, free some space and try again: %w", path, err)
	case lib.SQLITE_READONLY:
		return fmt.Errorf("database %s: it cannot be written to; give this user write permission on the file and its directory: %w", path, err)
	case lib.SQLITE_CANTOPEN:
		return fmt.Errorf("database %s: it cannot be opened or created; check the directory and its permissions: %w", path, err)
	case lib.SQLITE_NOTADB, lib.SQLITE_CORRUPT:
		return fmt.Errorf("database %s: it is damaged or no database at all, and was left as it is; put a backup in its place: %w", path, err)
	}
	return fmt.Errorf("database %s: %w", path, err)
}
