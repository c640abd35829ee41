package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// leaves returns the pages that hold the rows of a table, without its first.
func leaves(t *testing.T, dir, table string) (pages []int64) {
	t.Helper()
	c, err := connect(filepath.Join(dir, fileName), "rw")
	check(t, err)
	defer func() { check(t, c.close()) }()
	check(t, c.query("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path", func(r row) error {
		pages = append(pages, r.int(0))
		return nil
	}, table))
	return pages
}

func TestRepairSavesWhatCanBeRead(t *testing.T) {
	const readings = 200
	dir := filled(t, readings)
	rows := leaves(t, dir, "readings")
	if len(rows) < 10 {
		t.Fatalf("there are only %d pages", len(rows))
	}
	before := opened(t, dir, Options{})
	last := note(t, before, write("last", 1))[0].Version
	check(t, before.Close())
	overwrite(t, dir, rows[2], rows[7])
	overwrite(t, dir, leaves(t, dir, "log")[3])
	damaged, err := os.ReadFile(filepath.Join(dir, fileName))
	check(t, err)

	report, err := Repair(t.Context(), dir, noon)
	check(t, err)
	kept, err := os.ReadFile(report.Kept)
	if err != nil || string(kept) != string(damaged) || !strings.HasSuffix(report.Kept, ".damaged-20260303T120000Z") {
		t.Errorf("the damaged database is not kept as it was in %s: %v", report.Kept, err)
	}
	for _, table := range report.Tables {
		hit := table.Name == "readings" || table.Name == "log"
		if table.Damaged != hit {
			t.Errorf("%+v, want damaged: %t", table, hit)
		}
		if table.Name == "readings" && (table.Saved < readings-40 || table.Saved >= readings) {
			t.Errorf("of %d readings %d were saved", readings, table.Saved)
		}
	}
	s := opened(t, dir, Options{})
	s.checks.Wait()
	check(t, s.Trouble())
	if _, err := s.Run(t.Context(), orders); err != nil {
		t.Errorf("the run is lost: %v", err)
	}
	if got := count(t, s, "last"); got != 1 {
		t.Errorf("the last reading is lost: %d", got)
	}
	if next := note(t, s, write("next", 1))[0].Version; next <= last {
		t.Errorf("version %d was given out again, after %d", next, last)
	}
	check(t, s.Close())
	if report, err := Repair(t.Context(), dir, noon); err != nil || len(report.Found) > 0 || report.Kept != "" {
		t.Errorf("a database that is whole is repaired: %+v, %v", report, err)
	}
}

func TestRepairOfNothingChangesNothing(t *testing.T) {
	dir := filled(t, 1)
	path := filepath.Join(dir, fileName)
	check(t, os.WriteFile(path, []byte(strings.Repeat("this is no database", 1000)), 0o600))
	before, err := os.ReadFile(path)
	check(t, err)
	if _, err := Repair(t.Context(), dir, noon); err == nil || !strings.Contains(err.Error(), "backup") {
		t.Errorf("got %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("it was changed: %v", err)
	}
	if left, err := filepath.Glob(path + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	s := opened(t, filled(t, 1), Options{})
	if _, err := Repair(t.Context(), s.dir.Path, noon); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a store that is in use is repaired: %v", err)
	}
	if _, err := Repair(t.Context(), t.TempDir(), noon); err == nil {
		t.Error("an empty directory is repaired")
	}
}

func TestRepairGoesOnWithoutALog(t *testing.T) {
	dir := empty(t)
	s := opened(t, dir, Options{})
	note(t, s, write("rows", 7))
	image := t.TempDir()
	check(t, os.CopyFS(image, os.DirFS(dir)))
	check(t, s.Close())
	s = opened(t, image, Options{})
	note(t, s, write("more", 8))
	second := t.TempDir()
	check(t, os.CopyFS(second, os.DirFS(image)))
	check(t, os.Remove(filepath.Join(second, fileName+"-wal")))
	report, err := Repair(t.Context(), second, noon)
	if err != nil || len(report.Found) != 1 || !strings.Contains(report.Found[0], "-wal is missing") {
		t.Fatalf("%+v, %v", report, err)
	}
	if got := count(t, opened(t, second, Options{}), "rows"); got != 7 {
		t.Errorf("it shows %d", got)
	}
}
