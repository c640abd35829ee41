// Package catalog holds the active pipeline definitions and decides, when files change, which of
// them are accepted, rejected or removed. The active versions are stored, so that they survive a
// bad edit and a restart; in memory they are one immutable Snapshot behind a pointer.
//
// It does not read files or wait for them to settle: the host passes their texts. The consequences
// of a new version (periods to open, deadlines to arm) are stored as tasks in the commit that
// accepts it.
package catalog

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/internal/audit"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/source"
	"github.com/interlock-go/interlock/internal/store"
)

// keeper is the part of the store that the catalog uses.
type keeper interface {
	store.Committer
	store.Reader
}

// Catalog holds the active definitions. It is safe for concurrent use.
type Catalog struct {
	store        keeper
	kinds        []pipeline.JobKind
	place        place
	current      atomic.Pointer[Snapshot]
	change       sync.Mutex                 // held while all definitions are read or stored: see lock
	install      sync.Mutex                 // held while replacing the Snapshot, never during a call to the store
	alone        map[pipeline.ID]bool       // pipelines installed alone since change was locked
	beside       string                     // hash of the calendars and archetypes that files were last read with
	refused      map[string]pipeline.Source // the files rejected last, by name
	older        *shelf
	olderReaders *olderReaders
	read         atomic.Pointer[[]File] // the files, with the result of their last check
	shared       bool                   // other replicas may store files too: see Share
	seen         atomic.Pointer[Seen]   // never changed in place

	troubles atomic.Pointer[[]Trouble] // never changed in place

	progress *Progress

	ledger        ledger
	loadedSources *source.Loaded // nil until read
	sources       atomic.Pointer[source.Set]

	audit  *audit.Log // nil: no audit record
	origin Origin     // may be nil

	refusedSources atomic.Pointer[[]RefusedSource] // never changed in place
}

// New returns an empty catalog; Load fills it.
func New(s keeper, kinds []pipeline.JobKind) *Catalog {
	c := &Catalog{
		store: s, kinds: kinds, progress: &Progress{}, alone: map[pipeline.ID]bool{},
		older: &shelf{byID: map[shelved]*pipeline.Definition{}}, olderReaders: newOlderReaders(),
	}
	c.current.Store(newSnapshot(nil, nil))
	c.seen.Store(&Seen{})
	c.sources.Store(source.NewSet(nil))
	return c
}

// Current returns the active snapshot. It never changes; call Current again for a later one.
func (c *Catalog) Current() *Snapshot { return c.current.Load() }

// Files are all pipeline, calendar, archetype and source files. Gone lists pipeline and source
// files that disappeared a moment ago and may come back: they count with their last contents.
// Modified has the modification time of each file, by name; only replicas need it. Folders are the
// paths that pipelines are read from; if set, a folder that loses most of its files removes
// nothing: see Trouble. Same lists those that are still the directory in which files were last
// found, which a lost mount is not.
type Files struct {
	Pipelines  []pipeline.Source
	Calendars  []pipeline.Source
	Archetypes []pipeline.Source
	Sources    []pipeline.Source
	Gone       []string
	Modified   map[string]time.Time
	Folders    []string
	Same       []string
	// Since, if set, is when the first of the new files was put in place, if that was before now: a
	// pipeline that was not active accepts readings written from then on.
	Since time.Time
}

// Report lists what Apply did, each list sorted.
type Report struct {
	Accepted []pipeline.ID // those with a new active version
	Rejected []pipeline.ID // those whose newest file has problems; an older version may be active
	Removed  []pipeline.ID
	Problems []document.Problem // in all files, warnings included
}

// place describes where pipelines run, if that has limits of its own.
type place struct {
	platform   pipeline.Platform
	timeLimit  time.Duration // limit of an attempt
	offers     *pipeline.Offers
	noPrograms bool
}

// On makes Apply also check files against the limits of a platform and, unless offers is nil,
// against what the deployment offers. It must be called before files are applied.
func (c *Catalog) On(p pipeline.Platform, timeLimit time.Duration, offers *pipeline.Offers) *Catalog {
	c.place.platform, c.place.timeLimit, c.place.offers = p, timeLimit, offers
	return c
}

// Progress is how far LoadFirst and Apply are, for people who wait.
type Progress struct{ step atomic.Pointer[step] }

// step is a part of the work: how many files or stored pipelines it is about, and what has been
// done with some of them.
type step struct {
	all  int
	what string
	done atomic.Int64
}

func (p *Progress) begin(all int, what string) *step {
	s := &step{all: all, what: what}
	p.step.Store(s)
	return s
}

// String returns a text such as "4,210 of 10,000 files stored".
func (p *Progress) String() string {
	s := p.step.Load()
	if s == nil {
		return "opening the store"
	}
	return fmt.Sprintf("%s of %s %s", thousands(int(s.done.Load())), thousands(s.all), s.what)
}

// thousands writes a number with commas.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// Report makes LoadFirst and Apply count their progress in p. It must be called before them.
func (c *Catalog) Report(p *Progress) { c.progress = p }

// WithoutPrograms rejects files whose jobs or probes run a program on the controller's machine. It
// must be called before files are applied. An older version that is active stays active.
func (c *Catalog) WithoutPrograms() { c.place.noPrograms = true }
