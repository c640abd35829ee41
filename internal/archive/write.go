package archive

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"
)

// write stores a batch in one transaction. Events and writes of sensors come once, as a rule, so they are copied straight into
// their tables. If one of them is there already, after a crash say, nothing of the batch is kept: it is written anew, with a
// look at each row, and so are all that begin after it: Postgres logs one such error of each connection at most.
func (s *session) write(ctx context.Context, b batch, careful *atomic.Bool) error {
	limited, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	if careful.Load() || !b.comesOnce() {
		return fault(ctx, "write rows", s.compare(limited, b))
	}
	err := s.copy(limited, b)
	if isThere(err) {
		careful.Store(true)
		err = s.compare(limited, b)
	}
	return fault(ctx, "write rows", err)
}

// comesOnce says whether b has rows that can be copied.
func (b batch) comesOnce() bool {
	for _, r := range b.rows {
		if r.table.once {
			return true
		}
	}
	return false
}

// isThere says whether a row was refused because there is one with its key.
func isThere(err error) bool {
	refused, answered := errors.AsType[*pgconn.PgError](err)
	return answered && refused.Code == "23505"
}

// compare passes over the rows that are there. It is one exchange, which without a transaction of its own is one.
func (s *session) compare(ctx context.Context, b batch) error {
	return s.conn.ExecBatch(ctx, b.statements(b.rows)).Close()
}

// copy fails if one of the rows that come once is there.
func (s *session) copy(ctx context.Context, b batch) error {
	return s.transact(ctx, func(ctx context.Context) error {
		var others []rows
		for _, r := range b.rows {
			if !r.table.once {
				others = append(others, r)
				continue
			}
			if _, err := s.conn.CopyFrom(ctx, bytes.NewReader(r.lines()), r.table.copy); err != nil {
				return err
			}
		}
		return s.conn.ExecBatch(ctx, b.statements(others)).Close()
	})
}

// noWait lets a transaction be over before it is on the disk.
const noWait = "SELECT set_config('synchronous_commit', 'off', true)"

// statements write some of b's rows, and its places. Where b does not say how far it is nobody relies on it yet, and Postgres
// need not wait for the disk: it will with the next one that does, for all before it.
func (b batch) statements(some []rows) *pgconn.Batch {
	var all pgconn.Batch
	if len(b.places.rows) == 0 {
		all.ExecParams(noWait, nil, nil, nil, nil)
	} else {
		some = append(some[:len(some):len(some)], b.places)
	}
	for _, r := range some {
		all.ExecParams(r.table.insert, r.arrays(), nil, nil, nil)
	}
	return &all
}
