// Package archive copies to Postgres everything the store eventually deletes: runs, their job logs
// and reruns, events, and sensor history. It never decides anything, and nothing in the controller
// waits for it. While Postgres is down the store simply keeps more data, and Backlog reports how
// much.
//
// Data reaches the archive in three ways. Events are read in order of position; the event cursor is
// written in the same transaction as the rows. The change feed names the runs and readings to copy;
// the archive reads it as a consumer group of its own. And because neither announces every job log
// line (a result that arrived too late, for example), all runs are swept once a day.
//
// Every row has a natural key, and writing it again has no effect. So a crash at any point, a lost
// cursor, or a store restored from a backup costs time but makes no duplicates. Retain says what
// Trim may delete. docs/ARCHIVE.md describes the tables and views.
package archive

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Name is the archive's consumer group in the feed, and the name of its event cursor.
const Name = "archive"

// source is the part of a store that the archive reads.
type source interface {
	store.Committer
	store.Reader
	store.Feed
}

// Archiver copies one store to one archive.
type Archiver struct {
	store    source
	dsn      string
	consumer string

	pass sync.Mutex     // held during a pass
	held []store.Change // received but not archived yet; the store does not deliver them again

	mu      sync.Mutex
	covered covered
}

// covered records what is known to be in the archive.
type covered struct {
	filled bool      // everything the store held when archiving began is archived
	swept  time.Time // all job logs up to this instant are archived
}

// New returns an archiver from s to the database at dsn. consumer names this process in the feed.
func New(s source, dsn, consumer string) (*Archiver, error) {
	if err := Check(dsn); err != nil {
		return nil, err
	}
	return &Archiver{store: s, dsn: dsn, consumer: consumer}, nil
}

// Report is the result of a pass. Rows counts the rows sent to Postgres, including rows it already
// had.
type Report struct {
	Rows int
	Busy bool // another process is copying; this pass did nothing
}

// Pass copies everything that is not archived yet. If a pass ends early, the next one resumes where
// it stopped.
func (a *Archiver) Pass(ctx context.Context, now time.Time) (Report, error) {
	a.pass.Lock()
	defer a.pass.Unlock()
	s, err := connect(ctx, a.dsn)
	if err != nil {
		return Report{}, err
	}
	defer s.close()
	mine, err := s.lock(ctx)
	if err != nil || !mine {
		return Report{Busy: err == nil}, err
	}
	scripts, err := migrations()
	if err != nil {
		return Report{}, err
	}
	if err := s.migrate(ctx, scripts); err != nil {
		return Report{}, err
	}
	p := &pass{archiver: a, session: s, now: now, ledger: newLedger(ctx, s, func() (*session, error) { return connect(ctx, a.dsn) }), seen: map[sensorID]int64{}, lately: map[run.Key]state{}}
	err = p.run(ctx)
	return Report{Rows: p.ledger.written}, together(err, p.ledger.close())
}

// together joins the two errors. If a failed batch ended the pass, both are the same error and it
// is reported once.
func together(err, writing error) error {
	if errors.Is(err, writing) {
		return err
	}
	return errors.Join(err, writing)
}

// sweepEvery is the interval between sweeps of all runs.
const sweepEvery = 24 * time.Hour

// The cursors, by name.
const (
	eventsCursor  = "events"
	changesCursor = "changes"
	filledCursor  = "backfill" // its time is when the backfill finished
	sweptCursor   = "sweep"    // its time is when the last sweep began
)

// pass is one round of copying.
type pass struct {
	archiver *Archiver
	session  *session
	now      time.Time
	ledger   *ledger
	seen     map[sensorID]int64 // per key, the last version that fill copied
	lately   map[run.Key]state  // runs copied recently
}

func (p *pass) run(ctx context.Context) error {
	if err := p.archiver.Begin(ctx, p.now); err != nil {
		return err
	}
	places, err := p.session.places(ctx)
	if err != nil {
		return err
	}
	here, err := p.archiver.store.Cursor(ctx, Name)
	if err != nil {
		return err
	}
	there, swept := store.Position(places[eventsCursor].position), places[sweptCursor]
	// A pass moves the archive's cursor first, then the store's. The store's cursor is 0 in a new
	// store, and behind in one restored from a backup; if it is ahead, the archive was restored.
	// Only the earlier cursor can be trusted, and the feed's changes in between are lost.
	after := min(here, there)
	if places[filledCursor].at.IsZero() {
		after = 0 // a pass that began before the backfill request may have written its cursor since
	}
	fill := after == 0 || here > there
	p.ledger.careful.Store(fill || here < there || len(p.archiver.held) > 0) // some rows may already be archived
	if fill {
		if err := p.fill(ctx); err != nil {
			return err
		}
	} else {
		p.archiver.cover(covered{filled: true, swept: swept.at})
	}
	if err := p.follow(ctx, after); err != nil {
		return err
	}
	return p.sweepIfDue(ctx, fill, swept.at)
}

func (a *Archiver) cover(c covered) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.covered = c
}

// followed marks a store that has been archived. The feed keeps changes for the archive's group
// even after the archive is removed, until Leave.
const followed = "archive/followed"

// Begin makes the store keep everything that is not archived yet. It does not need Postgres, and
// runs before the first Trim.
func (a *Archiver) Begin(ctx context.Context, now time.Time) error {
	if err := mark(ctx, a.store, now); err != nil {
		return err
	}
	at, err := a.store.Cursor(ctx, Name)
	if err != nil {
		return err
	}
	if err := a.store.SetCursor(ctx, Name, at); err != nil {
		return err
	}
	return a.store.Done(ctx, Name, nil)
}

func mark(ctx context.Context, s source, now time.Time) error {
	set, err := s.Marked(ctx, []string{followed})
	if err != nil || set[followed] {
		return err
	}
	b := store.Batch{ID: followed}
	b.SetMark(followed, time.Time{})
	if err := s.Commit(ctx, b, now); err != nil && !errors.Is(err, store.ErrConflict) {
		return err
	}
	return nil
}

// Leave makes a store whose archive was removed stop keeping events and changes for it. If an
// archive is added again later, everything is copied anew.
func Leave(ctx context.Context, s source, consumer string) error {
	set, err := s.Marked(ctx, []string{followed})
	if err != nil || !set[followed] {
		return err
	}
	if err := s.DropCursor(ctx, Name); err != nil {
		return err
	}
	for {
		changes, err := receive(ctx, s, consumer, 0)
		if err != nil || len(changes) == 0 {
			return err
		}
		if err := s.Done(ctx, Name, changes); err != nil {
			return err
		}
	}
}
