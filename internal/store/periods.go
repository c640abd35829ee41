package store

import (
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// Periods is a set of periods that says quickly what lies in them or holds them: what Trim asks of the periods of open runs.
type Periods struct{ is, holds map[period.Period]bool }

// Add puts a period into the set.
func (s *Periods) Add(p period.Period) {
	if s.is == nil {
		s.is, s.holds = map[period.Period]bool{}, map[period.Period]bool{}
	}
	s.is[p] = true
	for _, size := range period.Sizes() {
		s.holds[p.Outer(size)] = true
	}
}

// Touch says whether p is, holds or lies in one of them.
func (s *Periods) Touch(p period.Period) bool {
	for _, size := range period.Sizes() {
		if outer := p.Outer(size); !outer.IsZero() && s.is[outer] {
			return true
		}
	}
	return s.holds[p]
}

// westmost is how long after UTC a day ends in the last zone on Earth.
const westmost = 12 * time.Hour

// AgesFrom returns the instant that the retention of a write counts from: when it was written or, if that is later, when the
// day, week or month of its period is over everywhere. A reading may be written long before its period.
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
