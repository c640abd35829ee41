package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/store/row"
)

// leaf is a page of a table, and the number of its rows.
type leaf struct{ page, rows int64 }

// leaves returns the leaf pages of a table in key order.
func leaves(t *testing.T, dir, table string) (pages []leaf) {
	t.Helper()
	c, err := connect(filepath.Join(dir, fileName), "rw")
	check(t, err)
	defer func() { check(t, c.close()) }()
	check(t, c.query("SELECT pageno, ncell FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path", func(v values) error {
		pages = append(pages, leaf{v.int(0), v.int(1)})
		return nil
	}, table))
	return pages
}

// Whichever pages are damaged, all rows of the others are saved.
func TestRepairSavesWhatCanBeRead(t *testing.T) {
	const readings = 200
	dir := filled(t, readings)
	before := opened(t, dir, Options{})
	put(t, before, reading("~last", 1))
	number, err := before.Next(t.Context(), 1)
	check(t, err)
	changes, err := before.Receive(t.Context(), "router", "one", readings)
	check(t, err)
	check(t, before.Close())
	rows, log := leaves(t, dir, "rows"), leaves(t, dir, "changes")
	total := map[string]int64{"rows": readings + 4, "changes": readings + 1}
	for _, page := range []leaf{rows[5], rows[6], rows[12]} {
		overwrite(t, dir, page.page)
		total["rows"] -= page.rows
	}
	overwrite(t, dir, log[0].page)
	total["changes"] -= log[0].rows
	damaged, err := os.ReadFile(filepath.Join(dir, fileName))
	check(t, err)

	report, err := Repair(t.Context(), dir, noon)
	check(t, err)
	kept, err := os.ReadFile(report.Kept)
	if err != nil || string(kept) != string(damaged) || !strings.HasSuffix(report.Kept, ".damaged-20260303T120000Z") {
		t.Errorf("the damaged database was not kept unchanged in %s: %v", report.Kept, err)
	}
	for _, table := range report.Tables {
		want, hit := total[table.Name]
		if table.Damaged != hit || hit && int64(table.Saved) != want {
			t.Errorf("%+v, want damaged: %t, saved: %d", table, hit, want)
		}
	}
	e := opened(t, dir, Options{})
	e.checks.Wait()
	check(t, e.Trouble())
	if get(t, e, runRef).Version != 1 || count(t, e, "~last") != 1 {
		t.Error("the run or the last reading is lost")
	}
	if next, err := e.Next(t.Context(), 1); err != nil || next <= number {
		t.Errorf("number %d follows %d: %v", next, number, err)
	}
	if next := received(t, e); next.Position <= changes[len(changes)-1].Position {
		t.Errorf("position %d was used again, the last was %d", next.Position, changes[len(changes)-1].Position)
	}
	check(t, e.Close())
	if report, err := Repair(t.Context(), dir, noon); err != nil || len(report.Found) > 0 || report.Kept != "" {
		t.Errorf("an intact database was repaired: %+v, %v", report, err)
	}
}

// received returns the last of all changes, after one more write.
func received(t *testing.T, e *Engine) row.Change {
	t.Helper()
	put(t, e, reading("next", 1))
	n, _, err := e.Backlog(t.Context(), "router")
	check(t, err)
	changes, err := e.Receive(t.Context(), "router", "one", n)
	check(t, err)
	return changes[len(changes)-1]
}

// SQLite does not notice a page overwritten with something that looks like rows.
func TestRepairDropsInvalidRecords(t *testing.T) {
	dir := filled(t, 3)
	path := filepath.Join(dir, fileName)
	script(t, path, "UPDATE rows SET body = CAST('{\"count\":' AS BLOB) WHERE ref LIKE 'sensor/%/sensor-1'")
	overwrite(t, dir, rootOf(t, dir, "rows_aging"))
	report, err := Repair(t.Context(), dir, noon)
	check(t, err)
	for _, table := range report.Tables {
		if table.Name == "rows" && (table.Invalid != 1 || table.Saved != 5) {
			t.Errorf("%+v, want 5 rows saved and 1 left out", table)
		}
	}
	if got := count(t, opened(t, dir, Options{}), "sensor-1"); got != -1 {
		t.Errorf("it shows %d", got)
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
		t.Errorf("a store in use was repaired: %v", err)
	}
	if _, err := Repair(t.Context(), t.TempDir(), noon); err == nil {
		t.Error("an empty directory was repaired")
	}
}

func TestRepairWorksWithoutALog(t *testing.T) {
	s, _, image := crashed(t)
	check(t, s.Close())
	s = opened(t, image, Options{})
	put(t, s, reading("more", 8))
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
