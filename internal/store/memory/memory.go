// Package memory is the store that forgets: a map and sorted lists behind one mutex. It is what handlers are tested on and
// what the simulator runs on. It starts no goroutine and reads no clock, so the same calls give the same answers, inside a
// testing/synctest bubble too.
package memory

import (
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/record"
)

// Store is one process's hold on the data. Others may have theirs: see Open.
type Store struct {
	*record.Store
	engine *engine
}

// New returns an empty store.
func New() *Store { return on(newEngine()) }

// Open returns another hold on the same data, as a second process has one.
func (s *Store) Open() *Store { return on(s.engine.open()) }

func on(e *engine) *Store { return &Store{record.New(e, record.Options{}), e} }

// LoseEvents forgets the latest n events and returns them, as a failover to a server does that had not received them.
// Their positions are not used again.
func (s *Store) LoseEvents(n int) []store.StoredEvent {
	var lost []store.StoredEvent
	for _, r := range s.engine.loseEvents(n) {
		e, err := record.EventOf(r)
		if err != nil {
			panic(err) // this process has written it
		}
		lost = append(lost, e)
	}
	return lost
}
