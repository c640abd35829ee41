package sqlite

import (
	"cmp"
	"context"
	"errors"

	"modernc.org/sqlite"
)

// checkpointPages is how many pages of the write-ahead log make a checkpoint worth while: 16 MB. Many of them are the same
// page again, which is brought over once.
const checkpointPages = 4000

// checkpointer brings what was committed from the write-ahead log into the database file, beside the writer. SQLite would
// do it at the end of whichever commit comes next, which then takes a hundred times as long as the others.
//
// The log begins anew with the first commit that finds all of it brought over, so that it does not grow. What is committed
// during a checkpoint is not brought over by it; that little piece the writer adds himself.
type checkpointer struct {
	conn  *conn
	after int // pages
	pages int // that were written since the last
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
	return &checkpointer{conn: c, after: cmp.Or(after, checkpointPages), wake: make(chan struct{}, 1), done: make(chan struct{}, 1), ended: make(chan struct{})}, nil
}

// loop works until wake is closed.
func (k *checkpointer) loop() {
	defer close(k.ended)
	for range k.wake {
		checkpoint(k.conn)
		checkpoint(k.conn) // what was committed meanwhile, so that less is left for the writer
		k.done <- struct{}{}
	}
}

// checkpoint brings over what it can without waiting for anybody. An error harms nothing and is left alone: the log stays
// as it is and is brought over the next time, and where there is no space left a commit says so.
func checkpoint(c *conn) { _ = c.exec("PRAGMA wal_checkpoint(PASSIVE)") }

// tend is called by the writer after each commit.
func (k *checkpointer) tend(w *conn) {
	select {
	case <-k.done:
		checkpoint(w)
		k.pages = 0
	default:
	}
	before := k.pages
	k.pages += written(w)
	if before < k.after && k.pages >= k.after {
		k.wake <- struct{}{} // it is idle: it has been told so once since it was done
	}
}

// written is how many pages a connection has written since it was last asked.
func written(c *conn) int {
	n, _, err := c.driver.(sqlite.DBStatus).Status(sqlite.DBStatusCacheWrite, true)
	if err != nil {
		return 1 // SQLite knows the question; if it should not, checkpoints are rare
	}
	return n
}

// close waits for a checkpoint that is under way. The writer has ended.
func (k *checkpointer) close() error {
	close(k.wake)
	<-k.ended
	return k.conn.close()
}
