package archive

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations returns the scripts in the order of their names: the nth leads from version n-1 to n.
// A released script is never changed; changes go into the next one.
func migrations() ([]string, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var scripts []string
	for _, name := range names {
		text, err := fs.ReadFile(migrationFiles, name)
		if err != nil {
			return nil, err
		}
		scripts = append(scripts, string(text))
	}
	return scripts, nil
}

// versionError means that a newer version of Interlock has migrated the archive.
type versionError struct {
	found int64
	known int
}

func (e *versionError) Error() string {
	return fmt.Sprintf("the archive has schema version %d, but this program supports versions up to %d; use the newer Interlock that wrote it", e.found, e.known)
}

// migrate brings the archive's schema to the newest version, all steps or none. The caller holds
// the lock.
func (s *session) migrate(ctx context.Context, scripts []string) error {
	return s.within(ctx, "bring the tables up to date", func(ctx context.Context) error {
		if err := s.do(ctx, "CREATE TABLE IF NOT EXISTS archive_version (version integer NOT NULL)"); err != nil {
			return err
		}
		version, err := s.count(ctx, "SELECT coalesce(max(version), 0) FROM archive_version")
		if err != nil {
			return err
		}
		if version > int64(len(scripts)) {
			return &versionError{version, len(scripts)}
		}
		for ; version < int64(len(scripts)); version++ {
			if err := s.do(ctx, scripts[version]); err != nil {
				return err
			}
			if err := s.do(ctx, fmt.Sprintf("INSERT INTO archive_version (version) VALUES (%d)", version+1)); err != nil {
				return err
			}
		}
		return nil
	})
}
