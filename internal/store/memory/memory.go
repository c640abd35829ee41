// Package memory is the store that forgets: maps behind one mutex. It is the reference for what the contract means, what
// handlers are tested on, and what the simulator runs on. It starts no goroutine and reads no clock, so the same calls
// give the same answers, inside a testing/synctest bubble too.
//
// One file per role of the contract: commit.go and task.go change records, reading.go takes readings, read.go and event.go
// list, feed.go hands out changes, trim.go forgets.
package memory

import (
	"cmp"
	"errors"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

var _ store.Store = (*Store)(nil)

var errClosed = errors.New("store is closed")

// Store is one process's hold on the data. Others may have theirs: see Open.
type Store struct {
	*data
	closed chan struct{} // closed by Close
}

// data is everything that is remembered, shared by all that have it open. Records that hold slices or maps are kept frozen,
// so that no caller's later change reaches them.
type data struct {
	mu sync.Mutex

	commits map[string]time.Time // taken batches by identity, and when

	runs      map[run.Key]run.Run
	dryRuns   map[run.Key]run.Run
	pipelines map[pipeline.ID]frozen[store.Pipeline]
	deadlines map[deadlineKey]store.Deadline
	postRuns  map[run.Key]frozen[store.PostRun]
	configs   map[configKey]frozen[store.Config]
	log       map[run.Key][]store.JobEntry // in the order of appending
	snapshots map[run.SnapshotID]frozen[store.Snapshot]
	reruns    map[run.Key][]store.Rerun // in the order of appending
	marks     map[string]time.Time
	dead      map[deadKey]store.DeadLetter
	notes     map[noteKey]frozen[store.Note]

	events    []store.StoredEvent // by position
	announced map[string]bool     // the ids in events
	lastEvent store.Position

	tasks     map[string]*task
	lastToken int64

	sensors     map[sensorKey]*rows
	lastVersion int64

	changes    []store.Change // by position
	lastChange store.Position
	groups     map[string]*group
	cursors    map[string]store.Position

	tasksChanged, eventsChanged, fed store.Signal
}

type deadlineKey struct {
	run.Key
	kind store.DeadlineKind
}

type configKey struct {
	pipeline pipeline.ID
	version  string
}

type deadKey struct{ sink, event string }

type noteKey struct {
	kind store.NoteKind
	key  string
}

// New gives an empty store.
func New() *Store {
	return &Store{closed: make(chan struct{}), data: &data{
		commits:   map[string]time.Time{},
		runs:      map[run.Key]run.Run{},
		dryRuns:   map[run.Key]run.Run{},
		pipelines: map[pipeline.ID]frozen[store.Pipeline]{},
		deadlines: map[deadlineKey]store.Deadline{},
		postRuns:  map[run.Key]frozen[store.PostRun]{},
		configs:   map[configKey]frozen[store.Config]{},
		log:       map[run.Key][]store.JobEntry{},
		snapshots: map[run.SnapshotID]frozen[store.Snapshot]{},
		reruns:    map[run.Key][]store.Rerun{},
		marks:     map[string]time.Time{},
		dead:      map[deadKey]store.DeadLetter{},
		notes:     map[noteKey]frozen[store.Note]{},
		announced: map[string]bool{},
		tasks:     map[string]*task{},
		sensors:   map[sensorKey]*rows{},
		groups:    map[string]*group{},
		cursors:   map[string]store.Position{},
	}}
}

// Open gives another hold on the same data, as a second process would have it. To let a process die, close its Store; to
// start it again, open another.
func (s *Store) Open() *Store { return &Store{data: s.data, closed: make(chan struct{})} }

// Close lets go of the changes that were received through s and are not done, and ends what waits.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed() {
		return nil
	}
	close(s.closed)
	for _, g := range s.groups {
		g.letGo(s)
	}
	s.fed.Raise()
	return nil
}

func (s *Store) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// open locks the data for one call, unless s is closed. The caller unlocks.
func (s *Store) open() error {
	s.mu.Lock()
	if s.isClosed() {
		s.mu.Unlock()
		return errClosed
	}
	return nil
}

// instant brings a time into the form in which every store gives it back.
func instant(t time.Time) time.Time { return t.Round(0).UTC() }

// compareKeys orders runs by period, then by pipeline and schedule.
func compareKeys(a, b run.Key) int {
	return cmp.Or(a.Period.Compare(b.Period), compareNames(a, b))
}

func compareNames(a, b run.Key) int {
	return cmp.Or(cmp.Compare(a.Pipeline, b.Pipeline), cmp.Compare(a.Schedule, b.Schedule))
}
