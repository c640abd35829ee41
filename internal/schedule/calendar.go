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
	weekdays [7]string                // why a weekday is excluded; "" when it is not
	dates    map[period.Period]string // why a day is excluded
}

func newExclusions(calendars []Calendar) *exclusions {
	e := &exclusions{dates: map[period.Period]string{}}
	for _, c := range calendars {
		e.add(c)
	}
	return e
}

// add adds the days of c with their reasons; where calendars overlap, the first gives the reason.
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
		if day := p.Outer(period.Day); e.dates[day] == "" {
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

// Excluded says why the calendar suppresses p; "" when it does not.
func (s *Schedule) Excluded(p period.Period) string {
	if p.IsZero() {
		return ""
	}
	if len(s.include) > 0 && !s.includes(p) {
		return "not an include date"
	}
	if s.exclude == nil {
		return ""
	}
	if reason := s.exclude.weekdays[p.Weekday()]; reason != "" {
		return reason
	}
	return s.exclude.dates[p.Outer(period.Day)]
}

// includes says whether p lies on a listed include date.
func (s *Schedule) includes(p period.Period) bool {
	_, found := slices.BinarySearchFunc(s.include, p.Outer(period.Day), period.Period.Compare)
	return found
}
