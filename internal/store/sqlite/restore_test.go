package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// backupOf returns a backup of a store with a reading.
func backupOf(t *testing.T, rows int64) string {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(t.Context(), dir, Options{})
	check(t, err)
	put(t, s.engine, reading("rows", rows))
	path := filepath.Join(t.TempDir(), "backup.db")
	check(t, s.Backup(t.Context(), path))
	check(t, s.Close())
	return path
}

// holds opens the store and returns its reading.
func holds(t *testing.T, dir string) int64 {
	t.Helper()
	s, err := Open(t.Context(), dir, Options{})
	check(t, err)
	n := count(t, s.engine, "rows")
	check(t, s.Close())
	return n
}

func TestBackupTakesThePlaceOfAnyStore(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, dir string){
		"another":  func(*testing.T, string) {},
		"lost":     func(t *testing.T, dir string) { check(t, os.Remove(filepath.Join(dir, fileName))) },
		"emptied":  func(t *testing.T, dir string) { check(t, os.Truncate(filepath.Join(dir, fileName), 0)) },
		"damaged":  func(t *testing.T, dir string) { overwrite(t, dir, 1, 2, 3) },
		"no place": func(t *testing.T, dir string) { check(t, os.RemoveAll(dir)) },
		"a log that cannot be replayed": func(t *testing.T, dir string) {
			check(t, os.WriteFile(filepath.Join(dir, fileName+"-wal"), []byte(strings.Repeat("damaged!", 1000)), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			backup, dir := backupOf(t, 7), closedStore(t)
			prepare(t, dir)
			for range 2 {
				if _, err := Restore(t.Context(), backup, dir, noon); err != nil {
					t.Fatal(err)
				}
				if got := holds(t, dir); got != 7 {
					t.Errorf("it has %d", got)
				}
				dir = filepath.Join(t.TempDir(), "new")
			}
		})
	}
}

func TestRestoreKeepsTheStoreThatWasThere(t *testing.T) {
	backup, dir := backupOf(t, 7), closedStore(t)
	s := opened(t, dir, Options{})
	put(t, s, reading("rows", 3))
	if _, err := Restore(t.Context(), backup, dir, noon); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Fatalf("a store in use was replaced: %v", err)
	}
	check(t, s.Close())
	kept, err := Restore(t.Context(), backup, dir, noon)
	check(t, err)
	if _, err := Restore(t.Context(), kept, dir, noon.AddDate(0, 0, 1)); err != nil {
		t.Fatal(err)
	}
	if got := holds(t, dir); got != 3 {
		t.Errorf("the store that was kept has %d", got)
	}
}

func TestWhatIsNoBackupIsNotRestored(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		check(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	damaged := filled(t, 300)
	overwrite(t, damaged, rootOf(t, damaged, "rows"))
	live, _ := loggedImage(t)
	for path, says := range map[string]string{
		filepath.Join(dir, "none"):           "no such file",
		file("empty", ""):                    "it is empty",
		file("text", "name,count\norders,7"): "no backup",
		filepath.Join(damaged, fileName):     "it is damaged",
		filepath.Join(live, fileName):        "interlock backup --data",
	} {
		to := closedStore(t)
		if _, err := Restore(t.Context(), path, to, noon); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v does not say %q", path, err, says)
		}
		if got := holds(t, to); got != -1 {
			t.Errorf("%s: the store has changed", path)
		}
	}
}

func TestCheckNamesDamage(t *testing.T) {
	dir := filled(t, 300)
	if found, err := Check(t.Context(), dir); err != nil || len(found) != 0 {
		t.Errorf("intact: %q, %v", found, err)
	}
	overwrite(t, dir, rootOf(t, dir, "rows"))
	if found, err := Check(t.Context(), dir); err != nil || len(found) == 0 {
		t.Errorf("damaged: %q, %v", found, err)
	}
	image, log := loggedImage(t)
	check(t, os.WriteFile(log, []byte(strings.Repeat("damaged!", 1000)), 0o600))
	if found, err := Check(t.Context(), image); err != nil || len(found) != 1 || !strings.Contains(found[0], log) {
		t.Errorf("its log is damaged: %q, %v", found, err)
	}
	if _, err := OpenEngine(t.Context(), image, Options{}); err == nil {
		t.Error("the check has dropped the log")
	}
}
