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
	"github.com/interlock-go/interlock/internal/period"
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
	Damaged bool // some of it could not be read at all: how many rows that were, nobody can tell
}

// Repair makes a new database of all rows that can still be read in a damaged one, and puts it in its place. The damaged one
// is kept under another name. A directory that a process uses is refused; a database that is whole is left alone. It
// cannot tell what a row that is gone has said, nor that a row which can be read is what was written.
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
		return report, errors.Join(errors.New("nothing in it can be read; put a backup in its place"), removeAll(fresh, fresh+"-journal"))
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

// replace puts the new database in the place of the damaged one, which is kept. Between any two of its steps a start either
// finds the damaged database as it was, or is refused because its log is missing.
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
	if err := to.run(ctx, "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF; PRAGMA temp_store = MEMORY"); err != nil {
		return nil, err
	}
	if err := migrate(ctx, to, scripts); err != nil {
		return nil, err
	}
	names, err := to.texts(ctx, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
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

// keepPositions makes sure that no position of the feed or of an event, and no version of a reading, is used twice, although
// the rows that held the last ones may be gone.
func keepPositions(to *conn) error {
	for name, query := range map[string]string{
		"last_change": "SELECT max(n) FROM (SELECT max(pos) AS n FROM log UNION ALL SELECT max(version) FROM readings UNION ALL SELECT max(place) FROM feed_groups)",
		"last_event":  "SELECT max(n) FROM (SELECT max(pos) AS n FROM events UNION ALL SELECT max(pos) FROM cursors UNION ALL SELECT value FROM meta WHERE name = 'last_event')",
	} {
		last, err := to.number(query)
		if err != nil {
			return err
		}
		if err := to.exec("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", name, last); err != nil {
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
	key     string   // what the rows are ordered by
	insert  string
	scans   int
}

// maxScans bounds how often a damaged table is read: a file in which everything is damaged must not take for ever.
const maxScans = 100_000

func (r *rescue) table(ctx context.Context) (err error) {
	if err := r.describe(ctx); err != nil {
		return err
	}
	switch {
	case len(r.columns) == 0:
		r.Damaged = true // not even its definition can be read
	case r.key == "rowid":
		err = r.between(0, 1<<62)
	default:
		_, err = r.scan(r.key, "ASC")
		if r.Damaged && err == nil {
			_, err = r.scan(r.key, "DESC")
		}
	}
	if err != nil {
		return err
	}
	n, err := r.to.number(fmt.Sprintf("SELECT count(*) FROM %q", r.Name))
	r.Saved = int(n)
	return err
}

// describe finds the columns that are in both databases. The damaged one may be of an earlier version.
func (r *rescue) describe(ctx context.Context) error {
	columns, err := r.to.texts(ctx, fmt.Sprintf("SELECT name FROM pragma_table_info(%q) ORDER BY cid", r.Name))
	if err != nil {
		return err
	}
	before, err := r.from.texts(ctx, fmt.Sprintf("SELECT name FROM pragma_table_info(%q)", r.Name))
	if err != nil {
		return nil // it says nothing
	}
	for _, c := range columns {
		if slices.Contains(before, c) {
			r.columns = append(r.columns, c)
		}
	}
	keys, err := r.to.texts(ctx, fmt.Sprintf("SELECT name FROM pragma_table_info(%q) WHERE pk > 0 ORDER BY pk", r.Name))
	if err != nil || len(r.columns) == 0 {
		return err
	}
	without, err := r.to.number("SELECT count(*) FROM sqlite_schema WHERE name = ? AND sql LIKE '%WITHOUT ROWID%'", r.Name)
	if r.key = strings.Join(keys, ", "); without == 0 {
		r.key = "rowid"
	}
	r.insert = fmt.Sprintf("INSERT OR REPLACE INTO %q (%s) VALUES (?%s)", r.Name, strings.Join(r.columns, ", "), strings.Repeat(", ?", len(r.columns)-1))
	return err
}

// between copies the rows whose number is in [low, high]: from both ends up to what cannot be read, then the two halves of
// what is left.
func (r *rescue) between(low, high int64) error {
	if low > high || r.scans > maxScans {
		return nil
	}
	last, err := r.scan("rowid", "ASC", low, high)
	if err != nil || last == whole {
		return err
	}
	if low = max(low, last+1); low > high {
		return nil
	}
	if last, err = r.scan("rowid", "DESC", low, high); err != nil || last == whole {
		return err
	}
	if last >= 0 {
		high = last - 1
	}
	if low >= high {
		return nil
	}
	middle := low + (high-low)/2
	return errors.Join(r.between(low, middle), r.between(middle+1, high))
}

// What scan returns where it came to the end, and where it could read no row.
const (
	whole = -2
	none  = -1
)

// scan copies rows in the order of key until one cannot be read, and returns the number of the last that could: whole if all
// could, none if none could.
func (r *rescue) scan(key, order string, bounds ...int64) (last int64, err error) {
	r.scans++
	query, number, args := "", "0", []any{}
	if len(bounds) > 0 {
		query, number, args = " WHERE rowid BETWEEN ? AND ?", "rowid", []any{bounds[0], bounds[1]}
	}
	query = fmt.Sprintf("SELECT %s, %s FROM %q%s ORDER BY %s", number, strings.Join(r.columns, ", "), r.Name, query, strings.ReplaceAll(key, ",", " "+order+",")+" "+order)
	last = none
	var failed error
	err = r.from.query(query, func(row row) error {
		last = row.int(0)
		failed = r.keep(row[1:])
		return failed
	}, args...)
	switch {
	case failed != nil:
		return last, failed
	case err == nil:
		return whole, nil
	}
	r.Damaged = true
	return last, nil
}

// keep stores a row, unless it is no record: SQLite does not notice all damage.
func (r *rescue) keep(row row) error {
	args := make([]any, len(row))
	for i, v := range row {
		args[i] = v
		text, isText := v.(string)
		if !isText {
			continue
		}
		_, err := period.Parse(text)
		if r.columns[i] == "body" && !json.Valid([]byte(text)) || r.columns[i] == "period" && text != "" && err != nil {
			r.Invalid++
			return nil
		}
	}
	return r.to.exec(r.insert, args...)
}
