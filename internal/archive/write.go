package archive

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"
)

// write writes a batch in one transaction. Events and sensor writes are normally sent only once, so they go straight
// into their tables with COPY. If one of them exists already (after a crash, for example), the transaction fails, and
// the batch is written again with a conflict check on each row. So are all later batches: this way Postgres logs at
// most one such error per connection.
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

// comesOnce reports whether b has rows that can be written with COPY.
func (b batch) comesOnce() bool {
	for _, r := range b.rows {
		if r.table.once {
			return true
		}
	}
	return false
}

// isThere reports whether a row was rejected because its key exists.
func isThere(err error) bool {
	refused, answered := errors.AsType[*pgconn.PgError](err)
	return answered && refused.Code == "23505"
}

// compare inserts the rows that do not exist yet. ExecBatch sends all statements in one round trip, and Postgres runs
// them in one implicit transaction.
func (s *session) compare(ctx context.Context, b batch) error {
	return s.conn.ExecBatch(ctx, b.statements(b.rows)).Close()
}

// copy writes a batch with COPY where possible. It fails if one of the copied rows exists.
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

// noWait lets a commit return before it is on disk.
const noWait = "SELECT set_config('synchronous_commit', 'off', true)"

// statements inserts the given rows and b's cursors. A batch without cursors does not wait for the disk, because
// nothing relies on it yet: the next batch with cursors flushes all earlier ones too.
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
