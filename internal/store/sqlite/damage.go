package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/interlock-go/interlock/internal/store"
)

// check searches the whole file for damage and remembers it. It reads one table after the other, so
// that the write-ahead log need not keep everything that is committed meanwhile. It ends with ctx.
func (e *Engine) check(ctx context.Context) {
	c, err := connect(e.conn.path, "rw")
	if err != nil {
		return // the next read or write reports it
	}
	defer func() { _ = c.close() }() // it only reads
	found, err := quickCheck(ctx, c)
	if err == nil && len(found) > 0 {
		err = fault(e.conn.path, &store.Fault{Kind: store.Damaged, Remedy: damageRemedy, Err: errors.New(found[0])})
	}
	e.condition.recordDamage(err)
}

// quickCheck returns what is wrong with the file, at most a few things for each table.
func quickCheck(ctx context.Context, c *conn) (found []string, err error) {
	tables, err := c.texts(ctx, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
	if err != nil {
		return nil, err
	}
	for _, table := range tables {
		rows, err := c.texts(ctx, fmt.Sprintf("PRAGMA quick_check(%q)", table))
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if row != "ok" {
				found = append(found, table+": "+row)
			}
		}
	}
	return found, nil
}

// texts reads the first column of a query that may take long and ends with ctx.
func (c *conn) texts(ctx context.Context, query string) (texts []string, err error) {
	rows, err := c.driver.(driver.QueryerContext).QueryContext(ctx, query, nil)
	if err != nil {
		return nil, fault(c.path, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	found := make(values, len(rows.Columns()))
	for {
		if err := rows.Next(found); errors.Is(err, io.EOF) {
			return texts, nil
		} else if err != nil {
			return nil, fault(c.path, err)
		}
		texts = append(texts, found.text(0))
	}
}

// markSuffix ends the name of a file that is beside the database while it is open, and after a
// crash. Then the write-ahead log is there, too.
const markSuffix = "-open"

func markOpen(path string) error {
	f, err := os.OpenFile(path+markSuffix, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func unmarkOpen(path string) error {
	if err := os.Remove(path + markSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// checkLog refuses a database whose write-ahead log is missing after a crash: what was committed
// last is in it.
func checkLog(path string) error {
	_, marked := os.Lstat(path + markSuffix)
	_, log := os.Lstat(path + "-wal")
	if marked != nil || !errors.Is(log, fs.ErrNotExist) {
		return nil
	}
	return &store.Fault{Kind: store.Damaged, Remedy: fmt.Sprintf("the write-ahead log %s-wal is missing, "+
		"and with it what was acknowledged before the last crash; put it back beside the database. "+
		"To go on without it, with a restored backup or after another program opened the database, remove %s",
		path, path+markSuffix)}
}

// truncateLog copies what earlier processes left in the write-ahead log into the database, so that
// crashes do not make it grow. A full disk leaves it as it is.
func truncateLog(ctx context.Context, c *conn) error {
	if err := c.run(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil && !isFull(err) {
		return err
	}
	return nil
}
