package schedule

import (
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// SlicesIn lists the periods of that size inside p that the calendar does not exclude, in order. If
// size is not smaller than p's, it is the one period that contains p.
func (s *Schedule) SlicesIn(p period.Period, size period.Size) []period.Period {
	if size >= p.Size() {
		return s.counting(p.Outer(size))
	}
	var all []period.Period
	end := p.End(s.zone)
	for q := period.At(p.Start(s.zone), size, s.zone); !q.IsZero() && q.Start(s.zone).Before(end); q = q.Add(1, s.zone) {
		if size == period.Week && !p.Holds(q) {
			continue
		}
		all = append(all, s.counting(q)...)
	}
	return all
}

// maxGap is how many consecutive days the calendar may exclude before LastSlices stops searching.
const maxGap = 400

// LastSlices lists the last n periods of that size that the calendar does not exclude, in order, up
// to and including the one that contains p or, if they are smaller, the last one in p.
func (s *Schedule) LastSlices(p period.Period, size period.Size, n int) []period.Period {
	q := p.Outer(size)
	if size < p.Size() {
		q = period.At(p.End(s.zone).Add(-time.Second), size, s.zone)
		if !p.Holds(q) { // the last week may belong to the next month
			q = q.Add(-1, s.zone)
		}
	}
	var all []period.Period
	last := q
	for len(all) < n && !q.IsZero() {
		if counting := s.counting(q); counting != nil {
			all, last = append(all, q), q
		} else if last.Start(s.zone).Sub(q.Start(s.zone)) > maxGap*24*time.Hour {
			break
		}
		q = q.Add(-1, s.zone)
	}
	slices.Reverse(all)
	return all
}

// After returns the period n periods after p, without counting those that the calendar excludes.
func (s *Schedule) After(p period.Period, n int) period.Period {
	last := p
	for n > 0 {
		p = p.Add(1, s.zone)
		if p.IsZero() || p.Start(s.zone).Sub(last.Start(s.zone)) > maxGap*24*time.Hour {
			return last
		}
		if s.counting(p) != nil {
			last, n = p, n-1
		}
	}
	return p
}

// counting returns p, unless the calendar excludes it.
func (s *Schedule) counting(p period.Period) []period.Period {
	if p.IsZero() || s.Excluded(p) != "" {
		return nil
	}
	return []period.Period{p}
}
