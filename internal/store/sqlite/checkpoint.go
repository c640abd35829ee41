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
// The log restarts with the first commit after it was completely copied, unless a read that began
// before still uses it. A checkpoint does not copy what is committed during it; the writer copies that
// small rest.
//
// Two things keep the log bounded, whatever the load. The writer waits for a checkpoint that runs
// while as many pages were written as started it. And where reads follow one another without a gap,
// none of the writer's chances to restart the log may fall into one: with twice as many pages in the
// log, the writer waits for the running reads, and copies the rest while no other begins. So the log
// has at most logLimit times the pages that start a checkpoint, and the largest commit. Only a backup,
// the check after the start and other processes may read longer, and let it grow meanwhile.
type checkpointer struct {
	conn    *conn
	readers *pool
	after   int  // pages
	pages   int  // written since the last checkpoint ended
	running bool // a checkpoint runs
	wake    chan struct{}
	done    chan struct{}
	ended   chan struct{}
}

// logLimit is how large the log may get, in multiples of the pages that start a checkpoint.
const logLimit = 4

func newCheckpointer(ctx context.Context, path string, after int, readers *pool) (*checkpointer, error) {
	c, err := connect(path, "rw")
	if err != nil {
		return nil, err
	}
	if err := c.run(ctx, "PRAGMA synchronous = FULL"); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return &checkpointer{
		conn: c, readers: readers, after: cmp.Or(after, checkpointPages),
		wake: make(chan struct{}, 1), done: make(chan struct{}, 1), ended: make(chan struct{}),
	}, nil
}

// loop runs until wake is closed.
func (k *checkpointer) loop() {
	defer close(k.ended)
	for range k.wake {
		_ = checkpoint(k.conn)
		_ = checkpoint(k.conn) // copies commits made during the first, to leave less for the writer
		k.done <- struct{}{}
	}
}

// checkpoint copies what it can without blocking, and returns how many pages the log has. It ignores
// errors: the log stays as it is and is copied the next time, and a commit reports a full disk.
func checkpoint(c *conn) (pages int) {
	_ = c.query("PRAGMA wal_checkpoint(PASSIVE)", func(v values) error {
		pages = int(v.int(1))
		return nil
	})
	return pages
}

// committed is called by the writer after each commit. It starts a checkpoint when one is due.
func (k *checkpointer) committed(w *conn) {
	k.pages += written(w)
	switch {
	case !k.running && k.pages >= k.after:
		k.running = true
		k.pages = 0
		k.wake <- struct{}{} // never blocks: at most one wake-up is pending
	case k.running && k.pages >= k.after:
		<-k.done
		k.copied(w)
	case k.running:
		select {
		case <-k.done:
			k.copied(w)
		default:
		}
	}
}

// copied copies the rest after a checkpoint.
func (k *checkpointer) copied(w *conn) {
	k.running, k.pages = false, 0
	if checkpoint(w) < logLimit/2*k.after {
		return
	}
	k.readers.pausing.Lock()
	defer k.readers.pausing.Unlock()
	_ = checkpoint(w)
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
