// Package sqlite is the store of the embedded controller: one SQLite file in a data directory used
// by one process. An acknowledged transaction is durable on disk.
//
// One goroutine owns the connection that writes (writer.go). It commits all queued transactions
// together, with one fsync. Reads have their own connections (read.go). The tables are in
// migrations/.
package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/interlock-go/interlock/internal/datadir"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/record"
	"github.com/interlock-go/interlock/internal/store/row"
)

var _ row.Engine = (*Engine)(nil)

// fileName is the name of the database in the data directory.
const fileName = "interlock.db"

// Options configure an engine. The zero value is ready to use.
type Options struct {
	Reserve   int64 // bytes of disk space to reserve and free when the disk is full; 0 for none
	MustExist bool  // refuse a directory without a database
	New       bool  // begin a new database although the directory belonged to one that is gone

	reserve         reserve // set by tests instead of Reserve
	checkpointAfter int     // pages; 0 means checkpointPages
}

// Engine is an open data directory.
type Engine struct {
	*writer
	dir     *datadir.Dir
	readers *pool
	self    string
	numbers numbers

	checks       sync.WaitGroup // background checks of the file
	stopChecking func()

	requests sync.Pool // reused requests; per engine, because a channel may belong to a synctest bubble

	quit    chan struct{} // closed when the engine starts to close
	stopped chan struct{} // closed when the writer has ended
	closing sync.Once
	err     error // result of Close
}

// OpenEngine locks the data directory dir for this process, creates it if necessary and migrates
// its schema. It fails, and changes nothing, if another process has locked the directory, or if the
// file is damaged, of a newer version or not Interlock's.
func OpenEngine(ctx context.Context, dir string, o Options) (*Engine, error) {
	taken, err := datadir.Take(dir)
	if err != nil {
		return nil, err
	}
	e, err := openDir(ctx, taken, o)
	if err != nil {
		_ = taken.Close() // the first error is more useful
		return nil, fmt.Errorf("open data directory %s: %w", taken.Path, err)
	}
	e.dir = taken
	go e.checkpointer.loop()
	checking, stop := context.WithCancel(context.Background())
	e.stopChecking = stop
	e.checks.Go(func() { e.check(checking) })
	go func() {
		e.loop(e.quit)
		close(e.stopped)
	}()
	return e, nil
}

// openDir opens the database of a directory and takes its reserve. It starts even if the disk is
// full: then it frees the reserve taken by an earlier process.
func openDir(ctx context.Context, dir *datadir.Dir, o Options) (*Engine, error) {
	if o.reserve == nil {
		o.reserve = dir.Reserve(o.Reserve)
	}
	path := filepath.Join(dir.Path, fileName)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // SQLite keeps the log beside it
	}
	if err := o.checkThere(dir, path); err != nil {
		return nil, err
	}
	if err := errors.Join(checkLog(path), checkReplay(path)); err != nil {
		return nil, err
	}
	if err := createPrivate(path); err != nil {
		return nil, err
	}
	e, err := open(ctx, path, o)
	if isFull(err) && o.reserve.Take() == nil && o.reserve.Release() {
		e, err = open(ctx, path, o)
	}
	if err != nil {
		return nil, err
	}
	if err := o.reserve.Take(); err != nil && !errors.Is(err, datadir.ErrNoReserve) {
		return nil, errors.Join(err, e.readers.close(), e.conn.close(), e.checkpointer.conn.close())
	}
	return e, nil
}

// createPrivate creates an empty database file that only this user may read, unless the file
// exists. SQLite gives the files beside it the same permissions.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return cannotOpen(path, err)
	}
	return errors.Join(f.Close(), datadir.Private(path, path+"-wal", path+"-shm", path+markSuffix))
}

func open(ctx context.Context, path string, o Options) (_ *Engine, err error) {
	c, err := connect(path, "rwc")
	if err != nil {
		return nil, err
	}
	e := &Engine{
		readers: newPool(path), self: rand.Text(),
		quit: make(chan struct{}), stopped: make(chan struct{}),
		requests: sync.Pool{New: func() any { return &request{done: make(chan error, 1)} }},
	}
	defer func() {
		if err != nil {
			_ = errors.Join(e.readers.close(), c.close()) // the first error is more useful
		}
	}()
	if err := setUp(ctx, c); err != nil {
		return nil, err
	}
	if err := markOpen(path); err != nil {
		return nil, err
	}
	if err := truncateLog(ctx, c); err != nil {
		return nil, err
	}
	if e.writer, err = newWriter(c, o.reserve); err != nil {
		return nil, err
	}
	if e.numbers.last, err = c.number("SELECT value FROM meta WHERE name = 'number'"); err != nil {
		return nil, err
	}
	e.numbers.reserved = e.numbers.last
	if err := e.restoreGroups(ctx); err != nil {
		return nil, err
	}
	if err := datadir.Sync(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if e.files, err = statFiles(path); err != nil {
		return nil, err
	}
	e.checkpointer, err = newCheckpointer(ctx, path, o.checkpointAfter, e.readers)
	return e, err
}

// setUp configures the connection that writes. It checks the file's version before it changes
// anything.
func setUp(ctx context.Context, c *conn) error {
	scripts, err := migrations()
	if err != nil {
		return err
	}
	if _, err := versionOf(c, len(scripts)); err != nil {
		return err
	}
	// synchronous=FULL makes every commit wait for the disk. For checkpoints see checkpointer.
	if err := c.run(ctx, `PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
		PRAGMA journal_size_limit = 67108864; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -16000;
		PRAGMA temp_store = MEMORY`); err != nil {
		return err
	}
	return migrate(ctx, c, scripts)
}

// isOpen returns row.ErrClosed once the engine is closing.
func (e *Engine) isOpen() error {
	select {
	case <-e.quit:
		return row.ErrClosed
	default:
		return nil
	}
}

// Peers reports that this is the only process, with a name that no process had before.
func (e *Engine) Peers() row.Peers { return row.Peers{Self: e.self} }

// Changed returns the same channel to all waiters of a topic.
func (e *Engine) Changed(t row.Topic) <-chan struct{} {
	if t == row.TaskTopic {
		return e.tasksChanged.Next()
	}
	return e.eventsChanged.Next()
}

// Close commits queued transactions, checkpoints all commits into the database file and unlocks the
// directory.
func (e *Engine) Close() error {
	e.closing.Do(func() {
		close(e.quit)
		e.Groups.Close()
		<-e.stopped
		e.stopChecking()
		e.checks.Wait()
		e.err = errors.Join(e.readers.close(), e.checkpointer.close(), e.finish())
		if e.err == nil {
			e.err = unmarkOpen(e.conn.path) // everything is in the database file
		} else {
			_ = markOpen(e.conn.path) // closing the connection may empty the log
		}
		e.err = errors.Join(e.err, e.conn.close(), e.dir.Close())
	})
	return e.err
}

// finish saves in-memory state and truncates the write-ahead log. After a crash without it,
// acknowledged changes are received again, and some numbers are never used.
func (e *Engine) finish() error {
	return e.condition.withReserve(func() error {
		if e.numbers.last < e.numbers.reserved || len(e.progress.all()) > 0 {
			done := make(chan error, 1)
			e.commit([]*request{{ctx: context.Background(), op: reservation(e.numbers.last), done: done}})
			if err := <-done; err != nil {
				return err
			}
		}
		if err := markOpen(e.conn.path); err != nil {
			return err
		}
		return e.conn.run(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
	})
}

// Store is the store of an open data directory.
type Store struct {
	*record.Store
	engine *Engine
}

// Open opens the store of a data directory: see OpenEngine. The directory belongs to it from then
// on.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	e, err := OpenEngine(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	s := &Store{record.New(e, record.Options{Alone: true}), e}
	id, err := store.Identity(ctx, s, time.Now())
	if err == nil {
		err = e.dir.Own(id, o.New)
	}
	if isFull(err) || errors.Is(err, syscall.ENOSPC) {
		err = nil // the next start names it
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Backup writes a copy of the database to path: see Engine.Backup.
func (s *Store) Backup(ctx context.Context, path string) error { return s.engine.Backup(ctx, path) }

// Trouble returns why the store accepts no external changes: see Engine.Trouble.
func (s *Store) Trouble() error { return s.engine.Trouble() }

// Probe tests whether the store accepts changes: see Engine.Probe.
func (s *Store) Probe(ctx context.Context) error { return s.engine.Probe(ctx) }
