package sqlite

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// refused opens a directory, which must fail, and checks the error.
func refused(t *testing.T, dir string, says ...string) {
	t.Helper()
	s, err := OpenEngine(t.Context(), dir, Options{})
	if err == nil {
		check(t, s.Close())
		t.Fatalf("%s was opened", dir)
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not say %q", err, text)
		}
	}
}

// untouched checks that f does not change a file.
func untouched(t *testing.T, path string, f func()) {
	t.Helper()
	before, err := os.ReadFile(path)
	check(t, err)
	f()
	after, err := os.ReadFile(path)
	check(t, err)
	if !bytes.Equal(before, after) {
		t.Errorf("%s was changed", path)
	}
}

func TestSecondProcessLearnsWhoHasTheDirectory(t *testing.T) {
	dir := empty(t)
	s := opened(t, dir, Options{})
	refused(t, dir, dir, "in use by process "+strconv.Itoa(os.Getpid()))
	put(t, s, reading("rows", 1))
	check(t, s.Close())
	opened(t, dir, Options{})
}

func TestNewerFileIsRefused(t *testing.T) {
	dir := empty(t)
	path := filepath.Join(dir, fileName)
	script(t, path, "PRAGMA user_version = 999")
	scripts, err := migrations()
	check(t, err)
	untouched(t, path, func() {
		refused(t, dir, path, "version 999", "up to "+strconv.Itoa(len(scripts)), "newer Interlock")
	})
}

// script changes a database that is not open.
func script(t *testing.T, path, text string) {
	t.Helper()
	c, err := connect(path, "rwc")
	check(t, err)
	check(t, c.run(t.Context(), text))
	check(t, c.close())
}

func TestOtherProgramsFileIsRejected(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, fileName)
	script(t, path, "CREATE TABLE bookmarks (url TEXT)")
	untouched(t, path, func() { refused(t, dir, path, "another program") })
}

func TestDamagedFileIsRejected(t *testing.T) {
	for name, damage := range map[string]func(text []byte) []byte{
		"header overwritten": func(text []byte) []byte { return append([]byte("no database any more"), text[20:]...) },
		"first page lost":    func(text []byte) []byte { return append(bytes.Repeat([]byte{0xff}, 4096), text[4096:]...) },
		"cut off":            func(text []byte) []byte { return text[:5000] },
	} {
		t.Run(name, func(t *testing.T) {
			dir := empty(t)
			path := filepath.Join(dir, fileName)
			text, err := os.ReadFile(path)
			check(t, err)
			check(t, os.WriteFile(path, damage(text), 0o600))
			untouched(t, path, func() { refused(t, dir, path, "damaged", "backup") })
		})
	}
}

func TestFileInPlaceOfADirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(path, []byte("mine"), 0o600))
	untouched(t, path, func() {
		refused(t, path, path, "a file is in the way")
		refused(t, filepath.Join(path, "data"), path, "a file is in the way")
	})
}

// Not even root can create a directory here, as on a file system that is mounted read-only.
func TestDirectoryThatCannotBeCreated(t *testing.T) {
	refused(t, "/dev/null/data", "create data directory /dev/null/data")
}

func TestDatabaseThatCannotBeCreated(t *testing.T) {
	dir := t.TempDir()
	check(t, os.Mkdir(filepath.Join(dir, fileName), 0o700))
	refused(t, dir, filepath.Join(dir, fileName), "cannot be opened or created")
}

func TestMigrationsRunForwardByThemselves(t *testing.T) {
	c, err := connect(filepath.Join(empty(t), fileName), "rw")
	check(t, err)
	defer func() { check(t, c.close()) }()
	scripts, err := migrations()
	check(t, err)
	scripts = append(scripts, "CREATE TABLE a (x TEXT)", "CREATE TABLE b (x TEXT); INSERT INTO b VALUES ('kept')")
	check(t, migrate(t.Context(), c, scripts))
	check(t, migrate(t.Context(), c, scripts))
	rows, err := c.number("SELECT count(*) FROM b")
	check(t, err)
	if rows != 1 {
		t.Errorf("the last script ran %d times", rows)
	}
}

func TestFailedMigrationChangesNothing(t *testing.T) {
	c, err := connect(filepath.Join(empty(t), fileName), "rw")
	check(t, err)
	defer func() { check(t, c.close()) }()
	scripts, err := migrations()
	check(t, err)
	newest := len(scripts)
	if err := migrate(t.Context(), c, append(scripts, "CREATE TABLE a (x TEXT); INSERT INTO nowhere VALUES (1)")); err == nil ||
		!strings.Contains(err.Error(), "migrate to version "+strconv.Itoa(newest+1)) {
		t.Errorf("migrate gave %v", err)
	}
	version, err := versionOf(c, newest)
	check(t, err)
	left, err := c.number("SELECT count(*) FROM sqlite_schema WHERE name = 'a'")
	check(t, err)
	if version != newest || left != 0 {
		t.Errorf("version %d and %d tables of it are left", version, left)
	}
}

func TestPathMayContainAnyCharacters(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c#d%20e&mode=ro")
	s := opened(t, dir, Options{})
	put(t, s, reading("rows", 1))
	if _, err := os.Stat(filepath.Join(dir, fileName)); err != nil {
		t.Error(err)
	}
	check(t, s.Close())
	if got := count(t, opened(t, dir, Options{}), "rows"); got != 1 {
		t.Errorf("read %d after reopening", got)
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := OpenEngine(ctx, t.TempDir(), Options{}); err == nil {
		t.Error("opened after the context had ended")
	}
}
