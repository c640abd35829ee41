// Package schedule decides which periods a pipeline has, when each opens and which the calendar
// excludes. A library parses cron expressions, but this package computes their fires, because the
// rule for clock changes is ours: an expression whose hour field starts with "*" follows elapsed
// time, any other follows the wall clock. It reads no clock. Deadlines are in package sla.
package schedule

import (
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// Spec is the input of a schedule, already resolved and checked by package pipeline.
type Spec struct {
	Cron    *Cron // nil without cron
	Zone    *time.Location
	Size    period.Size
	Offset  int             // ≤ 0
	Time    *Clock          // schedule.time; nil without
	Include []period.Period // include dates; empty: every day
	Opens   bool            // include dates open by themselves: there is no start condition
	Exclude []Calendar      // their union is excluded; inline exclusions are unnamed calendars
}

// Schedule is a compiled, immutable Spec. Every pipeline has one, so rarely used parts are behind
// pointers.
type Schedule struct {
	cron    *Cron
	zone    *time.Location
	time    *Clock
	include []period.Period // sorted days; empty: every day
	exclude *exclusions     // nil: no day is excluded
	offset  int
	size    period.Size
	opens   bool
}

// New compiles spec.
func New(spec Spec) *Schedule {
	s := &Schedule{cron: spec.Cron, zone: spec.Zone, size: spec.Size, offset: spec.Offset, time: spec.Time, opens: spec.Opens}
	if s.zone == nil {
		s.zone = time.UTC
	}
	for _, p := range spec.Include {
		if day := p.FirstDay(); !day.IsZero() {
			s.include = append(s.include, day)
		}
	}
	slices.SortFunc(s.include, period.Period.Compare)
	s.include = slices.Compact(s.include)
	if s.Listed() {
		s.offset = 0 // a listed day is its own period, and opens on that day
	}
	if len(spec.Exclude) > 0 {
		s.exclude = newExclusions(spec.Exclude)
	}
	return s
}

// Cron returns the schedule's expression; nil without one.
func (s *Schedule) Cron() *Cron { return s.cron }

// Zone returns the schedule's time zone.
func (s *Schedule) Zone() *time.Location { return s.zone }

// Size returns the schedule's period size.
func (s *Schedule) Size() period.Size { return s.size }

// PeriodAt returns the period that a fire, or an undated reading, at t is for (offset applied).
func (s *Schedule) PeriodAt(t time.Time) period.Period {
	return s.sliceAt(t).Add(s.offset, s.zone)
}

// Current returns the period that a request at t is about if it names none: the one that a fire at t
// is for or, if no fire is for that, the one of the last fire before t. So between two fires of
// "*/15 * * * *" it is that of the earlier fire.
func (s *Schedule) Current(t time.Time) period.Period {
	p := s.PeriodAt(t)
	if s.cron == nil || !s.FireFor(p).IsZero() {
		return p
	}
	fire := s.cron.Prev(t, s.zone)
	if fire.IsZero() {
		return p
	}
	return s.PeriodAt(fire)
}

// SliceStart returns the start of the period that contains a fire at t (offset not applied): an
// undated start condition must not be older.
func (s *Schedule) SliceStart(t time.Time) time.Time { return s.sliceAt(t).Start(s.zone) }

// SliceEnd returns the end, exclusive, of the period that contains t (offset not applied).
func (s *Schedule) SliceEnd(t time.Time) time.Time { return s.sliceAt(t).End(s.zone) }

func (s *Schedule) sliceAt(t time.Time) period.Period { return period.At(t, s.size, s.zone) }

// FireFor returns when period p opens by itself: the fire whose PeriodAt is p; zero if there is
// none. If a clock change moves two fires into one period, it is the first.
func (s *Schedule) FireFor(p period.Period) time.Time {
	if p.IsZero() || p.Size() != s.size {
		return time.Time{}
	}
	if s.cron == nil {
		return s.openingOf(p)
	}
	fire := s.cron.from(s.handled(p).Start(s.zone).Unix(), s.zone)
	if fire.IsZero() || s.PeriodAt(fire) != p {
		return time.Time{}
	}
	return fire
}

// EarliestStart returns schedule.time on the day that p is handled, which is p's own day (the first
// day of a longer period) unless an offset moves it; without schedule.time, the first instant of p.
func (s *Schedule) EarliestStart(p period.Period) time.Time {
	if s.time == nil || p.IsZero() {
		return p.Start(s.zone)
	}
	return s.timeOn(s.handled(p).FirstDay())
}

// OpensFrom returns the earliest time at which p can open: its fire or, without one, the start of
// the period in which an undated reading is for p; never before schedule.time.
func (s *Schedule) OpensFrom(p period.Period) time.Time {
	opens := s.FireFor(p)
	if opens.IsZero() {
		opens = s.handled(p).Start(s.zone)
	}
	if earliest := s.EarliestStart(p); earliest.After(opens) {
		return earliest
	}
	return opens
}

// handled returns the period in which p is processed, which is p itself unless an offset moves it;
// the offset does not apply to periods of another size.
func (s *Schedule) handled(p period.Period) period.Period {
	if p.Size() != s.size {
		return p
	}
	return p.Add(-s.offset, s.zone)
}

// timeOn returns schedule.time on that day; without it, the start of the day.
func (s *Schedule) timeOn(day period.Period) time.Time {
	if s.time == nil || s.time.Hourly() {
		return day.Start(s.zone)
	}
	year, month, date := day.Date()
	return period.Wall(year, month, date, s.time.Hour, s.time.Minute, s.zone)
}

// HasTime reports whether schedule.time sets an earliest start.
func (s *Schedule) HasTime() bool { return s.time != nil }
