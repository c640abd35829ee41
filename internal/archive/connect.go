package archive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	connectLimit = 10 * time.Second
	writeLimit   = time.Minute
	closeLimit   = 5 * time.Second
)

// lockKey is the advisory lock ("ilck") that lets only one controller copy at a time. Postgres frees it when the
// connection ends, for whatever reason.
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

// close releases the lock and closes the connection. Errors do not matter: releasing only frees the lock sooner.
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
