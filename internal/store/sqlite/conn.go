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
// It speaks to the driver directly: the pool of database/sql would cost more than most of our
// statements.
type conn struct {
	driver driver.Conn
	path   string
	stmts  map[string]driver.Stmt
	args   []driver.NamedValue // used again by every statement
}

// values is one row of an answer. NULL is read as the zero value.
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

// upTo bounds an answer by the statement's last argument. SQLite plans a statement with
// a bare "LIMIT ?" anew each time it is run, which takes longer than most of them.
const upTo = " LIMIT 0 + ?"

// errStop ends a query before its last row.
var errStop = errors.New("no more rows, please")

// connect opens path, which mode "rw" must find there and "rwc" creates. SQLite reads the file
// with the first statement.
func connect(path, mode string) (*conn, error) {
	name := url.URL{Scheme: "file", Path: path, RawQuery: "mode=" + mode + "&_error_rc=1"}
	d, err := (&sqlite.Driver{}).Open(name.String())
	if err != nil {
		return nil, fault(path, err)
	}
	// Usually the write-ahead log is removed when the last connection closes. This one stays, so
	// that a missing log is a loss.
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

// changes is exec that says how many rows an INSERT, UPDATE or DELETE touched.
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

// run executes a script: one or more statements, not kept.
func (c *conn) run(ctx context.Context, script string, args ...any) error {
	if _, err := c.driver.(driver.ExecerContext).ExecContext(ctx, script, c.named(args)); err != nil {
		return fault(c.path, err)
	}
	return nil
}

// query calls each with every row of the answer, which may end it early with errStop. A row is
// valid until each returns.
func (c *conn) query(query string, each func(values) error, args ...any) (err error) {
	stmt, err := c.prepare(query)
	if err != nil {
		return err
	}
	rows, err := stmt.(driver.StmtQueryContext).QueryContext(context.Background(), c.named(args))
	if err != nil {
		return fault(c.path, err)
	}
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
		if err := each(found); err != nil {
			if errors.Is(err, errStop) {
				return nil
			}
			return err
		}
	}
}

// one is query for an answer of at most one row, and says whether there was one.
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

// number is one for a single number; 0 if there is none.
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
