// Package gatetest evaluates a gate again, from the snapshot that a run stored. Tests and the
// simulator compare the outcome with what the run did.
package gatetest

import (
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/store"
)

// Judge returns the gate's outcome on a stored snapshot alone.
func Judge(g *rule.Gate, s store.Snapshot) rule.Outcome {
	seen := make(rule.Snapshot, min(len(g.Refs()), len(s.Sensors)))
	for i := range seen {
		seen[i] = gate.Shown(s.Sensors[i])
	}
	if !s.PreferUntil.IsZero() && !s.At.Before(s.PreferUntil) {
		return g.DecideRequired(seen, s.At)
	}
	return g.Decide(seen, s.At)
}
