package archive

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	connectLimit = 10 * time.Second
	writeLimit   = time.Minute
	closeLimit   = 5 * time.Second
)

// lockKey is the advisory lock ("ilck") that lets only one controller copy at a time. Postgres
// frees it when the connection ends, for whatever reason.
const lockKey = 0x696c636b

// Check reports whether dsn is a valid connection string. The error never contains any part of dsn.
func Check(dsn string) error {
	_, err := config(dsn)
	return err
}

func config(dsn string) (*pgconn.Config, error) {
	c, err := pgconn.ParseConfig(dsn)
	if err != nil || dsn == "" {
		return nil, errors.New("archive: the connection string is not valid; write postgres://user:password@host:5432/database?sslmode=verify-full")
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectLimit
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "interlock"
	}
	return c, nil
}

// session is one connection.
type session struct {
	conn *pgconn.PgConn
}

func connect(ctx context.Context, dsn string) (*session, error) {
	c, err := config(dsn)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	conn, err := pgconn.ConnectConfig(limited, c)
	if err != nil {
		return nil, fault(ctx, "connect", err)
	}
	return &session{conn: conn}, nil
}

// lock tries to take the advisory lock, and reports whether this session has it.
func (s *session) lock(ctx context.Context) (mine bool, err error) {
	said, err := s.one(ctx, fmt.Sprintf("SELECT pg_try_advisory_lock(%d)", lockKey))
	return said == yes, fault(ctx, "take the lock", err)
}

// close releases the lock and closes the connection. Errors do not matter: releasing only frees the
// lock sooner.
func (s *session) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	_ = s.do(ctx, "SELECT pg_advisory_unlock_all()")
	_ = s.conn.Close(ctx)
}

// place is the position of a cursor, and when it was set.
type place struct {
	position int64
	at       time.Time
}

// places reads all cursors.
func (s *session) places(ctx context.Context) (map[string]place, error) {
	said, err := s.ask(ctx, "SELECT name, position, (extract(epoch FROM at) * 1000000)::bigint FROM cursors")
	found := map[string]place{}
	for _, row := range said {
		found[row.text(0)] = place{row.number(1), time.UnixMicro(row.number(2)).UTC()}
	}
	return found, fault(ctx, "read the cursors", err)
}

// within runs f in one transaction with a timeout.
func (s *session) within(ctx context.Context, doing string, f func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	err := s.transact(limited, f)
	var own *versionError
	if errors.As(err, &own) {
		return fmt.Errorf("archive: %w", own)
	}
	return fault(ctx, doing, err)
}

// The archive talks to Postgres in text format, using pgconn alone: pgx with its type table would
// make the binary 2.7 MB larger.

// yes is how Postgres writes true.
const yes = "t"

// answer is a result row, one element per column; nil is NULL. The caller knows the type of each
// column it selected, so parse errors are ignored.
type answer [][]byte

func (a answer) text(i int) string { return string(a[i]) }

func (a answer) number(i int) int64 {
	n, _ := strconv.ParseInt(string(a[i]), 10, 64)
	return n
}

func (a answer) fraction(i int) float64 {
	f, _ := strconv.ParseFloat(string(a[i]), 64)
	return f
}

// ask runs a query and returns its rows.
func (s *session) ask(ctx context.Context, question string, about ...string) ([]answer, error) {
	values := make([][]byte, len(about))
	for i, a := range about {
		values[i] = []byte(a)
	}
	said := s.conn.ExecParams(ctx, question, values, nil, nil, nil).Read()
	if said.Err != nil {
		return nil, said.Err
	}
	all := make([]answer, len(said.Rows))
	for i, row := range said.Rows {
		all[i] = row
	}
	return all, nil
}

// one returns the first column of the first row, or "" if there is no row.
func (s *session) one(ctx context.Context, question string) (string, error) {
	said, err := s.ask(ctx, question)
	if err != nil || len(said) == 0 {
		return "", err
	}
	return said[0].text(0), nil
}

// count runs a query that returns one number.
func (s *session) count(ctx context.Context, question string) (int64, error) {
	said, err := s.one(ctx, question)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(said, 10, 64)
}

// do runs statements and discards their results.
func (s *session) do(ctx context.Context, statements string) error {
	return s.conn.Exec(ctx, statements).Close()
}

// transact runs f in one transaction. If the rollback fails, it closes the connection.
func (s *session) transact(ctx context.Context, f func(context.Context) error) error {
	if err := s.do(ctx, "BEGIN"); err != nil {
		return err
	}
	err := f(ctx)
	if err == nil {
		return s.do(ctx, "COMMIT")
	}
	if undone := s.do(ctx, "ROLLBACK"); undone != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
		defer cancel()
		_ = s.conn.Close(closing) // Postgres rolls back when the connection closes
	}
	return err
}

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations returns the scripts in the order of their names: the nth leads from version n-1 to n.
// A released script is never changed; changes go into the next one.
func migrations() ([]string, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var scripts []string
	for _, name := range names {
		text, err := fs.ReadFile(migrationFiles, name)
		if err != nil {
			return nil, err
		}
		scripts = append(scripts, string(text))
	}
	return scripts, nil
}

// versionError means that a newer version of Interlock has migrated the archive.
type versionError struct {
	found int64
	known int
}

func (e *versionError) Error() string {
	return fmt.Sprintf("the archive has schema version %d, but this program supports versions up to %d; use the newer Interlock that wrote it", e.found, e.known)
}

// migrate brings the archive's schema to the newest version, all steps or none. The caller holds
// the lock.
func (s *session) migrate(ctx context.Context, scripts []string) error {
	return s.within(ctx, "bring the tables up to date", func(ctx context.Context) error {
		if err := s.do(ctx, "CREATE TABLE IF NOT EXISTS archive_version (version integer NOT NULL)"); err != nil {
			return err
		}
		version, err := s.count(ctx, "SELECT coalesce(max(version), 0) FROM archive_version")
		if err != nil {
			return err
		}
		if version > int64(len(scripts)) {
			return &versionError{version, len(scripts)}
		}
		for ; version < int64(len(scripts)); version++ {
			if err := s.do(ctx, scripts[version]); err != nil {
				return err
			}
			if err := s.do(ctx, fmt.Sprintf("INSERT INTO archive_version (version) VALUES (%d)", version+1)); err != nil {
				return err
			}
		}
		return nil
	})
}
