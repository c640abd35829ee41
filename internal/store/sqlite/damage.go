package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/interlock-go/interlock/internal/store"
)

// check scans the whole file for damage and records it. It reads one table at a time, so that the
// write-ahead log need not keep everything committed meanwhile. It stops when ctx ends.
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

// quickCheck returns the problems of the file, at most a few for each table.
func quickCheck(ctx context.Context, c *conn) (found []string, err error) {
	tables, err := c.texts(ctx, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
	if err != nil {
		return nil, err
	}
	for _, table := range tables {
		rows, err := c.texts(ctx, fmt.Sprintf("PRAGMA quick_check(%q)", table))
		if isDamage(err) { // so much that the check itself cannot go on
			rows, err = []string{store.FaultOf(err).Err.Error()}, nil
		}
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

// texts returns the first column of a query that may take long; it stops when ctx ends.
func (c *conn) texts(ctx context.Context, query string) (texts []string, err error) {
	rows, err := c.driver.(driver.QueryerContext).QueryContext(ctx, query, nil)
	if err != nil {
		return nil, fault(c.path, err)
	}
	err = c.each(rows, func(v values) error {
		texts = append(texts, v.text(0))
		return nil
	})
	return texts, err
}

// markSuffix is the suffix of a marker file that exists while the database is open, and after a
// crash. If it exists, the write-ahead log must exist too. If it is not empty, the log must have
// commits, and nothing else.
const markSuffix = "-open"

func markOpen(path string) error { return mark(path, "") }

func markCommits(path string) error { return mark(path, "commits\n") }

func mark(path, text string) error {
	f, err := os.OpenFile(path+markSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}

func unmarkOpen(path string) error {
	if err := os.Remove(path + markSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// checkLog rejects a database whose write-ahead log is missing or empty after a crash: it holds the
// last commits.
func checkLog(path string) error {
	_, marked := os.Lstat(path + markSuffix)
	_, log := os.Lstat(path + "-wal")
	emptied := size(path+markSuffix) > 0 && size(path+"-wal") == 0
	if marked != nil || !errors.Is(log, fs.ErrNotExist) && !emptied {
		return nil
	}
	return &store.Fault{Kind: store.Damaged, Remedy: fmt.Sprintf("the write-ahead log %s-wal is missing or empty, "+
		"and with it what was acknowledged before the last crash; put it back beside the database. "+
		"To go on without it, with a restored backup or after another program opened the database, remove %s",
		path, path+markSuffix)}
}

// truncateLog copies the write-ahead log of earlier processes into the database, so that crashes do
// not make it grow. If the disk is full, the log stays.
func truncateLog(ctx context.Context, c *conn) error {
	if err := c.run(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil && !isFull(err) {
		return err
	}
	return nil
}
