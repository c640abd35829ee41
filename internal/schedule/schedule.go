// Package schedule decides which periods a pipeline has, when each opens and which the calendar excludes.
// Cron expressions are parsed by a library and walked here, because the rule for clock changes is ours:
// an expression whose hour field starts with "*" follows elapsed time, any other follows the wall clock.
// It reads no clock. Deadlines are in package sla.
package schedule

import (
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// Spec is what a schedule is made of, already resolved and checked by package pipeline.
type Spec struct {
	Cron    *Cron // nil without cron
	Zone    *time.Location
	Size    period.Size
	Offset  int             // ≤ 0
	Time    *Clock          // schedule.time; nil without
	Include []period.Period // include dates; empty: every day
	Opens   bool            // include dates open by themselves: there is no start condition
	Exclude []Calendar      // the union is excluded; inline exclusions are calendars without a name
}

// Schedule is an immutable Spec with its answers. There is one for every pipeline: what few of them have stands apart.
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
	if s.opensDays() {
		s.offset = 0 // a listed day is the period itself, and opens on that day
	}
	if len(spec.Exclude) > 0 {
		s.exclude = newExclusions(spec.Exclude)
	}
	return s
}

// Cron is the schedule's expression; nil without one.
func (s *Schedule) Cron() *Cron { return s.cron }

// Zone is the schedule's zone.
func (s *Schedule) Zone() *time.Location { return s.zone }

// Size is the schedule's period size.
func (s *Schedule) Size() period.Size { return s.size }

// PeriodAt is the period of the pipeline's size that a fire, or an undated reading, at t is for (offset applied).
func (s *Schedule) PeriodAt(t time.Time) period.Period {
	return s.sliceAt(t).Add(s.offset, s.zone)
}

// SliceStart is the first instant of the slice that holds a fire at t (offset not applied): what an undated start
// condition must not be older than.
func (s *Schedule) SliceStart(t time.Time) time.Time { return s.sliceAt(t).Start(s.zone) }

func (s *Schedule) sliceAt(t time.Time) period.Period { return period.At(t, s.size, s.zone) }

// FireFor is when period p opens by itself: the fire whose PeriodAt is p; zero if there is none. Of two fires
// that a clock change drives into one period it is the first.
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

// EarliestStart is schedule.time on the day that p is handled, which is p's own day unless an offset moves it, and the
// first day of a week or month; without schedule.time it is the first instant of p.
func (s *Schedule) EarliestStart(p period.Period) time.Time {
	if s.time == nil || p.IsZero() {
		return p.Start(s.zone)
	}
	return s.timeOn(s.handled(p).FirstDay())
}

// OpensFrom is the earliest instant at which p can open: its fire or, without one, the beginning of the slice in which
// an undated reading is for p; in any case not before schedule.time.
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

// handled is the slice in which p's turn comes, which is p itself unless an offset moves it; periods of another size than
// the schedule's know no offset.
func (s *Schedule) handled(p period.Period) period.Period {
	if p.Size() != s.size {
		return p
	}
	return p.Add(-s.offset, s.zone)
}

// timeOn is schedule.time on that day; its first instant without.
func (s *Schedule) timeOn(day period.Period) time.Time {
	if s.time == nil || s.time.Hourly() {
		return day.Start(s.zone)
	}
	year, month, date := day.Date()
	return period.Wall(year, month, date, s.time.Hour, s.time.Minute, s.zone)
}

// Listed says that the days of a list open by themselves, rather than the fires of a cron expression.
func (s *Schedule) Listed() bool { return s.opensDays() }

// HasTime says that schedule.time sets an earliest start; without it EarliestStart is no more than the beginning of a period.
func (s *Schedule) HasTime() bool { return s.time != nil }
