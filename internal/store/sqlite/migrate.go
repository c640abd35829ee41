package sqlite

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
)

// applicationID marks a file as Interlock's ("ILCK"), so that another program's database is not
// mistaken for an old one of Interlock.
const applicationID = 0x494c434b

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations returns the scripts in the order of their names: the nth leads from version n-1 to n.
// A released script is never changed; changes go into the next one.
func migrations() ([]string, error) {
	entries, err := fs.ReadDir(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	var scripts []string
	for _, e := range entries {
		text, err := fs.ReadFile(migrationFiles, "migrations/"+e.Name())
		if err != nil {
			return nil, err
		}
		scripts = append(scripts, string(text))
	}
	return scripts, nil
}

// migrate brings the file to the newest version, each step atomically. It fails, and changes
// nothing, if the file is of a newer version or of another program.
func migrate(ctx context.Context, c *conn, scripts []string) error {
	version, err := versionOf(c, len(scripts))
	if err != nil {
		return err
	}
	for ; version < len(scripts); version++ {
		script := fmt.Sprintf("BEGIN IMMEDIATE;\n%s\n;PRAGMA application_id = %d;\nPRAGMA user_version = %d;\nCOMMIT;",
			scripts[version], applicationID, version+1)
		if err := c.run(ctx, script); err != nil {
			_ = c.run(context.Background(), "ROLLBACK") // most errors have rolled back already
			return fmt.Errorf("migrate to version %d: %w", version+1, err)
		}
	}
	return nil
}

// versionOf reads the file's version without changing anything.
func versionOf(c *conn, newest int) (int, error) {
	version, err := c.number("PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	id, err := c.number("PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	objects, err := c.number("SELECT count(*) FROM sqlite_schema")
	switch {
	case err != nil:
		return 0, err
	case objects > 0 && id != applicationID:
		return 0, fmt.Errorf("database %s belongs to another program; choose another data directory", c.path)
	case version > int64(newest):
		return 0, fmt.Errorf("database %s has version %d, and this program knows versions up to %d: "+
			"it was written by a newer Interlock; use that one", c.path, version, newest)
	}
	return int(version), nil
}
