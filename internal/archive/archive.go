// Package archive copies what the store forgets one day to Postgres: runs, their job logs and reruns, events, and the
// history of sensors. It never decides anything and nothing in the controller waits for it: while Postgres is away the
// store simply keeps more, and the backlog can be seen.
//
// Three ways lead there. Events are followed by position; the place is written in the same transaction as the rows. The
// feed of changes names the runs and readings to copy, under a group of the archive's own. And because a few lines of a
// job log are announced by neither (a result that came too late, say), all runs are looked through once a day.
//
// Every row has a natural key and is written once, whoever sends it again: so a crash at any point, a lost cursor, or a
// store that was restored from a backup costs time and makes no duplicates. What Trim may forget is asked of Retain.
// docs/ARCHIVE.md describes the tables and views.
package archive

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Name is the archive's place in the feed, and the name of its cursor among the events.
const Name = "archive"

// source is what the archive asks of a store.
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

	pass sync.Mutex     // held by the one that copies
	held []store.Change // received, and not archived yet: the store does not give them again

	mu      sync.Mutex
	covered covered
}

// covered is what is known to be in the archive.
type covered struct {
	filled bool      // what was there when the archive began is in it
	swept  time.Time // all job logs up to here are in it
}

// New is an archiver from s to the database of dsn; consumer names this process in the feed.
func New(s source, dsn, consumer string) (*Archiver, error) {
	if err := Check(dsn); err != nil {
		return nil, err
	}
	return &Archiver{store: s, dsn: dsn, consumer: consumer}, nil
}

// Report is what a pass has copied: how many rows were handed to Postgres, which may have had them.
type Report struct {
	Rows int
	Busy bool // another process copies at this moment; nothing was done
}

// Pass copies everything that is not archived yet. One that ended early goes on, the next time, where it ended.
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

// together is what went wrong; a batch that could not be written is told once, though it also ended the pass.
func together(err, writing error) error {
	if errors.Is(err, writing) {
		return err
	}
	return errors.Join(err, writing)
}

// sweepEvery is how often all runs are looked through.
const sweepEvery = 24 * time.Hour

// The cursors, by name.
const (
	eventsCursor  = "events"
	changesCursor = "changes"
	filledCursor  = "backfill" // its instant is when everything had been copied
	sweptCursor   = "sweep"    // its instant is when the last look at all runs began
)

// pass is one round of copying.
type pass struct {
	archiver *Archiver
	session  *session
	now      time.Time
	ledger   *ledger
	seen     map[sensorID]int64 // the writes of a key up to here were copied by a fill
	lately   map[run.Key]state  // the runs that were copied
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
	// The store's place comes after the archive's. It is 0 in a store that was set up anew, and behind in one that was
	// restored from a backup; where it is ahead, the archive was. Only the earlier one can be trusted, and what the feed
	// told in between is gone.
	after := min(here, there)
	if places[filledCursor].at.IsZero() {
		after = 0 // also if a pass that had begun before a backfill was asked for has written its place since
	}
	fill := after == 0 || here > there
	p.ledger.careful.Store(fill || here < there || len(p.archiver.held) > 0) // some of it was sent before
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
