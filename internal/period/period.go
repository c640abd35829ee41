// Package period defines the slice of time that a run's data is for: a quarter of a year, a month,
// an ISO week, a day, an hour or a minute in a time zone.
//
// A Period is a name ("2026-Q1", "2026-03", "2026-W10", "2026-03-03", "2026-03-03T10",
// "2026-03-03T10:15"); only together with a zone does it have a first and a last instant. When a
// clock change repeats a local hour, the name of the second occurrence has its offset
// ("2026-11-01T01-05:00"), so every name is unique. The package never reads a clock. Schedules over
// periods are in package schedule.
package period

import (
	"cmp"
	"fmt"
	"iter"
	"time"
)

// Size is the length of a period.
type Size uint8

// The sizes, smallest first, so that they compare.
const (
	Minute Size = iota + 1
	Hour
	Day
	Week
	Month
	Quarter
)

// SizeNames lists the names of the sizes, for messages.
const SizeNames = "quarter, month, week, day, hour or minute"

// Sizes returns all sizes, smallest first.
func Sizes() [6]Size { return [...]Size{Minute, Hour, Day, Week, Month, Quarter} }

// sizes are the facts about each size.
var sizes = [...]struct {
	name    string
	seconds int64         // without clock changes; 0 for a month and a quarter, which have no fixed length
	longest time.Duration // whatever clock changes it contains
}{
	Minute:  {"minute", 60, time.Minute},
	Hour:    {"hour", 3600, time.Hour},
	Day:     {"day", 86400, 3 * 24 * time.Hour},
	Week:    {"week", 7 * 86400, 9 * 24 * time.Hour},
	Month:   {"month", 0, 33 * 24 * time.Hour}, // a zone that crosses the date line may add a day
	Quarter: {"quarter", 0, 94 * 24 * time.Hour},
}

// ParseSize parses "quarter", "month", "week", "day", "hour" or "minute".
func ParseSize(s string) (Size, error) {
	for _, size := range Sizes() {
		if sizes[size].name == s {
			return size, nil
		}
	}
	return 0, fmt.Errorf("period size %.60q is unknown: use "+SizeNames, s)
}

// String returns the name that ParseSize parses.
func (s Size) String() string {
	if !s.known() {
		return "unknown size"
	}
	return sizes[s].name
}

// known reports whether s is one of the sizes.
func (s Size) known() bool { return s >= Minute && s <= Quarter }

// seconds returns the length of a period of this size without clock changes; 0 for a month and a
// quarter, which have no fixed length, and for an unknown size.
func (s Size) seconds() int64 {
	if !s.known() {
		return 0
	}
	return sizes[s].seconds
}

// months returns the length of a month or quarter in months; 0 for the other sizes.
func (s Size) months() int {
	switch s {
	case Month:
		return 1
	case Quarter:
		return monthsInQuarter
	}
	return 0
}

// Longest returns an upper bound for the length of a period of this size, whatever clock changes it
// contains.
func (s Size) Longest() time.Duration {
	if !s.known() {
		return 0
	}
	return sizes[s].longest
}

// monthsInQuarter is the number of months in a quarter.
const monthsInQuarter = 3

// Period names one slice of time. The zero Period means "undated". Periods are comparable with ==.
// A week, a month and a quarter store the date of their first day.
type Period struct {
	size      Size
	year      int16
	month     uint8
	day       uint8
	hour      uint8
	minute    uint8
	repeated  bool  // the second occurrence of a repeated local time ...
	offsetSec int32 // ... which then carries its offset from UTC
}

// The range of years: those that four digits can express.
const (
	minYear = 1
	maxYear = 9999
)

// New returns the (first) period of that size with the given fields; fields smaller than size are
// ignored. A week is the one that contains the given date, and a quarter the one that contains the
// given month. New fails on a date, hour or minute that
// no clock shows (February 30th, hour 24).
func New(size Size, year int, month time.Month, day, hour, minute int) (Period, error) {
	if !size.known() {
		return Period{}, fmt.Errorf("period size %d is unknown: use "+SizeNames, size)
	}
	if size >= Month {
		day = 1
	}
	if year < minYear || year > maxYear {
		return Period{}, fmt.Errorf("year %d is out of range: use %04d to %d", year, minYear, maxYear)
	}
	if month < time.January || month > time.December {
		return Period{}, fmt.Errorf("month %d does not exist: use 1 to 12", int(month))
	}
	if last := DaysIn(year, month); day < 1 || day > last {
		return Period{}, fmt.Errorf("day %d does not exist: %s %d has days 1 to %d", day, month, year, last)
	}
	p := Period{size: size, year: int16(year), month: uint8(month), day: uint8(day)}
	if size == Week || size == Quarter {
		p.size = Day
		return p.Outer(size), nil
	}
	if size <= Hour {
		if hour < 0 || hour > 23 {
			return Period{}, fmt.Errorf("hour %d does not exist: use 0 to 23", hour)
		}
		p.hour = uint8(hour)
	}
	if size == Minute {
		if minute < 0 || minute > 59 {
			return Period{}, fmt.Errorf("minute %d does not exist: use 0 to 59", minute)
		}
		p.minute = uint8(minute)
	}
	return p, nil
}

// DaysIn returns the number of days in a month.
func DaysIn(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// IsZero reports whether p is "undated".
func (p Period) IsZero() bool { return p == Period{} }

// Size returns p's size; 0 for the zero Period.
func (p Period) Size() Size { return p.size }

// Date returns the calendar date of p, which is all that calendars use; for a week, month or
// quarter, that of its first day.
func (p Period) Date() (year int, month time.Month, day int) {
	return int(p.year), time.Month(p.month), int(p.day)
}

// Clock returns the hour and minute in p's name; 0 if its size has none.
func (p Period) Clock() (hour, minute int) { return int(p.hour), int(p.minute) }

// Weekday returns the weekday of Date.
func (p Period) Weekday() time.Weekday {
	return time.Date(int(p.year), time.Month(p.month), int(p.day), 0, 0, 0, 0, time.UTC).Weekday()
}

// Outer returns the period of a larger (or the same) size that contains p; for a smaller size it
// returns the zero Period. It goes by name: a repeated minute lies in the repeated hour, and both
// lie in their day. A week that spans two months belongs to the month, and the quarter, of its
// Thursday, as ISO 8601 assigns weeks to years.
func (p Period) Outer(size Size) Period {
	if p.size == 0 || size < p.size || !size.known() {
		return Period{}
	}
	if size == p.size {
		return p
	}
	switch size {
	case Hour:
		p.size, p.minute = Hour, 0
		return p
	case Day:
		return p.FirstDay()
	case Week:
		return named(Week, monday(p.FirstDay().label()))
	case Month, Quarter:
		day := p.FirstDay()
		if p.size == Week {
			day = named(Day, p.label()+thursday*86400)
		}
		day.size, day.day = size, 1
		if size == Quarter {
			day.month -= (day.month - 1) % monthsInQuarter
		}
		return day
	}
	return Period{}
}

// FirstDay returns the day of p or, for a longer period, its first day; the zero Period if p is
// zero.
func (p Period) FirstDay() Period {
	if p.size == 0 {
		return Period{}
	}
	return Period{size: Day, year: p.year, month: p.month, day: p.day}
}

// Days iterates over the days in p, by name; for a day or a smaller period, the day it lies on.
func (p Period) Days() iter.Seq[Period] {
	return func(yield func(Period) bool) {
		if p.size == 0 {
			return
		}
		first := p.FirstDay()
		end := first.label() + 86400
		if p.size > Day {
			end = p.next()
		}
		for label := first.label(); label < end; label += 86400 {
			if !yield(named(Day, label)) {
				return
			}
		}
	}
}

// Holds reports whether q lies inside p (or equals p).
func (p Period) Holds(q Period) bool { return p.size != 0 && q.Outer(p.size) == p }

// Compare orders by first instant according to the names, larger periods first; a repeated period
// comes after its first occurrence. It needs no zone and is used for stable listings, "oldest
// first".
func (p Period) Compare(q Period) int {
	// The minute is compared after the repetition: all of 01:00–01:59 passes before 01:00 is
	// repeated.
	return cmp.Or(
		cmp.Compare(p.year, q.year),
		cmp.Compare(p.month, q.month),
		cmp.Compare(p.day, q.day),
		cmp.Compare(p.hour, q.hour),
		compareRepeats(p, q),
		cmp.Compare(p.minute, q.minute),
		cmp.Compare(q.size, p.size),
	)
}

// compareRepeats puts a first occurrence before a repeated one. Of two repeated ones, the one with
// the larger offset comes first: the same local time is reached earlier further east.
func compareRepeats(p, q Period) int {
	switch {
	case p.repeated && q.repeated:
		return cmp.Compare(q.offsetSec, p.offsetSec)
	case p.repeated:
		return 1
	case q.repeated:
		return -1
	}
	return 0
}
