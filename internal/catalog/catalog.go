// Package catalog holds the pipeline definitions that are in force and decides, when files change, which of them are
// accepted, rejected or removed. What is in force is stored, so that it survives a bad edit and a restart; in memory
// it is one immutable Snapshot behind a pointer.
//
// It neither reads files nor waits for them to settle: the host hands over their texts. What follows from a new
// version (periods to open, deadlines to arm) is stored as tasks in the commit that accepts it.
package catalog

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/source"
	"github.com/interlock-go/interlock/internal/store"
)

// keeper is what the catalog needs of a store.
type keeper interface {
	Commit(ctx context.Context, b store.Batch, now time.Time) error
	Pipeline(ctx context.Context, id pipeline.ID) (store.Pipeline, error)
	Pipelines(ctx context.Context) ([]store.Pipeline, error)
	Config(ctx context.Context, id pipeline.ID, version string) (store.Config, error)
	Notes(ctx context.Context, kind store.NoteKind) ([]store.Note, error)
}

// Catalog is the definitions in force. It is safe for concurrent use.
type Catalog struct {
	store   keeper
	kinds   []pipeline.JobKind
	place   place
	current atomic.Pointer[Snapshot]
	change  sync.Mutex                 // held by whoever makes a new Snapshot
	beside  string                     // the calendars and archetypes that files were last read with, as a hash
	refused map[string]pipeline.Source // the files that were last refused, by name
	older   *shelf
	read    atomic.Pointer[[]File] // the files as they were last judged
	shared  bool                   // others may store files, too: see Share
	seen    atomic.Pointer[Seen]   // never changed in place

	troubles atomic.Pointer[[]Trouble] // never changed in place

	progress *Progress // nil: nothing is counted

	sourceFiles sourceFiles
	sources     atomic.Pointer[source.Set]
}

// New makes an empty catalog; Load fills it.
func New(s keeper, kinds []pipeline.JobKind) *Catalog {
	c := &Catalog{store: s, kinds: kinds, older: newShelf(maxOlder)}
	c.current.Store(newSnapshot(nil, nil))
	c.seen.Store(&Seen{})
	c.sources.Store(source.NewSet(nil))
	return c
}

// Current is what is in force now. It never changes; ask again for what came later.
func (c *Catalog) Current() *Snapshot { return c.current.Load() }

// Files are all pipeline, calendar, archetype and source files that there are. Gone are pipeline and source files that were there until just
// now and may come back: they count as if they were as they were last. Modified is when each file was, by its name; only
// replicas need it. Folders are the paths that pipelines are read from; where they are given, a folder that loses most of its
// files removes nothing: see Trouble.
type Files struct {
	Pipelines  []pipeline.Source
	Calendars  []pipeline.Source
	Archetypes []pipeline.Source
	Sources    []pipeline.Source
	Gone       []string
	Modified   map[string]time.Time
	Folders    []string
	// Since, where it is set, is when the first of the new files was put where they are read from, if that was before now: a
	// pipeline that was not in force accepts what was written from then on.
	Since time.Time
}

// Report says what Apply did, each list sorted.
type Report struct {
	Accepted []pipeline.ID // a new version of these is in force
	Rejected []pipeline.ID // their newest file has problems; an older version of them may be in force
	Removed  []pipeline.ID
	Problems []document.Problem // of all files, warnings included
}

// place is where pipelines run, if that has limits of its own.
type place struct {
	platform   pipeline.Platform
	timeLimit  time.Duration // of an attempt
	offers     *pipeline.Offers
	noPrograms bool
}

// On has files judged by the limits of a platform, too, and by what the deployment there offers, unless that is nil. It is
// called before files are applied.
func (c *Catalog) On(p pipeline.Platform, timeLimit time.Duration, offers *pipeline.Offers) *Catalog {
	c.place.platform, c.place.timeLimit, c.place.offers = p, timeLimit, offers
	return c
}

// Progress counts the pipelines that Apply has to store, and those that it has stored.
type Progress struct{ All, Done atomic.Int64 }

// Report has Apply count in p. It is called before files are applied.
func (c *Catalog) Report(p *Progress) { c.progress = p }

// WithoutPrograms rejects files whose jobs or probes run a program on the controller's own machine. It is called before files
// are applied. An older version that is in force stays so.
func (c *Catalog) WithoutPrograms() { c.place.noPrograms = true }
