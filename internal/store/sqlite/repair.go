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

// Repaired is what Repair did.
type Repaired struct {
	Found  []string // what is wrong with the database; nothing was done if it is empty
	Kept   string   // the damaged database, with its write-ahead log beside it
	Tables []SavedTable
}

// SavedTable is what could be read of a table.
type SavedTable struct {
	Name    string
	Saved   int  // rows
	Invalid int  // rows that can be read but are no records
	Damaged bool // some of it could not be read at all; how many rows is unknown
}

// Repair makes a new database of all rows that can still be read in a damaged one, and puts it in
// its place. The damaged one is kept under another name. It fails if a process uses the
// directory, and changes nothing if the database is whole. It cannot know what a lost row held, nor
// whether a row that it can read is as it was written.
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
	defer func() { _ = taken.Close() }() // the process ends, too
	report, err := repair(ctx, path, now)
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
	if missing := checkLog(path); missing != nil {
		report.Found = append(report.Found, fmt.Sprintf("the write-ahead log %s-wal is missing", path))
	}
	found, checkErr := quickCheck(ctx, from)
	if checkErr != nil {
		found = append(found, checkErr.Error())
	}
	if report.Found = append(report.Found, found...); len(report.Found) == 0 {
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

// replace puts the new database in the place of the damaged one, which is kept. Between any two of
// its steps a start either finds the damaged database as it was, or is refused because its log is
// missing.
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
	return errors.Join(unmarkOpen(path), syncDir(filepath.Dir(path)))
}

// salvage copies what can be read into a new database.
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

// keepPositions makes sure that no position and no number is used twice, although the rows that
// held the last ones may be lost: each sequence skips ahead of what was found.
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

	columns []string // that both databases have
	insert  string
	scans   int
}

// maxScans bounds how often a table is read, so that a file in which everything is damaged does not
// take for ever.
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

// describe finds the columns that are in both databases. The damaged one may be of an earlier
// version.
func (r *rescue) describe(ctx context.Context) error {
	columns, err := r.to.texts(ctx, fmt.Sprintf("SELECT name FROM pragma_table_info(%q) ORDER BY cid", r.Name))
	if err != nil {
		return err
	}
	before, err := r.from.texts(ctx, fmt.Sprintf("SELECT name FROM pragma_table_info(%q)", r.Name))
	if err != nil {
		return nil // it says nothing
	}
	r.columns = slices.DeleteFunc(columns, func(c string) bool { return !slices.Contains(before, c) })
	r.insert = fmt.Sprintf("INSERT OR REPLACE INTO %q (%s) VALUES (?%s)",
		r.Name, strings.Join(r.columns, ", "), strings.Repeat(", ?", len(r.columns)-1))
	return nil
}

// between copies the rows whose rowid is in [low, high]: from both ends up to what cannot be read,
// then the two halves of what is left.
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

// scan copies rows in the order of their rowids until one cannot be read. It returns the rowid of
// the last that it could read, 0 if there is none, and whether it came to the end.
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

// keep stores a row, unless its body is not JSON: SQLite does not notice all damage.
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
