package store

import (
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
)

// ExcludedMark is the mark that keeps a period closed: nothing but a forced request opens it, and no
// deadline is armed for it. The router sets it when the calendar excludes a period that is due, so
// that a later edit brings back neither the period nor its deadline; Trim sets it when it deletes a
// run, so that a late write does not open the period again.
func ExcludedMark(key run.Key) string { return "excluded/" + key.String() }

// ExcludedLife is how long an ExcludedMark is kept.
const ExcludedLife = 10 * 366 * 24 * time.Hour

// WhyExcluded says what an ExcludedMark means. What set it is not recorded in it.
const WhyExcluded = "excluded when it was due, or its run was deleted by retention.runs"

// Periods is a set of periods that quickly answers whether a period overlaps one of them. Trim uses
// it for the periods of open runs.
type Periods struct{ is, holds map[period.Period]bool }

// Add adds a period to the set.
func (s *Periods) Add(p period.Period) {
	if s.is == nil {
		s.is, s.holds = map[period.Period]bool{}, map[period.Period]bool{}
	}
	s.is[p] = true
	for _, size := range period.Sizes() {
		s.holds[p.Outer(size)] = true
	}
}

// Touch reports whether p equals, contains or lies within a period of the set.
func (s *Periods) Touch(p period.Period) bool {
	for _, size := range period.Sizes() {
		if outer := p.Outer(size); !outer.IsZero() && s.is[outer] {
			return true
		}
	}
	return s.holds[p]
}

// westmost is how long after UTC a day ends in the westernmost time zone.
const westmost = 12 * time.Hour

// AgesFrom returns when the retention of a write starts: when it was written or, if later, when its
// period, but at least the day of it, has ended in every time zone. A reading may be written long
// before its period.
func AgesFrom(written time.Time, p period.Period) time.Time {
	if p.IsZero() {
		return written
	}
	if p.Size() < period.Day {
		p = p.Outer(period.Day)
	}
	if over := p.End(time.UTC).Add(westmost); over.After(written) {
		return over
	}
	return written
}
