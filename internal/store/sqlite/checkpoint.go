package sqlite

import (
	"cmp"
	"context"
	"errors"

	"modernc.org/sqlite"
)

// checkpointPages is how many pages of the write-ahead log trigger a checkpoint: 32 MB. Many of
// them are versions of the same page, which is copied once: with half as many, a sensor write costs
// 15 % more CPU time.
const checkpointPages = 8000

// checkpointer copies commits from the write-ahead log into the database file, in its own
// goroutine. SQLite would do it at the end of a commit, which would then take a hundred times as
// long as others.
//
// The log restarts with the first commit after it was completely copied, so that it does not grow.
// A checkpoint does not copy what is committed during it; the writer copies that small rest.
type checkpointer struct {
	conn  *conn
	after int // pages
	pages int // written since the last checkpoint
	wake  chan struct{}
	done  chan struct{}
	ended chan struct{}
}

func newCheckpointer(ctx context.Context, path string, after int) (*checkpointer, error) {
	c, err := connect(path, "rw")
	if err != nil {
		return nil, err
	}
	if err := c.run(ctx, "PRAGMA synchronous = FULL"); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return &checkpointer{
		conn: c, after: cmp.Or(after, checkpointPages),
		wake: make(chan struct{}, 1), done: make(chan struct{}, 1), ended: make(chan struct{}),
	}, nil
}

// loop runs until wake is closed.
func (k *checkpointer) loop() {
	defer close(k.ended)
	for range k.wake {
		checkpoint(k.conn)
		checkpoint(k.conn) // copies commits made during the first, to leave less for the writer
		k.done <- struct{}{}
	}
}

// checkpoint copies what it can without blocking. It ignores errors: the log stays as it is and is
// copied the next time, and a commit reports a full disk.
func checkpoint(c *conn) { _ = c.exec("PRAGMA wal_checkpoint(PASSIVE)") }

// committed is called by the writer after each commit. It starts a checkpoint when one is due.
func (k *checkpointer) committed(w *conn) {
	select {
	case <-k.done:
		checkpoint(w)
		k.pages = 0
	default:
	}
	before := k.pages
	k.pages += written(w)
	if before < k.after && k.pages >= k.after {
		k.wake <- struct{}{} // never blocks: at most one wake-up is pending
	}
}

// written returns how many pages a connection has written since the last call.
func written(c *conn) int {
	n, _, err := c.driver.(sqlite.DBStatus).Status(sqlite.DBStatusCacheWrite, true)
	if err != nil {
		return 1 // never happens; if it did, checkpoints would be rare
	}
	return n
}

// close waits for a running checkpoint. The writer must have ended.
func (k *checkpointer) close() error {
	close(k.wake)
	<-k.ended
	return k.conn.close()
}
