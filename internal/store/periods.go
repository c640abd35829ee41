package store

import (
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// Sizes are those of periods, each held by the next.
var Sizes = []period.Size{period.Minute, period.Hour, period.Day}

// Periods is a set of periods that says quickly what lies in them or holds them: what Trim asks of the periods of open runs.
type Periods struct{ is, holds map[period.Period]bool }

// Add puts a period into the set.
func (s *Periods) Add(p period.Period) {
	if s.is == nil {
		s.is, s.holds = map[period.Period]bool{}, map[period.Period]bool{}
	}
	s.is[p] = true
	for _, size := range Sizes {
		s.holds[p.Outer(size)] = true
	}
}

// Touch says whether p is, holds or lies in one of them.
func (s *Periods) Touch(p period.Period) bool {
	for _, size := range Sizes {
		if outer := p.Outer(size); !outer.IsZero() && s.is[outer] {
			return true
		}
	}
	return s.holds[p]
}

// westmost is how long after UTC a day ends in the last zone on Earth.
const westmost = 12 * time.Hour

// AgesFrom returns the instant that the retention of a write counts from: when it was written or, if that is later, when the
// day of its period is over everywhere. A reading may be written long before its period.
func AgesFrom(written time.Time, p period.Period) time.Time {
	if p.IsZero() {
		return written
	}
	year, month, day := p.Date()
	if over := time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC).Add(westmost); over.After(written) {
		return over
	}
	return written
}
