package pipeline

import (
	"fmt"
	"iter"
	"slices"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/schedule"
)

// Awaited returns the periods of the upstream up that a run of d for p waits for, oldest first: p
// itself, the larger period that contains it, or the expected smaller ones inside it that the
// calendar does not exclude. Slices of another size and another zone are those whose span of
// instants overlaps p's; excluded ones among them count only if all are. Following is the inverse.
func (d *Definition) Awaited(up *Definition, p period.Period) []period.Period {
	size := up.Schedule.Size()
	switch {
	case p.IsZero():
		return nil
	case p.Size() == size:
		return []period.Period{p}
	case p.Size() > size:
		var all []period.Period
		for slot := range within(up.Schedule, p, d.Schedule) {
			if slot.Excluded == "" {
				all = append(all, slot.Period)
			}
		}
		return all
	case byName(d.Schedule, up.Schedule, p.Size(), size):
		return []period.Period{p.Outer(size)}
	}
	all := overlapped(up.Schedule, p, d.Schedule)
	excluded := func(q period.Period) bool { return up.Schedule.Excluded(q) != "" }
	if expected := slices.DeleteFunc(slices.Clone(all), excluded); len(expected) > 0 {
		return expected
	}
	return all
}

// Following returns the periods of d that a run of its upstream up for p affects, newest first: p
// itself, the larger period that contains it, or the smaller ones inside it. Slices of another size
// and another zone are those whose span of instants overlaps p's. A run of another size than the
// upstream's own affects only its own period.
func (d *Definition) Following(up *Definition, p period.Period) []period.Period {
	size := d.Schedule.Size()
	var all []period.Period
	switch {
	case p.IsZero():
		return nil
	case p.Size() != up.Schedule.Size() || p.Size() == size:
		return []period.Period{p}
	case p.Size() > size:
		for slot := range within(d.Schedule, p, up.Schedule) {
			if up.Schedule.Excluded(p) == "" || slices.Contains(d.Awaited(up, slot.Period), p) {
				all = append(all, slot.Period)
			}
		}
	case byName(d.Schedule, up.Schedule, p.Size(), size):
		return []period.Period{p.Outer(size)}
	default:
		all = overlapped(d.Schedule, p, up.Schedule)
	}
	slices.Reverse(all)
	return all
}

// byName reports whether names say which period of one schedule contains which of the other: in one
// zone, and for weeks, which belong to a longer period by their Thursday in every zone.
func byName(a, b *schedule.Schedule, p, q period.Size) bool {
	return sameZone(a, b) || max(p, q) > period.Week && min(p, q) == period.Week
}

func sameZone(a, b *schedule.Schedule) bool { return a.Zone().String() == b.Zone().String() }

// within iterates over the expected periods of s, which are smaller than p, that belong to p, a
// period of the schedule of.
func within(s *schedule.Schedule, p period.Period, of *schedule.Schedule) iter.Seq[schedule.Slot] {
	if byName(s, of, p.Size(), s.Size()) {
		return s.Inside(p)
	}
	return s.Overlapping(p.Start(of.Zone()), p.End(of.Zone()))
}

// overlapped returns the periods of s, which are larger than p, that have an instant in p, a period
// of the schedule of, oldest first.
func overlapped(s *schedule.Schedule, p period.Period, of *schedule.Schedule) []period.Period {
	var all []period.Period
	end, zone := p.End(of.Zone()), s.Zone()
	for q := period.At(p.Start(of.Zone()), s.Size(), zone); !q.IsZero() && q.Start(zone).Before(end); q = q.Add(1, zone) {
		all = append(all, q)
	}
	return all
}

// checkZones warns of upstreams in another zone, and says which of their slices count.
func (g *graph) checkZones(e *entry) {
	if e.def == nil {
		return
	}
	for _, id := range e.def.After {
		if g.missing(id) || g.byID[id][0].def == nil {
			continue
		}
		up := g.byID[id][0].def
		if sameZone(e.def.Schedule, up.Schedule) {
			continue
		}
		own, size := e.def.Schedule.Size(), up.Schedule.Size()
		counts := fmt.Sprintf("each %s waits for the %s of the same name, which begins at another instant", own, size)
		switch {
		case size < own:
			counts = fmt.Sprintf("each %s waits for every %s that overlaps it", own, size)
		case size > own:
			counts = fmt.Sprintf("each %s waits for the %ss that overlap it", own, size)
		}
		e.report(document.Finding{Path: fmt.Sprintf("schedule.after[%d]", e.placeOf(id)), Severity: document.Warning, Message: fmt.Sprintf(
			"%s is in the zone %s, this pipeline in %s: %s", id, up.Schedule.Zone(), e.def.Schedule.Zone(), counts)})
	}
}
