package schedule

import (
	"iter"
	"math/bits"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// Local times are represented in seconds as in package period: the Unix time at which UTC shows
// them.

// The range of years with fires, and of the instants from which a search starts.
const (
	minYear = 1
	maxYear = 9999
	minSec  = -62167219200 // year 0
	maxSec  = 253433923200 // past year 10000
)

const everyWeekday = 1<<7 - 1

// Next returns the first fire after t; the zero time if there is none.
func (c *Cron) Next(t time.Time, zone *time.Location) time.Time {
	return c.from(clamp(t.Unix())+1, zone)
}

// from returns the first fire at or after the instant sec.
//
// For the wall clock, a fire is the first instant at which the clock shows a matching local time
// or, if it jumps over it, a later one. For elapsed time, it is an instant at which the clock shows
// a matching one.
func (c *Cron) from(sec int64, zone *time.Location) time.Time {
	if !c.elapsed {
		local, ok := c.nextLocal(period.Reached(sec, zone))
		if !ok {
			return time.Time{}
		}
		return wall(local, zone)
	}
	for {
		g := period.SegmentAt(sec, zone)
		local, ok := c.nextLocal(sec + g.Offset)
		if !ok {
			return time.Time{}
		}
		if fire := local - g.Offset; fire < g.End {
			return time.Unix(fire, 0).UTC()
		}
		sec = g.End
	}
}

// Prev returns the last fire before t; the zero time if there is none.
func (c *Cron) Prev(t time.Time, zone *time.Location) time.Time {
	sec := clamp(ceil(t))
	if !c.elapsed {
		local, ok := c.prevLocal(period.Reached(sec, zone) - 1)
		if !ok {
			return time.Time{}
		}
		return wall(local, zone)
	}
	for {
		g := period.SegmentAt(sec-1, zone)
		local, ok := c.prevLocal(sec - 1 + g.Offset)
		if !ok {
			return time.Time{}
		}
		if fire := local - g.Offset; fire >= g.Start {
			return time.Unix(fire, 0).UTC()
		}
		sec = g.Start
	}
}

// nextLocal returns the first matching local minute at or after local.
func (c *Cron) nextLocal(local int64) (int64, bool) {
	t := time.Unix(local+59, 0).UTC()
	year, month, day := t.Date()
	hour, minute := t.Hour(), t.Minute()
	if year < minYear {
		year, month, day, hour, minute = minYear, time.January, 1, 0, 0
	}
	for c.minute != 0 && c.hour != 0 && year <= maxYear {
		switch {
		case c.month>>month&1 == 0 || day > period.DaysIn(year, month):
			month, day, hour, minute = month+1, 1, 0, 0
			if month > time.December {
				year, month = year+1, time.January
			}
			continue
		case !c.matchesDay(year, month, day):
			day, hour, minute = day+1, 0, 0
			continue
		}
		h, ok := nextBit(c.hour, hour)
		if h != hour {
			minute = 0
		}
		m, found := nextBit(c.minute, minute)
		switch {
		case !ok:
			day, hour, minute = day+1, 0, 0
		case !found:
			hour, minute = h+1, 0
		default:
			return time.Date(year, month, day, h, m, 0, 0, time.UTC).Unix(), true
		}
	}
	return 0, false
}

// prevLocal returns the last matching local minute at or before local.
func (c *Cron) prevLocal(local int64) (int64, bool) {
	t := time.Unix(local, 0).UTC()
	year, month, day := t.Date()
	hour, minute := t.Hour(), t.Minute()
	if year > maxYear {
		year, month, day, hour, minute = maxYear, time.December, 31, 23, 59
	}
	for c.minute != 0 && c.hour != 0 && year >= minYear {
		switch {
		case c.month>>month&1 == 0 || day < 1:
			month, hour, minute = month-1, 23, 59
			if month < time.January {
				year, month = year-1, time.December
			}
			day = period.DaysIn(year, month)
			continue
		case !c.matchesDay(year, month, day):
			day, hour, minute = day-1, 23, 59
			continue
		}
		h, ok := prevBit(c.hour, hour)
		if h != hour {
			minute = 59
		}
		m, found := prevBit(c.minute, minute)
		switch {
		case !ok:
			day, hour, minute = day-1, 23, 59
		case !found:
			hour, minute = h-1, 59
		default:
			return time.Date(year, month, day, h, m, 0, 0, time.UTC).Unix(), true
		}
	}
	return 0, false
}

// nextBit returns the lowest bit of mask at or above from.
func nextBit(mask uint64, from int) (int, bool) {
	rest := mask >> from << from
	return bits.TrailingZeros64(rest), rest != 0
}

// prevBit returns the highest bit of mask at or below from.
func prevBit(mask uint64, from int) (int, bool) {
	if from < 0 {
		return 0, false
	}
	rest := mask << (63 - from) >> (63 - from)
	return bits.Len64(rest) - 1, rest != 0
}

// wall is period.Wall of a local minute.
func wall(local int64, zone *time.Location) time.Time {
	return period.Wall(1970, time.January, 1, 0, int(local/60), zone)
}

// ceil returns the first whole second at or after t.
func ceil(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}

func clamp(sec int64) int64 { return min(max(sec, minSec), maxSec) }

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
