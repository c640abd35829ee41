package archive

import (
	"context"
	"sync"
	"sync/atomic"
)

// ahead is how many batches may wait to be written while their user reads on.
const ahead = 4

// ledger gathers rows until there are enough of them to be written at once. It writes while its user reads on, two batches at a
// time where there are many; but one that says how far that is only when all before it are written, and none if one of them
// failed: a place further on would hide what is missing.
type ledger struct {
	waiting map[string]*rows
	count   int
	written int
	queue   chan batch
	ended   chan struct{}
	careful atomic.Bool // rows may be there already, whatever their table

	free   chan *session            // connections that nobody writes to
	second func() (*session, error) // opens another one; nil once that was tried
	extra  *session                 // which it opened
	busy   sync.WaitGroup

	mu     sync.Mutex
	failed error // of the first batch that could not be written
}

// batch is what is written in one transaction.
type batch struct {
	rows   []rows
	places rows // how far that is; none if more rows belong to it
	done   chan error
}

// newLedger is a ledger that writes to s until it is closed, and to a second connection once it has much to write.
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

// dispatch has a batch written.
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

// session is a connection that nobody writes to. The second is opened when it is first missed; where Postgres will not have it,
// one has to do.
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

// err is what could not be written so far: whoever reads much looks at it now and then.
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

// close waits until everything is written, and says what could not be.
func (l *ledger) close() error {
	close(l.queue)
	<-l.ended
	return l.err()
}

// add puts a row with the others, and hands them on to be written if they are enough. No run may be added twice between two
// writes.
func (l *ledger) add(t table, r row) {
	w := l.waiting[t.name]
	if w == nil {
		w = &rows{table: t}
		l.waiting[t.name] = w
	}
	w.rows = append(w.rows, r)
	if l.count++; l.count >= MaxRows {
		l.begin(rows{table: cursors})
	}
}

// begin hands on what there is, together with how far that is, to be written in one transaction. The answer comes when it
// and all before it are written, or cannot be.
func (l *ledger) begin(places rows) <-chan error {
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

// write stores what there is, together with how far that is.
func (l *ledger) write(places rows) error { return <-l.begin(places) }
