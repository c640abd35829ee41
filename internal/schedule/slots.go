package schedule

import (
	"iter"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// Slot is one expected period.
type Slot struct {
	Period   period.Period
	FireAt   time.Time // when it opens by itself; zero if only a sensor or an upstream opens it
	Excluded string    // "" or why: "weekend", "listed weekday", "listed date", `calendar "us-holidays"`, "not an include date"
}

// Begins returns when the slot fires or, without a fire, when its period starts in zone.
func (s Slot) Begins(zone *time.Location) time.Time {
	if s.FireAt.IsZero() {
		return s.Period.Start(zone)
	}
	return s.FireAt
}

// Slots iterates over the expected periods in order, including excluded ones, from the first that
// fires (or, without fires, starts) at or after from. It ends when there are no more (include dates
// run out) or the caller stops.
func (s *Schedule) Slots(from time.Time) iter.Seq[Slot] {
	switch {
	case s.cron != nil:
		return s.fires(from)
	case s.Listed():
		return s.openings(from)
	case len(s.include) > 0:
		return s.slicesOfListedDays(from)
	}
	return s.slices(from)
}

// Listed reports whether the days of a list open by themselves, rather than the fires of a cron
// expression.
func (s *Schedule) Listed() bool { return s.cron == nil && s.opens && len(s.include) > 0 }

func (s *Schedule) slot(p period.Period, fire time.Time) Slot {
	return Slot{Period: p, FireAt: fire, Excluded: s.Excluded(p)}
}

// fires iterates over cron fires. On the day of a clock change two fires may be for the same
// period, which the earlier one opens.
func (s *Schedule) fires(from time.Time) iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		var last period.Period
		fire := s.cron.Next(from.Add(-time.Nanosecond), s.zone)
		if before := s.cron.Prev(fire, s.zone); !fire.IsZero() && !before.IsZero() {
			last = s.PeriodAt(before)
		}
		for ; !fire.IsZero(); fire = s.cron.Next(fire, s.zone) {
			p := s.PeriodAt(fire)
			if p != last && !p.IsZero() && !yield(s.slot(p, fire)) {
				return
			}
			last = p
		}
	}
}

// openings iterates over the listed days that open by themselves. If several listed days are in the
// same week or longer period, the first opens it.
func (s *Schedule) openings(from time.Time) iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		var last period.Period
		for _, day := range s.include {
			slot := s.opening(day)
			if slot.Period != last && !slot.FireAt.Before(from) && !yield(slot) {
				return
			}
			last = slot.Period
		}
	}
}

// opening returns the slot of a listed day: at schedule.time, or else at the start of the day.
func (s *Schedule) opening(day period.Period) Slot {
	fire := s.timeOn(day)
	if s.size == period.Day {
		return s.slot(day, fire)
	}
	return s.slot(s.sliceAt(fire), fire)
}

// openingOf returns when the listed day of p opens, if it opens p.
func (s *Schedule) openingOf(p period.Period) time.Time {
	if !s.Listed() {
		return time.Time{}
	}
	day := s.includedIn(p)
	if day.IsZero() {
		return time.Time{}
	}
	if slot := s.opening(day); slot.Period == p {
		return slot.FireAt
	}
	return time.Time{}
}

// slicesOfListedDays iterates over every period of the listed days, or the weeks or longer
// periods that contain them.
func (s *Schedule) slicesOfListedDays(from time.Time) iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		var last period.Period
		for _, day := range s.include {
			if day.End(s.zone).Before(from) {
				continue
			}
			for p := range s.slicesOf(day) {
				if p != last && !p.Start(s.zone).Before(from) && !yield(s.slot(p, time.Time{})) {
					return
				}
				last = p
			}
		}
	}
}

// slices iterates over all periods.
func (s *Schedule) slices(from time.Time) iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		p := s.sliceAt(from)
		if p.Start(s.zone).Before(from) {
			p = p.Add(1, s.zone)
		}
		for ; !p.IsZero() && yield(s.slot(p, time.Time{})); p = p.Add(1, s.zone) {
		}
	}
}

// slicesOf iterates over the periods of the schedule's size that begin on a day, or the week or
// longer period that contains it.
func (s *Schedule) slicesOf(day period.Period) iter.Seq[period.Period] {
	return func(yield func(period.Period) bool) {
		if s.size > period.Day {
			yield(day.Outer(s.size))
			return
		}
		end := day.End(s.zone)
		q := s.sliceAt(day.Start(s.zone))
		for ; !q.IsZero() && q.Start(s.zone).Before(end) && yield(q); q = q.Add(1, s.zone) {
		}
	}
}

// Inside iterates over the expected periods inside the larger p, in order, including excluded ones.
func (s *Schedule) Inside(p period.Period) iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		from, until := p.Start(s.zone), p.End(s.zone)
		if !from.Before(until) {
			return
		}
		for slot := range s.Overlapping(from, until) {
			if s.size == period.Week && !p.Holds(slot.Period) {
				continue // the first and last week of a longer period may extend beyond it
			}
			if !yield(slot) {
				return
			}
		}
	}
}

// Overlapping iterates over the expected periods that have an instant in [from, until), in order,
// including excluded ones.
func (s *Schedule) Overlapping(from, until time.Time) iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		if !from.Before(until) {
			return
		}
		end := s.turn(s.sliceAt(until.Add(-time.Nanosecond)).End(s.zone))
		for slot := range s.Slots(s.turn(s.sliceAt(from).Start(s.zone))) {
			if !slot.Begins(s.zone).Before(end) {
				return
			}
			if !yield(slot) {
				return
			}
		}
	}
}

// turn returns the earliest time at which a slot for the period at t, or for a later one, can
// begin. t must be the first instant of a period.
func (s *Schedule) turn(t time.Time) time.Time {
	if s.cron == nil {
		return t
	}
	return s.sliceAt(t).Add(-s.offset, s.zone).Start(s.zone)
}

// Expected iterates over the expected periods of this schedule, without excluded ones, that lie
// inside (or equal, or contain) p: those that a dependent of another size waits for.
func (s *Schedule) Expected(p period.Period) iter.Seq[period.Period] {
	return func(yield func(period.Period) bool) {
		if p.Size() > s.size {
			for slot := range s.Inside(p) {
				if slot.Excluded == "" && !yield(slot.Period) {
					return
				}
			}
			return
		}
		if q := p.Outer(s.size); s.expects(q) && s.Excluded(q) == "" {
			yield(q)
		}
	}
}

// expects reports whether q, of the schedule's size, exists in its zone and is opened by something.
func (s *Schedule) expects(q period.Period) bool {
	if q.IsZero() {
		return false
	}
	if s.cron != nil || s.Listed() {
		return !s.FireFor(q).IsZero()
	}
	return s.sliceAt(q.Start(s.zone)) == q
}
