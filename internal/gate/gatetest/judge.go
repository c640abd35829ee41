// Package gatetest evaluates a gate again, from the snapshot that a run stored. Tests and the
// simulator compare the outcome with what the run did.
package gatetest

import (
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// Judge returns the gate's outcome on a stored snapshot alone.
func Judge(g *rule.Gate, s store.Snapshot) rule.Outcome {
	seen := facts(len(g.Refs()), s.Sensors)
	if !s.PreferUntil.IsZero() && !s.At.Before(s.PreferUntil) {
		return g.DecideRequired(seen, s.At)
	}
	return g.Decide(seen, s.At)
}

// facts returns what the stored sensors showed to the rules of a gate with that many refs.
func facts(refs int, sensors []store.SeenSensor) rule.Snapshot {
	seen := make(rule.Snapshot, min(refs, len(sensors)))
	for i := range seen {
		s := sensors[i]
		for _, one := range s.Slices {
			slice := sensor.Seen{For: one.Date}
			if one.Version != 0 {
				of := one.Of
				if of.IsZero() {
					of = one.Date
				}
				slice.Reading = fact(s.Key, of, one.Fields, one.Version, one.UpdatedAt, one.ChangedAt, one.ExpiresAt)
			}
			seen[i].Over = append(seen[i].Over, slice)
		}
		if len(s.Slices) == 0 && (s.Version != 0 || s.Fields != nil) {
			seen[i].Reading = fact(s.Key, s.Period, s.Fields, s.Version, s.UpdatedAt, s.ChangedAt, s.ExpiresAt)
		}
	}
	return seen
}

func fact(key sensor.Key, p period.Period, f sensor.Fields, version int64, updated, changed, expires time.Time) *sensor.Reading {
	return &sensor.Reading{Key: key, Period: p, Fields: f, Version: version, UpdatedAt: updated, ChangedAt: changed, ExpiresAt: expires}
}
