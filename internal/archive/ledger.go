package archive

import (
	"context"
	"sync"
)

// ahead is how many batches may wait to be written while their user reads on.
const ahead = 4

// ledger gathers rows until there are enough of them to be written at once. It writes while its user reads on, one batch
// after the other; once one of them fails, none that follows is written: a place further on would hide what is missing.
type ledger struct {
	waiting map[string]*rows
	count   int
	written int
	queue   chan batch
	ended   chan struct{}

	mu     sync.Mutex
	failed error // of the first batch that could not be written
}

// batch is what is written in one transaction.
type batch struct {
	rows   []rows
	places rows // how far that is; none if more rows belong to it
	done   chan error
}

// newLedger is a ledger that writes to s until it is closed.
func newLedger(ctx context.Context, s *session) *ledger {
	l := &ledger{waiting: map[string]*rows{}, queue: make(chan batch, ahead), ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		for b := range l.queue {
			err := l.err()
			if err == nil {
				err = s.write(ctx, b)
				l.fail(err)
			}
			b.done <- err
		}
	}()
	return l
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
	l.failed = err
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
