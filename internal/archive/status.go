package archive

import (
	"context"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// Backlog describes the data that is not archived yet.
type Backlog struct {
	Changes int       `json:"changes"`
	Events  int       `json:"events"`          // counts up to store.MaxPage
	Oldest  time.Time `json:"oldest,omitzero"` // when the oldest of these was written
}

// Backlog asks only the store, so it works while Postgres is down.
func (a *Archiver) Backlog(ctx context.Context) (Backlog, error) {
	var b Backlog
	var err error
	if b.Changes, b.Oldest, err = a.store.Backlog(ctx, Name); err != nil {
		return b, err
	}
	at, err := a.store.Cursor(ctx, Name)
	if err != nil {
		return b, err
	}
	waiting, err := a.store.EventsAfter(ctx, at, store.MaxPage)
	if err != nil || len(waiting) == 0 {
		return b, err
	}
	b.Events = len(waiting)
	if first := waiting[0].Event.Time; b.Oldest.IsZero() || first.Before(b.Oldest) {
		b.Oldest = first
	}
	return b, nil
}

// slack is the clock skew allowed between replicas.
const slack = time.Hour

// Retain returns keep, extended for data that is not archived yet. Events need no extension: the
// archive's cursor protects them. Readings, runs and job logs are kept from the oldest entry of the
// backlog on, and runs and job logs also since the last sweep. If Postgres has not answered since the
// process started, all three are kept forever.
func (a *Archiver) Retain(ctx context.Context, keep store.Retention, now time.Time) (store.Retention, error) {
	a.mu.Lock()
	c := a.covered
	a.mu.Unlock()
	if !c.filled {
		keep.History, keep.JobLog, keep.Runs = 0, 0, 0
		return keep, nil
	}
	b, err := a.Backlog(ctx)
	if err != nil {
		return keep, err
	}
	if !b.Oldest.IsZero() {
		keep.History = longer(keep.History, now.Sub(b.Oldest)+slack)
		keep.JobLog = longer(keep.JobLog, now.Sub(b.Oldest)+slack)
		keep.Runs = longer(keep.Runs, now.Sub(b.Oldest)+slack)
	}
	keep.JobLog = longer(keep.JobLog, now.Sub(c.swept)+slack)
	keep.Runs = longer(keep.Runs, now.Sub(c.swept)+slack)
	return keep, nil
}

// longer returns the longer of two retention times; 0 means forever.
func longer(a, b time.Duration) time.Duration {
	if a == 0 {
		return 0
	}
	return max(a, b)
}

// Status describes the contents of the archive.
type Status struct {
	Rows    []Count `json:"rows"`
	Cursors []Place `json:"cursors"`
}

// Total returns the number of rows in all tables.
func (s Status) Total() (n int64) {
	for _, c := range s.Rows {
		n += c.Rows
	}
	return n
}

// Filled reports whether everything in the store has been copied since the last backfill was
// requested.
func (s Status) Filled() bool {
	return slices.ContainsFunc(s.Cursors, func(p Place) bool { return p.Name == filledCursor && !p.At.IsZero() })
}

// Count is the number of rows in a table.
type Count struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}

// Place is the position of a cursor, and when it was set.
type Place struct {
	Name     string    `json:"name"`
	Position int64     `json:"position"`
	At       time.Time `json:"at"`
}

// Read returns the status of the archive at dsn. An archive that was never written to is empty.
func Read(ctx context.Context, dsn string) (Status, error) {
	s, err := connect(ctx, dsn)
	if err != nil {
		return Status{}, err
	}
	defer s.close()
	there, err := s.begun(ctx)
	if err != nil || !there {
		return Status{}, err
	}
	var status Status
	for _, t := range tables {
		n, err := s.count(ctx, "SELECT count(*) FROM "+t.name)
		if err != nil {
			return status, fault(ctx, "count the rows of "+t.name, err)
		}
		status.Rows = append(status.Rows, Count{Table: t.name, Rows: n})
	}
	places, err := s.places(ctx)
	for _, name := range []string{eventsCursor, changesCursor, filledCursor, sweptCursor} {
		if p, there := places[name]; there {
			status.Cursors = append(status.Cursors, Place{Name: name, Position: p.position, At: p.at})
		}
	}
	return status, err
}

// begun reports whether the archive was ever written to.
func (s *session) begun(ctx context.Context) (there bool, err error) {
	said, err := s.one(ctx, "SELECT to_regclass('archive_version') IS NOT NULL")
	return said == yes, fault(ctx, "look for the tables", err)
}

// RequestBackfill makes the next pass, in whichever process, copy everything in the store: existing
// rows stay, and missing rows are added again. It deletes the cursors, without which nothing counts
// as archived.
func RequestBackfill(ctx context.Context, dsn string) error {
	s, err := connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer s.close()
	there, err := s.begun(ctx)
	if err != nil || !there {
		return err // the first pass copies everything anyway
	}
	return fault(ctx, "forget the cursors", s.do(ctx, "DELETE FROM cursors"))
}
