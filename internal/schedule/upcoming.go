package schedule

import (
	"iter"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// lookAhead is how many years Upcoming searches for the next period. No cron expression has a
// longer gap, whichever weekdays are excluded: 29 February falls on every weekday at least
// once in 40 years.
const lookAhead = 41

// Upcoming iterates over the expected periods that the calendar does not exclude, in order, from
// the first that begins at or after from. It ends when none begins within lookAhead. It skips an
// excluded day as a whole, so that its cost depends on the number of excluded days, not of excluded
// periods.
func (s *Schedule) Upcoming(from time.Time) iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		until := from.AddDate(lookAhead, 0, 0)
		for resume := from; !resume.IsZero(); {
			start := resume
			resume = time.Time{}
			for slot := range s.Slots(start) {
				begins := slot.Begins(s.zone)
				if begins.After(until) {
					return
				}
				if slot.Excluded == "" {
					if !yield(slot) {
						return
					}
					until = begins.AddDate(lookAhead, 0, 0)
					continue
				}
				if next := s.turn(s.endOfDay(slot.Period)); next.After(begins) {
					resume = next
					break
				}
			}
		}
	}
}

// endOfDay returns the end of p's day, or the next clock change if that is earlier, because a clock
// change may lead back to the previous day. For a longer period it returns the end of p.
func (s *Schedule) endOfDay(p period.Period) time.Time {
	if p.Size() > period.Day {
		return p.End(s.zone)
	}
	end := p.Outer(period.Day).End(s.zone)
	if _, change := p.Start(s.zone).In(s.zone).ZoneBounds(); !change.IsZero() && change.Before(end) {
		return change
	}
	return end
}

// NeverRuns reports whether the calendar excludes every period of the schedule.
func (s *Schedule) NeverRuns() bool {
	if len(s.include) > 0 {
		return !slices.ContainsFunc(s.include, func(day period.Period) bool { return s.Excluded(day) == "" })
	}
	if s.exclude == nil {
		return false
	}
	weekly := *s
	weekly.exclude = &exclusions{weekdays: s.exclude.weekdays} // a list of dates is finite
	for range weekly.Upcoming(time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)) {
		return false
	}
	return true
}
