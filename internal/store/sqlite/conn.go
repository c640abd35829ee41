package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"

	"modernc.org/sqlite"
)

// conn is one connection to the file with its prepared statements, used by one goroutine at a time.
// It calls the driver directly: the pool of database/sql would cost more than most of our
// statements.
type conn struct {
	driver driver.Conn
	path   string
	stmts  map[string]driver.Stmt
	args   []driver.NamedValue // reused by every statement
}

// values is one result row. NULL is read as the zero value.
type values []driver.Value

func (v values) int(i int) int64 {
	n, _ := v[i].(int64)
	return n
}

func (v values) text(i int) string {
	s, _ := v[i].(string)
	return s
}

func (v values) blob(i int) []byte {
	b, _ := v[i].([]byte)
	return b
}

// upTo limits a query by the statement's last argument. SQLite replans a statement with a plain
// "LIMIT ?" each time it runs, which takes longer than most of our queries.
const upTo = " LIMIT 0 + ?"

// errStop ends a query before its last row.
var errStop = errors.New("stop reading rows")

// connect opens path. With mode "rw" the file must exist; "rwc" creates it. SQLite reads the file
// with the first statement.
func connect(path, mode string) (*conn, error) {
	name := url.URL{Scheme: "file", Path: path, RawQuery: "mode=" + mode + "&_error_rc=1"}
	d, err := (&sqlite.Driver{}).Open(name.String())
	if err != nil {
		return nil, fault(path, err)
	}
	// By default SQLite removes the write-ahead log when the last connection closes. Keep it, so
	// that a missing log means a loss.
	if _, err := d.(sqlite.FileControl).FileControlPersistWAL("main", 1); err != nil {
		return nil, errors.Join(fault(path, err), d.Close())
	}
	return &conn{driver: d, path: path, stmts: map[string]driver.Stmt{}}, nil
}

// exec runs a statement, prepared once.
func (c *conn) exec(query string, args ...any) error {
	_, err := c.changes(query, args...)
	return err
}

// changes is exec that returns how many rows an INSERT, UPDATE or DELETE affected.
func (c *conn) changes(query string, args ...any) (int64, error) {
	stmt, err := c.prepare(query)
	if err != nil {
		return 0, err
	}
	result, err := stmt.(driver.StmtExecContext).ExecContext(context.Background(), c.named(args))
	if err != nil {
		return 0, fault(c.path, err)
	}
	return result.RowsAffected()
}

// run executes a script of one or more statements, without caching them.
func (c *conn) run(ctx context.Context, script string, args ...any) error {
	if _, err := c.driver.(driver.ExecerContext).ExecContext(ctx, script, c.named(args)); err != nil {
		return fault(c.path, err)
	}
	return nil
}

// query calls each for every result row. each may return errStop to end early. A row is valid until
// each returns.
func (c *conn) query(query string, each func(values) error, args ...any) error {
	stmt, err := c.prepare(query)
	if err != nil {
		return err
	}
	rows, err := stmt.(driver.StmtQueryContext).QueryContext(context.Background(), c.named(args))
	if err != nil {
		return fault(c.path, err)
	}
	return c.each(rows, each)
}

// each calls do for every row, as query does, and closes the rows.
func (c *conn) each(rows driver.Rows, do func(values) error) (err error) {
	defer func() {
		if closed := rows.Close(); err == nil && closed != nil {
			err = fault(c.path, closed)
		}
	}()
	found := make(values, len(rows.Columns()))
	for {
		if err := rows.Next(found); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fault(c.path, err)
		}
		if err := do(found); err != nil {
			if errors.Is(err, errStop) {
				return nil
			}
			return err
		}
	}
}

// one is query for at most one row, and reports whether there was one.
func (c *conn) one(query string, each func(values) error, args ...any) (found bool, err error) {
	err = c.query(query, func(v values) error {
		found = true
		if err := each(v); err != nil {
			return err
		}
		return errStop
	}, args...)
	return found, err
}

// number returns a single number; 0 if there is none.
func (c *conn) number(query string, args ...any) (n int64, err error) {
	_, err = c.one(query, func(v values) error {
		n = v.int(0)
		return nil
	}, args...)
	return n, err
}

func (c *conn) prepare(query string) (driver.Stmt, error) {
	if stmt := c.stmts[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := c.driver.Prepare(query)
	if err != nil {
		return nil, fault(c.path, err)
	}
	c.stmts[query] = stmt
	return stmt, nil
}

func (c *conn) named(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, v := range args {
		if n, ok := v.(int); ok {
			v = int64(n)
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return c.args
}

func (c *conn) close() error {
	var errs []error
	for _, stmt := range c.stmts {
		errs = append(errs, stmt.Close())
	}
	if err := errors.Join(append(errs, c.driver.Close())...); err != nil {
		return fmt.Errorf("close %s: %w", c.path, err)
	}
	return nil
}
