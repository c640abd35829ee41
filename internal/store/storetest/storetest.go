// Package storetest is the one conformance suite that every store passes. Each promise that a
// comment of package store makes is a claim here, by name; the model at the end makes random calls
// and compares every answer with that of a naive store.
//
// An adapter's test is one call:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { return memory.New() })
//	}
package storetest

import (
	"testing"

	"github.com/interlock-go/interlock/internal/store"
)

// Options say what a store can do beyond, or short of, what all of them can.
type Options struct {
	// Reopen closes s and opens the same data again, as a process does that was started anew. With
	// it, everything that a durable store must not forget is looked at.
	Reopen func(t *testing.T, s store.Store) store.Store
	// MaxWrites is how many readings one call takes; 0 means store.MaxWrites.
	MaxWrites int
	// Slow says that a call takes milliseconds: the random walks and the recorded histories are
	// fewer, not every size of a page is tried, and the groups are left out whose claims package
	// record decides on any engine that passes rowtest.
	Slow bool
}

// Run makes every claim about stores that open gives: each is empty, belongs to one test and is
// closed by it.
func Run(t *testing.T, open func(t *testing.T) store.Store, options ...Options) {
	o := Options{MaxWrites: store.MaxWrites}
	for _, given := range options {
		if given.Reopen != nil {
			o.Reopen = given.Reopen
		}
		if given.MaxWrites != 0 {
			o.MaxWrites = given.MaxWrites
		}
		o.Slow = o.Slow || given.Slow
	}
	for _, g := range groups {
		if g.recorded && o.Slow {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.claims {
				t.Run(c.name, func(t *testing.T) {
					c.check(newFixture(t, open(t), o))
				})
			}
		})
	}
	if o.Reopen != nil {
		t.Run("Reopen", func(t *testing.T) {
			for _, c := range reopenClaims {
				t.Run(c.name, func(t *testing.T) {
					c.check(newFixture(t, open(t), o))
				})
			}
		})
	}
	t.Run("Model", func(t *testing.T) { checkModel(t, open, o) })
	t.Run("Linearizable", func(t *testing.T) { checkLinear(t, open, o) })
}

// claim is one promise and how it is looked at.
type claim struct {
	name  string
	check func(f *fixture)
}

// groups are the claims by subject. Those that are recorded say what package record makes of rows,
// whatever the engine: they need no transaction, identity, order or concurrency beyond what rowtest
// claims, and the model makes their calls on every engine.
var groups = []struct {
	name     string
	claims   []claim
	recorded bool
}{
	{"Batch", batchClaims, false},
	{"Identity", identityClaims, false},
	{"Record", recordClaims, true},
	{"Note", noteClaims, true},
	{"Run", runClaims, true},
	{"Task", taskClaims, true},
	{"Lease", leaseClaims, false},
	{"Reading", readingClaims, true},
	{"Shown", shownClaims, true},
	{"Event", eventClaims, true},
	{"Feed", feedClaims, false},
	{"Trim", trimClaims, false},
	{"Concurrency", concurrencyClaims, false},
}
