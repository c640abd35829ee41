package archive

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"
)

// ahead is how many batches may be queued while the caller reads on.
const ahead = 4

// ledger collects rows into batches and writes them in the background, over two connections under
// load. A batch that moves a cursor waits until all earlier batches are written, and is not written
// if one of them failed: otherwise the cursor would skip rows.
type ledger struct {
	waiting map[string]*rows
	count   int
	written int
	queue   chan batch
	ended   chan struct{}
	careful atomic.Bool // rows may already exist, so COPY must not be used

	free   chan *session            // idle connections
	second func() (*session, error) // opens a second connection; nil once tried
	extra  *session                 // the second connection, if open
	busy   sync.WaitGroup

	mu     sync.Mutex
	failed error // the error of the first batch that failed
}

// batch is a set of rows written in one transaction.
type batch struct {
	rows   []rows
	places rows // the cursors after this batch; none if more rows must follow first
	done   chan error
}

// newLedger returns a ledger that writes to s until it is closed. It opens a second connection when
// s is busy.
func newLedger(ctx context.Context, s *session, second func() (*session, error)) *ledger {
	l := &ledger{waiting: map[string]*rows{}, queue: make(chan batch, ahead), ended: make(chan struct{}), free: make(chan *session, 2), second: second}
	l.free <- s
	go func() {
		defer close(l.ended)
		for b := range l.queue {
			l.dispatch(ctx, b)
		}
		l.busy.Wait()
		if l.extra != nil {
			l.extra.close()
		}
	}()
	return l
}

// dispatch writes a batch in the background.
func (l *ledger) dispatch(ctx context.Context, b batch) {
	if len(b.places.rows) > 0 {
		l.busy.Wait()
	}
	s := l.session()
	l.busy.Go(func() {
		err := l.err()
		if err == nil {
			err = s.write(ctx, b, &l.careful)
			l.fail(err)
		}
		l.free <- s
		b.done <- err
	})
}

// session returns an idle connection. It opens the second one when first needed; if Postgres
// rejects it, one connection has to do.
func (l *ledger) session() *session {
	select {
	case s := <-l.free:
		return s
	default:
	}
	if l.second != nil {
		s, err := l.second()
		l.second = nil
		if err == nil {
			l.extra = s
			return s
		}
	}
	return <-l.free
}

// err returns the first write error so far. Callers that read a lot check it between pages, to stop
// early.
func (l *ledger) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

func (l *ledger) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = err
	}
}

// close waits until everything is written, and returns the first write error.
func (l *ledger) close() error {
	close(l.queue)
	<-l.ended
	return l.err()
}

// add adds a row to the current batch, and queues the batch if it is full. The same run must not be
// added twice to one batch.
func (l *ledger) add(t table, r row) {
	w := l.waiting[t.name]
	if w == nil {
		w = &rows{table: t}
		l.waiting[t.name] = w
	}
	w.rows = append(w.rows, r)
	if l.count++; l.count >= MaxRows {
		l.queueBatch(rows{table: cursors})
	}
}

// queueBatch queues the current batch, with its cursors, to be written in one transaction. The
// channel receives the result of that batch; if it has cursors, all earlier batches are written by
// then.
func (l *ledger) queueBatch(places rows) <-chan error {
	b := batch{places: places, done: make(chan error, 1)}
	for _, t := range tables {
		if w := l.waiting[t.name]; w != nil {
			b.rows = append(b.rows, *w)
		}
	}
	l.written += l.count
	l.count = 0
	clear(l.waiting)
	l.queue <- b
	return b.done
}

// write queues the current batch with its cursors, and waits until it is written.
func (l *ledger) write(places rows) error { return <-l.queueBatch(places) }

// write writes a batch in one transaction. Events and sensor writes are normally sent only once, so
// they go straight into their tables with COPY. If one of them exists already (after a crash, for
// example), the transaction fails, and the batch is written again with a conflict check on each
// row. So are all later batches: this way Postgres logs at most one such error per connection.
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

// compare inserts the rows that do not exist yet. ExecBatch sends all statements in one round trip,
// and Postgres runs them in one implicit transaction.
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

// statements inserts the given rows and b's cursors. A batch without cursors does not wait for the
// disk, because nothing relies on it yet: the next batch with cursors flushes all earlier ones too.
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
