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
	"context"
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
	// NoFeed says that the engine gives its changes to consumers by other means than Receive.
	NoFeed bool
	// Slow says that a call takes milliseconds: the suite tries fewer sizes of pages and makes
	// fewer random calls.
	Slow bool
	// EventsLater, if Apply only writes events down, appends them to the log. The suite calls it
	// before it reads events or waits for them.
	EventsLater func(ctx context.Context, e row.Engine) error
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
		{"Change", changeClaims, o.NoFeed},
		{"Wait", waitClaims, false},
		{"Concurrency", concurrencyClaims, false},
		{"Reopen", reopenClaims, o.Reopen == nil},
		{"ReopenChange", reopenChangeClaims, o.Reopen == nil || o.NoFeed},
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
