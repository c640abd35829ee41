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

// lockKey is the advisory lock ("ilck") of whoever copies: of several controllers one does at a time. It goes with the
// connection, however that ends.
const lockKey = 0x696c636b

// Check says whether dsn can be a connection string. What it says holds nothing of it.
func Check(dsn string) error {
	_, err := config(dsn)
	return err
}

func config(dsn string) (*pgconn.Config, error) {
	c, err := pgconn.ParseConfig(dsn)
	if err != nil || dsn == "" {
		return nil, errors.New("archive: the connection string is not understood; write postgres://user:password@host:5432/database?sslmode=verify-full")
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

// lock says whether this session is the one that may copy.
func (s *session) lock(ctx context.Context) (mine bool, err error) {
	said, err := s.one(ctx, fmt.Sprintf("SELECT pg_try_advisory_lock(%d)", lockKey))
	return said == yes, fault(ctx, "take the lock", err)
}

// close gives the lock back and hangs up. Nothing depends on Postgres hearing of it, but that the lock is free at once.
func (s *session) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	_ = s.do(ctx, "SELECT pg_advisory_unlock_all()")
	_ = s.conn.Close(ctx)
}

// place is how far something has come.
type place struct {
	position int64
	at       time.Time
}

// places reads all of them.
func (s *session) places(ctx context.Context) (map[string]place, error) {
	said, err := s.ask(ctx, "SELECT name, position, (extract(epoch FROM at) * 1000000)::bigint FROM cursors")
	found := map[string]place{}
	for _, row := range said {
		found[row.text(0)] = place{row.number(1), time.UnixMicro(row.number(2)).UTC()}
	}
	return found, fault(ctx, "read the cursors", err)
}

// within runs f in one transaction.
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
