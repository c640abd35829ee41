package catalog

import (
	"cmp"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// Entry is one active pipeline. It is shared and must not be changed.
type Entry struct {
	*pipeline.Definition
	Version string    // version of its file
	Horizon time.Time // its first acceptance: nothing before it is opened or counts as missed

	self [1]*Entry // the list of readers of its sensors, which for most is the pipeline itself
}

func newEntry(d *pipeline.Definition, row store.Pipeline) *Entry {
	e := &Entry{Definition: d, Version: row.Config, Horizon: row.Horizon}
	e.self[0] = e
	return e
}

// Key returns the key of the pipeline's run for a period.
func (e *Entry) Key(p period.Period) run.Key {
	return run.Key{Pipeline: e.ID, Schedule: e.Opens, Period: p}
}

// Snapshot is everything active at one moment. It is immutable; its lists must not be changed.
type Snapshot struct {
	byID       map[pipeline.ID]*Entry
	all        []*Entry
	shared     map[address][]*Entry // readers of sensors that other pipelines read
	dependents map[pipeline.ID][]*Entry
	broken     []Broken
}

// Broken is a stored version that this binary cannot compile. It is not active until its file is
// fixed.
type Broken struct {
	ID      pipeline.ID
	Version string
	Problem string
}

// address is a sensor of a pipeline.
type address struct {
	pipeline pipeline.ID
	key      sensor.Key
}

// Get returns the pipeline with that id, or nil if it is not active.
func (s *Snapshot) Get(id pipeline.ID) *Entry { return s.byID[id] }

// Definition returns only the definition, or nil if the pipeline is not active. gate.Evaluate uses
// it for upstreams.
func (s *Snapshot) Definition(id pipeline.ID) *pipeline.Definition {
	if e := s.byID[id]; e != nil {
		return e.Definition
	}
	return nil
}

// Probe returns the probe that writes a sensor, or nil.
func (s *Snapshot) Probe(id pipeline.ID, key sensor.Key) *pipeline.Probe {
	if e := s.byID[id]; e != nil {
		return e.Probe(key)
	}
	return nil
}

// All lists the active pipelines by id.
func (s *Snapshot) All() []*Entry { return s.all }

// Readers lists, by id, the pipelines whose gate, start condition or post-run rules read that
// sensor.
func (s *Snapshot) Readers(id pipeline.ID, key sensor.Key) []*Entry {
	if all, ok := s.shared[address{id, key}]; ok {
		return all
	}
	if e := s.byID[id]; e != nil {
		for owner, read := range e.Reads() {
			if owner == id && read == key {
				return e.self[:]
			}
		}
	}
	return nil
}

// Dependents lists, by id, the pipelines that run after id (schedule.after).
func (s *Snapshot) Dependents(id pipeline.ID) []*Entry { return s.dependents[id] }

// Broken lists, by id, the stored versions that cannot be compiled.
func (s *Snapshot) Broken() []Broken { return s.broken }

func newSnapshot(entries []*Entry, broken []Broken) *Snapshot {
	slices.SortFunc(entries, func(a, b *Entry) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(broken, func(a, b Broken) int { return cmp.Compare(a.ID, b.ID) })
	s := &Snapshot{
		byID: make(map[pipeline.ID]*Entry, len(entries)), all: entries, broken: broken,
		shared: map[address][]*Entry{}, dependents: map[pipeline.ID][]*Entry{},
	}
	for _, e := range entries {
		s.byID[e.ID] = e
		for owner, key := range e.Reads() {
			if owner != e.ID {
				s.shared[address{owner, key}] = nil
			}
		}
		for _, up := range e.After {
			s.dependents[up] = append(s.dependents[up], e)
		}
	}
	for _, e := range entries {
		for owner, key := range e.Reads() {
			at := address{owner, key}
			if all, ok := s.shared[at]; ok && !slices.Contains(all[max(0, len(all)-1):], e) {
				s.shared[at] = append(all, e)
			}
		}
	}
	return s
}
