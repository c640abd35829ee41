package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// overTime applies the time until which rules are preferred, and finds the time at which the gate
// opens without new data.
func (v *View) overTime(q Question, g *rule.Gate, seen rule.Snapshot, now time.Time) {
	if g.Prefers() {
		opened := q.Opened
		if opened.IsZero() { // a run that does not wait yet opens now at the earliest
			opened = period.Later(q.Definition.Schedule.OpensFrom(q.Period), now)
		}
		v.PreferUntil = q.Definition.PreferUntil(q.Period, opened)
	}
	decide := func(at time.Time) rule.Outcome {
		if !v.PreferUntil.IsZero() && !at.Before(v.PreferUntil) {
			return g.DecideRequired(seen, at)
		}
		return g.Decide(seen, at)
	}
	if !v.PreferUntil.IsZero() {
		if v.Verdict.Outcome != rule.Pass && decide(now) == rule.Pass {
			for name, reason := range v.missing() {
				v.Degraded = append(v.Degraded, name+": "+reason)
			}
		}
		v.Verdict.Outcome = decide(now)
	}
	if v.Verdict.Outcome == rule.Pass {
		return
	}
	instants := []time.Time{v.PreferUntil}
	for i := range v.Verdict.Leaves {
		instants = append(instants, v.Verdict.Leaves[i].PassesAt)
	}
	slices.SortFunc(instants, time.Time.Compare)
	for _, at := range instants {
		if at.After(now) && decide(at) == rule.Pass {
			v.OpensAt = at
			return
		}
	}
}

// Lapsed reports whether the preferred rules no longer close the gate.
func (v View) Lapsed(now time.Time) bool {
	return !v.PreferUntil.IsZero() && !now.Before(v.PreferUntil)
}

// Closes reports whether a rule keeps the gate closed now.
func (v View) Closes(l rule.Leaf, now time.Time) bool {
	return !v.Open() && l.Closes() && !(l.Preferred && v.Lapsed(now))
}

// Lacking lists the sensors of the preferred rules without which the gate is open, without
// duplicates, separated by commas.
func (v View) Lacking() string {
	if len(v.Degraded) == 0 {
		return ""
	}
	var names []string
	for name := range v.missing() {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// missing iterates over the preferred rules that do not pass: the name of their sensor, and the
// reason.
func (v View) missing() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, l := range v.Verdict.Leaves {
			if !l.Preferred || l.Effective() == rule.Pass {
				continue
			}
			name := l.Rule.Key
			if l.Rule.From != "" {
				name = l.Rule.From + ":" + name
			}
			if !yield(name, l.Reason) {
				return
			}
		}
	}
}

// noteSlices adds the state of the periods, in stored form. The sensor's own version and time are
// the newest.
func noteSlices(s *store.SeenSensor, over []sensor.Seen) {
	content := sha256.New()
	for _, one := range over {
		slice := store.SeenSlice{Date: one.For}
		if r := one.Reading; r != nil {
			slice.Version, slice.UpdatedAt, slice.ChangedAt, slice.ExpiresAt, slice.Fields = r.Version, r.UpdatedAt, r.ChangedAt, r.ExpiresAt, r.Fields
			if r.Period != one.For {
				slice.Of = r.Period
			}
			if r.Version > s.Version {
				s.Version, s.UpdatedAt = r.Version, r.UpdatedAt
			}
			content.Write([]byte(one.For.String() + "=" + Content(r.Facts()) + "\n"))
		}
		s.Slices = append(s.Slices, slice)
	}
	s.Content = hex.EncodeToString(content.Sum(nil)[:16])
}

// prune keeps only the fields that rules read, so that a snapshot of many periods stays small.
func prune(seen []store.SeenSlice, fields []string) {
	for i := range seen {
		if seen[i].Fields == nil {
			continue
		}
		kept := sensor.Fields{}
		for _, field := range fields {
			for _, name := range []string{field, strings.SplitN(field, ".", 2)[0]} {
				if v, there := seen[i].Fields[name]; there {
					kept[name] = v
				}
			}
		}
		seen[i].Fields = kept
	}
}
