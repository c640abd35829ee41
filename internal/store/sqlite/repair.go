package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/datadir"
)

// Repaired is the result of Repair.
type Repaired struct {
	Found  []string // problems of the database; if empty, nothing was done
	Kept   string   // the damaged database, with its write-ahead log beside it
	Tables []SavedTable
}

// SavedTable describes what could be read of a table.
type SavedTable struct {
	Name    string
	Saved   int  // rows
	Invalid int  // rows that can be read but are not valid records
	Damaged bool // part of it could not be read; how many rows is unknown
}

// Repair builds a new database from all rows that can still be read in a damaged one, and replaces
// it. The damaged one is kept under another name. Repair fails if a process uses the directory, and
// changes nothing if the database is intact. It cannot know what a lost row contained, or whether a
// readable row is as it was written.
func Repair(ctx context.Context, dir string, now time.Time) (Repaired, error) {
	path, err := filepath.Abs(filepath.Join(dir, fileName))
	if err != nil {
		return Repaired{}, fmt.Errorf("repair %s: %w", dir, err)
	}
	if _, err := os.Stat(path); err != nil {
		return Repaired{}, fmt.Errorf("repair data directory %s: %w", dir, err)
	}
	taken, err := datadir.Take(dir)
	if err != nil {
		return Repaired{}, err
	}
	defer func() { _ = taken.Close() }() // the process ends anyway
	report, err := repair(ctx, path, now)
	if err == nil && report.Kept != "" {
		err = taken.Disown() // the store's name may be lost
	}
	if err != nil {
		return report, fmt.Errorf("repair %s: %w", path, err)
	}
	return report, nil
}

func repair(ctx context.Context, path string, now time.Time) (report Repaired, err error) {
	from, err := connect(path, "rw")
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, from.close()) }()
	if report.Found = damages(ctx, from); len(report.Found) == 0 {
		return report, nil
	}
	fresh := path + ".repaired"
	if err := removeAll(fresh, fresh+"-wal", fresh+"-shm", fresh+"-journal"); err != nil {
		return report, err
	}
	if report.Tables, err = salvage(ctx, from, fresh); err != nil {
		return report, err
	}
	if !slices.ContainsFunc(report.Tables, func(t SavedTable) bool { return t.Name != "meta" && t.Saved > 0 }) {
		return report, errors.Join(errors.New("nothing in it can be read; put a backup in its place"),
			removeAll(fresh, fresh+"-journal"))
	}
	report.Kept = fmt.Sprintf("%s.damaged-%s", path, now.UTC().Format("20060102T150405Z"))
	return report, replace(path, fresh, report.Kept)
}

func removeAll(names ...string) error {
	for _, name := range names {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// replace replaces the damaged database, which is kept, with the new one. If it is interrupted
// between any two steps, the next start either finds the damaged database unchanged, or refuses to
// open it because its log is missing.
func replace(path, fresh, kept string) error {
	if err := os.Link(path, kept); err != nil {
		return err
	}
	if err := markOpen(path); err != nil {
		return err
	}
	if err := os.Rename(path+"-wal", kept+"-wal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := removeAll(path + "-shm"); err != nil {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		return err
	}
	return errors.Join(unmarkOpen(path), datadir.Sync(filepath.Dir(path)))
}

// salvage copies all readable rows into a new database.
func salvage(ctx context.Context, from *conn, fresh string) (tables []SavedTable, err error) {
	if err := createPrivate(fresh); err != nil {
		return nil, err
	}
	to, err := connect(fresh, "rw")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, to.close()) }()
	scripts, err := migrations()
	if err != nil {
		return nil, err
	}
	if err := to.run(ctx, `PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL;
		PRAGMA temp_store = MEMORY`); err != nil {
		return nil, err
	}
	if err := migrate(ctx, to, scripts); err != nil {
		return nil, err
	}
	names, err := to.texts(ctx, `SELECT name FROM sqlite_schema
		WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`)
	if err != nil {
		return nil, err
	}
	if err := to.exec("BEGIN IMMEDIATE"); err != nil {
		return nil, err
	}
	for _, name := range names {
		r := &rescue{from: from, to: to, SavedTable: SavedTable{Name: name}}
		if err := r.table(ctx); err != nil {
			return nil, err
		}
		tables = append(tables, r.SavedTable)
	}
	if err := keepPositions(to); err != nil {
		return nil, err
	}
	return tables, to.exec("COMMIT")
}

// keepPositions makes sure that no position and no number is used twice, although the rows with the
// last ones may be lost: each sequence skips ahead.
func keepPositions(to *conn) error {
	const skipped = 1 << 20
	w, err := newWriter(to, nil)
	if err != nil {
		return err
	}
	number, err := to.number(`SELECT max(n) FROM (SELECT max(version) AS n FROM rows
		UNION ALL SELECT value FROM meta WHERE name = 'number')`)
	if err != nil {
		return err
	}
	for name, last := range map[string]int64{
		"last_change": w.lastChange, "last_event": w.lastEvent, "number": number,
	} {
		if err := to.exec("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", name, last+skipped); err != nil {
			return err
		}
	}
	return nil
}

// rescue copies one table.
type rescue struct {
	from, to *conn
	SavedTable

	columns []string // in both databases
	insert  string
	scans   int
}

// maxScans bounds how often a table is read, so that a completely damaged file does not take
// forever.
const maxScans = 100_000

func (r *rescue) table(ctx context.Context) error {
	if err := r.describe(ctx); err != nil {
		return err
	}
	if r.Damaged = len(r.columns) == 0; !r.Damaged { // otherwise not even its definition can be read
		if err := r.between(0, 1<<62); err != nil {
			return err
		}
	}
	n, err := r.to.number(fmt.Sprintf("SELECT count(*) FROM %q", r.Name))
	r.Saved = int(n)
	return err
}

// describe finds the columns that exist in both databases. The damaged one may be of an earlier
// version.
func (r *rescue) describe(ctx context.Context) error {
	columns, err := r.to.texts(ctx, fmt.Sprintf("SELECT name FROM pragma_table_info(%q) ORDER BY cid", r.Name))
	if err != nil {
		return err
	}
	before, err := r.from.texts(ctx, fmt.Sprintf("SELECT name FROM pragma_table_info(%q)", r.Name))
	if err != nil {
		return nil // unreadable: r.columns stays empty
	}
	r.columns = slices.DeleteFunc(columns, func(c string) bool { return !slices.Contains(before, c) })
	r.insert = fmt.Sprintf("INSERT OR REPLACE INTO %q (%s) VALUES (?%s)",
		r.Name, strings.Join(r.columns, ", "), strings.Repeat(", ?", len(r.columns)-1))
	return nil
}

// between copies the rows whose rowid is in [low, high]: from both ends up to the first unreadable
// row, then the two halves of the rest.
func (r *rescue) between(low, high int64) error {
	if low > high || r.scans > maxScans {
		return nil
	}
	last, whole, err := r.scan(low, high, "ASC")
	if err != nil || whole {
		return err
	}
	low = max(low, last+1)
	last, whole, err = r.scan(low, high, "DESC")
	if err != nil || whole {
		return err
	}
	if last > 0 {
		high = last - 1
	}
	if low >= high {
		return nil
	}
	middle := low + (high-low)/2
	return errors.Join(r.between(low, middle), r.between(middle+1, high))
}

// scan copies rows in rowid order until one cannot be read. It returns the rowid of the last one it
// read, 0 if none, and whether it reached the end.
func (r *rescue) scan(low, high int64, order string) (last int64, whole bool, err error) {
	r.scans++
	var failed error
	err = r.from.query(fmt.Sprintf("SELECT rowid, %s FROM %q WHERE rowid BETWEEN ? AND ? ORDER BY rowid %s",
		strings.Join(r.columns, ", "), r.Name, order), func(v values) error {
		last = v.int(0)
		failed = r.keep(v[1:])
		return failed
	}, low, high)
	if failed != nil || err == nil {
		return last, err == nil, failed
	}
	r.Damaged = true
	return last, false, nil
}

// keep stores a row, unless its body is not JSON: SQLite does not detect all damage.
func (r *rescue) keep(v values) error {
	args := make([]any, len(v))
	for i := range v {
		args[i] = v[i]
		if r.columns[i] == "body" && !json.Valid(v.blob(i)) {
			r.Invalid++
			return nil
		}
	}
	return r.to.exec(r.insert, args...)
}
