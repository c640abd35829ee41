// Package rowtest is the conformance suite that every engine passes. Each promise that a comment of
// package row makes is a claim here, by name; the model at the end makes random calls and compares
// every answer with that of a naive engine.
//
// The test of an engine is one call:
//
//	func TestEngine(t *testing.T) {
//		rowtest.Run(t, func(t *testing.T) row.Engine { return memory.NewEngine() }, rowtest.Options{})
//	}
package rowtest

import (
	"testing"

	"github.com/interlock-go/interlock/internal/store/row"
)

// Options say what an engine can do beyond, or short of, what all of them can.
type Options struct {
	// Reopen closes e and opens the same data again, as a process does that was restarted. With it,
	// the suite checks that a durable engine forgets nothing.
	Reopen func(t *testing.T, e row.Engine) row.Engine
	// MaxOps is how many ops one transaction may have; 0 means no limit.
	MaxOps int
	// Slow says that a call takes milliseconds: the suite tries fewer sizes of pages and makes
	// fewer random calls.
	Slow bool
}

// Run makes every claim about engines that open returns: each is empty, belongs to one test and is
// closed by it.
func Run(t *testing.T, open func(t *testing.T) row.Engine, o Options) {
	groups := []struct {
		name    string
		claims  []claim
		without bool
	}{
		{"Apply", applyClaims, false},
		{"ID", idClaims, false},
		{"Scan", scanClaims, false},
		{"Place", placeClaims, false},
		{"Drop", dropClaims, false},
		{"Event", eventClaims, false},
		{"Change", changeClaims, false},
		{"Wait", waitClaims, false},
		{"Concurrency", concurrencyClaims, false},
		{"Reopen", reopenClaims, o.Reopen == nil},
		{"ReopenChange", reopenChangeClaims, o.Reopen == nil},
	}
	for _, g := range groups {
		if g.without {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.claims {
				t.Run(c.name, func(t *testing.T) { c.check(newFixture(t, open(t), o)) })
			}
		})
	}
	t.Run("Model", func(t *testing.T) { checkModel(t, open, o) })
}

// claim is one promise and how it is checked.
type claim struct {
	name  string
	check func(f *fixture)
}
