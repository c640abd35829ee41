// Package sqlite is the store of the embedded controller: one SQLite file in a data directory that belongs to one process.
// What was acknowledged has been written through to the disk. It never reads a clock and decides nothing.
//
// One goroutine owns the one connection that writes (writer.go) and commits whatever waits in its queue in one transaction;
// reads have connections of their own (read.go). Readings are appended to a log, which is the change feed and the history
// too, and are folded into their table behind (overlay.go, fold.go). Leases and what is handed out of the feed live in
// memory (lease.go, feed.go): they end with the process anyway. Where a batch is looked at and carried out: batch.go,
// commit.go. The tables are in migrations/.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/interlock-go/interlock/internal/datadir"
	"github.com/interlock-go/interlock/internal/store"
)

var _ store.Store = (*Store)(nil)

// fileName is the database's name in the data directory.
const fileName = "interlock.db"

// Options are what may differ between two stores. The zero value is ready to use.
type Options struct {
	Readers int   // connections that read; 4 if it is 0
	Reserve int64 // bytes of disk space that are freed when the disk is full; 0 for none

	reserve         reserve // set by tests in place of the one that Reserve asks for
	foldAfter       int     // rows; foldRows if it is 0
	foldStep        int     // rows; foldStep if it is 0
	checkpointAfter int     // pages; checkpointPages if it is 0
}

// Store is an open data directory.
type Store struct {
	*writer
	dir     *datadir.Dir
	readers *pool

	checks       sync.WaitGroup // of the file, beside the work
	stopChecking func()

	requests sync.Pool   // that were answered, to be used again by this store alone: a channel may belong to a bubble
	trimming atomic.Bool // the last Trim found something

	quit    chan struct{} // closed when the store is to close
	stopped chan struct{} // closed when the writer has ended
	closing sync.Once
	err     error // of Close
}

// Open takes the data directory dir for this process, creates it if need be, brings its schema up to date and reads what is
// not in the tables yet. A directory that another process has, a file that is damaged, of a newer version or not ours is an
// error, and is left as it was.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	taken, err := datadir.Take(dir)
	if err != nil {
		return nil, err
	}
	s, err := openDir(ctx, taken, o)
	if err != nil {
		_ = taken.Close() // the first error says more
		return nil, fmt.Errorf("open data directory %s: %w", taken.Path, err)
	}
	s.dir = taken
	go s.checkpointer.loop()
	checking, stop := context.WithCancel(context.Background())
	s.stopChecking = stop
	s.checks.Go(func() { s.check(checking) })
	go func() {
		s.loop(s.quit)
		close(s.stopped)
	}()
	return s, nil
}

// openDir opens the store of a directory with its reserve. A full disk is no reason not to start: the reserve that a process
// before this one has occupied is freed.
func openDir(ctx context.Context, dir *datadir.Dir, o Options) (*Store, error) {
	if o.reserve == nil {
		o.reserve = dir.Reserve(o.Reserve)
	}
	path := filepath.Join(dir.Path, fileName)
	if err := checkLog(path); err != nil {
		return nil, err
	}
	if err := createPrivate(path); err != nil {
		return nil, err
	}
	s, err := open(ctx, path, o)
	if isFull(err) && o.reserve.Take() == nil && o.reserve.Release() {
		s, err = open(ctx, path, o)
	}
	if err != nil {
		return nil, err
	}
	if err := o.reserve.Take(); err != nil && !errors.Is(err, datadir.ErrNoReserve) {
		return nil, errors.Join(err, s.conn.close(), s.checkpointer.conn.close())
	}
	return s, nil
}

// createPrivate creates an empty database file, unless there is one, that only this user may read. SQLite gives the files
// beside it the same permissions.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("database %s: it cannot be opened or created; check the directory and its permissions: %w", path, err)
	}
	return errors.Join(f.Close(), datadir.Private(path, path+"-wal", path+"-shm", path+markSuffix))
}

func open(ctx context.Context, path string, o Options) (_ *Store, err error) {
	c, err := connect(path, "rwc")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = c.close() // the first error says more
		}
	}()
	if err := setUp(ctx, c); err != nil {
		return nil, err
	}
	if err := truncateLog(ctx, c); err != nil {
		return nil, err
	}
	w, err := newWriter(c, o)
	if err != nil {
		return nil, err
	}
	// The write-ahead log is there by now: where the mark is and the log is not, it was removed.
	if err := errors.Join(markOpen(path), syncDir(filepath.Dir(path))); err != nil {
		return nil, err
	}
	if w.checkpointer, err = newCheckpointer(ctx, path, o.checkpointAfter); err != nil {
		return nil, err
	}
	return &Store{
		writer: w, readers: newPool(path, o.Readers),
		quit: make(chan struct{}), stopped: make(chan struct{}),
		requests: sync.Pool{New: func() any { return &request{done: make(chan error, 1)} }},
	}, nil
}

// setUp prepares the connection that writes. The version is looked at before anything is changed.
func setUp(ctx context.Context, c *conn) error {
	scripts, err := migrations()
	if err != nil {
		return err
	}
	if _, err := versionOf(c, len(scripts)); err != nil {
		return err
	}
	// synchronous=FULL makes every commit wait for the disk; for checkpoints see checkpointer.
	if err := c.run(ctx, `PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
		PRAGMA journal_size_limit = 67108864; PRAGMA wal_autocheckpoint = 0; PRAGMA foreign_keys = OFF; PRAGMA cache_size = -16000; PRAGMA temp_store = MEMORY`); err != nil {
		return err
	}
	return migrate(ctx, c, scripts)
}

// syncDir makes sure that files which were created in dir are found there after a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}

// open says whether the store still is.
func (s *Store) open() error {
	select {
	case <-s.quit:
		return errClosed
	default:
		return nil
	}
}

// Close finishes what was queued, files what is not in the tables yet, and lets go of the directory.
func (s *Store) Close() error {
	s.closing.Do(func() {
		close(s.quit)
		<-s.stopped
		s.stopChecking()
		s.checks.Wait()
		s.err = errors.Join(s.readers.close(), s.checkpointer.close(), s.finish())
		if s.err == nil {
			s.err = unmarkOpen(s.conn.path) // all is in the database
		}
		s.err = errors.Join(s.err, s.conn.close(), s.dir.Close())
	})
	return s.err
}
