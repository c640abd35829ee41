package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/interlock-go/interlock/internal/datadir"
	"github.com/interlock-go/interlock/internal/store"
)

const damageRemedy = "the database is damaged or no database at all, and was left as it is; " +
	"stop the controller and put a backup in its place with interlock restore, or run interlock repair, which saves what can still be read"

func cannotOpen(path string, err error) error {
	return fmt.Errorf("database %s: it cannot be opened or created; check the directory and its permissions: %w",
		path, err)
}

// fault adds the file's path to an SQLite error. An error that a person can fix becomes a
// store.Fault.
func fault(path string, err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return fmt.Errorf("database %s: %w", path, err)
	}
	kind, remedy := store.FaultKind(""), ""
	code := e.Code() & 0xff
	if e.Code() == lib.SQLITE_IOERR_SHMSIZE {
		code = lib.SQLITE_FULL // the index of the write-ahead log could not grow
	}
	switch code {
	case lib.SQLITE_FULL:
		kind = store.Full
		remedy = "there is no space left on the disk of the data directory; " +
			"what was acknowledged is safe; free some space"
	case lib.SQLITE_READONLY:
		kind = store.ReadOnly
		remedy = "the database cannot be written to; give this user write permission on the file and its directory"
	case lib.SQLITE_IOERR:
		kind = store.Failing
		remedy = "the disk of the data directory returns errors; check the disk and its file system"
	case lib.SQLITE_NOTADB, lib.SQLITE_CORRUPT:
		kind, remedy = store.Damaged, damageRemedy
	case lib.SQLITE_CANTOPEN:
		return cannotOpen(path, err)
	default:
		return fmt.Errorf("database %s: %w", path, err)
	}
	return fmt.Errorf("database %s: %w", path, &store.Fault{Kind: kind, Remedy: remedy, Err: err})
}

// isFull reports whether err says that the disk is full.
func isFull(err error) bool {
	f := store.FaultOf(err)
	return f != nil && f.Kind == store.Full
}

// isDamage reports whether err says that the file is damaged.
func isDamage(err error) bool {
	f := store.FaultOf(err)
	return f != nil && f.Kind == store.Damaged
}

// reserve is disk space that the writer frees when the disk is full: see datadir.Reserve.
type reserve interface {
	Take() error
	Held() bool
	Release() bool
}

// condition records what keeps the store from storing changes, as far as known.
type condition struct {
	reserve reserve

	mu      sync.Mutex
	damage  *store.Fault // stays until the file is replaced
	failure *store.Fault // fault of the last commit; nil if it succeeded
	commits int          // successful commits since the last Probe
}

var inReserve = store.Fault{
	Kind: store.Full,
	Remedy: "less space is left on the disk of the data directory than data.reserve; " +
		"what is left is kept for deadlines and alerts, and changes from outside are refused; free some space",
}

// record records the result of a commit. An error about the change itself, not the store, is
// ignored.
func (c *condition) record(err error) {
	f := store.FaultOf(err)
	if err != nil && f == nil {
		return
	}
	c.recordDamage(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure = f; f == nil {
		c.commits++
	}
}

// recordDamage records that a read failed because the file is damaged.
func (c *condition) recordDamage(err error) {
	if isDamage(err) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.damage = store.FaultOf(err)
	}
}

// proved reports whether a commit has succeeded since the last call.
func (c *condition) proved() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	proved := c.commits > 0 && c.failure == nil
	c.commits = 0
	return proved
}

// Trouble returns why the store accepts no external changes, as a store.Fault, or nil if it does.
// It reads no file.
func (e *Engine) Trouble() error {
	if err := e.files.lost(); err != nil {
		return err
	}
	e.condition.mu.Lock()
	defer e.condition.mu.Unlock()
	if e.condition.damage != nil {
		return e.condition.damage
	}
	if e.condition.failure != nil {
		return e.condition.failure
	}
	if !e.condition.reserve.Held() {
		return &inReserve
	}
	return nil
}

// Probe stores a change, unless another commit has succeeded since the last Probe, and takes the
// reserve again if there is space. It returns Trouble, or another error if it could not find out.
func (e *Engine) Probe(ctx context.Context) error {
	if !e.condition.proved() {
		if err := e.write(ctx, probe{}, 1); err != nil && store.FaultOf(err) == nil {
			return err
		}
	}
	if e.Trouble() == error(&inReserve) {
		if err := e.condition.reserve.Take(); err != nil && !errors.Is(err, datadir.ErrNoReserve) {
			return err
		}
	}
	return e.Trouble()
}

// probe is a dummy change. It replaces the previous one, so the file does not grow.
type probe struct{}

func (probe) do(tx *tx) error {
	_, err := tx.change(`INSERT INTO meta (name, value) VALUES ('probe', 1)
		ON CONFLICT DO UPDATE SET value = value + 1`)
	return err
}

// withReserve calls write. If the disk is full, it frees the reserve and calls write again.
func (c *condition) withReserve(write func() error) error {
	err := write()
	if isFull(err) && c.reserve.Release() {
		err = write()
	}
	return err
}
