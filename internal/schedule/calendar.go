package schedule

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// Calendar is a named set of days: weekdays and dates.
type Calendar struct {
	Name  string
	Days  []time.Weekday
	Dates []period.Period // of size Day
}

// exclusions is the union of calendars.
type exclusions struct {
	weekdays [7]string                // why a weekday is excluded; "" if it is not
	dates    map[period.Period]string // why a day is excluded
}

func newExclusions(calendars []Calendar) *exclusions {
	e := &exclusions{dates: map[period.Period]string{}}
	for _, c := range calendars {
		e.add(c)
	}
	return e
}

// add adds the days of c with their reasons; if calendars overlap, the first determines the reason.
func (e *exclusions) add(c Calendar) {
	for _, d := range c.Days {
		if d >= time.Sunday && d <= time.Saturday && e.weekdays[d] == "" {
			e.weekdays[d] = c.weekdayReason(d)
		}
	}
	reason := "listed date"
	if c.Name != "" {
		reason = fmt.Sprintf("calendar %q", c.Name)
	}
	for _, p := range c.Dates {
		if day := p.FirstDay(); e.dates[day] == "" {
			e.dates[day] = reason
		}
	}
}

func (c Calendar) weekdayReason(d time.Weekday) string {
	switch {
	case c.Name != "":
		return fmt.Sprintf("calendar %q", c.Name)
	case (d == time.Saturday || d == time.Sunday) && slices.Contains(c.Days, time.Saturday) && slices.Contains(c.Days, time.Sunday):
		return "weekend"
	}
	return "listed weekday"
}

// Excluded returns why the calendar excludes p; "" if it does not. A week or longer period is
// excluded if all of its days are.
func (s *Schedule) Excluded(p period.Period) string {
	switch {
	case p.IsZero() || len(s.include) == 0 && s.exclude == nil:
		return ""
	case p.Size() <= period.Day:
		return s.excludedDay(p.FirstDay())
	}
	reason := ""
	for day := range p.Days() {
		switch why := s.excludedDay(day); {
		case why == "":
			return ""
		case reason == "":
			reason = why
		case reason != why:
			reason = "each of its days is excluded"
		}
	}
	return reason
}

func (s *Schedule) excludedDay(day period.Period) string {
	if len(s.include) > 0 && s.includedIn(day).IsZero() {
		return "not an include date"
	}
	if s.exclude == nil {
		return ""
	}
	if reason := s.exclude.weekdays[day.Weekday()]; reason != "" {
		return reason
	}
	return s.exclude.dates[day]
}

// includedIn returns the first include date that contains p or, for a longer period, that lies
// in p; the zero Period if there is none.
func (s *Schedule) includedIn(p period.Period) period.Period {
	i, _ := slices.BinarySearchFunc(s.include, p.FirstDay(), period.Period.Compare)
	if i == len(s.include) {
		return period.Period{}
	}
	day := s.include[i]
	if day == p.FirstDay() || p.Holds(day) {
		return day
	}
	return period.Period{}
}
