package run

import (
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// Presence is the record of when some replica could accept heartbeats. Between its spans none could,
// so no worker may be given up for its silence then. The replicas store the record, so a decision
// never guesses how long they were away.
type Presence struct {
	Spans []Span `json:"spans"` // oldest first, with absences between them
}

// Span is a stretch of time.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// The limits of the record: no attempt may last longer than a poll window of a day plus what it
// waited for.
const (
	presenceLife = 48 * time.Hour
	maxSpans     = 200
	// maxSkew is how far the clocks of two replicas may differ.
	maxSkew = 5 * time.Second
)

// Add returns the record with one more span, which ends now, without those that ended long before it.
// What lies after it was recorded by a clock that was ahead, and says nothing.
func (p Presence) Add(s Span) Presence {
	s.From, s.To = period.Instant(s.From), period.Instant(s.To)
	latest := s.To.Add(maxSkew)
	spans := make([]Span, 0, len(p.Spans)+1)
	for _, one := range p.Spans {
		one.To = period.Earlier(one.To, latest)
		switch {
		case one.From.After(latest) || s.To.Sub(one.To) > presenceLife:
		case one.To.Before(s.From) || s.To.Before(one.From):
			spans = append(spans, one)
		default: // they touch
			s.From, s.To = period.Earlier(s.From, one.From), period.Later(s.To, one.To)
		}
	}
	spans = append(spans, s)
	slices.SortFunc(spans, func(a, b Span) int { return a.From.Compare(b.From) })
	return Presence{Spans: spans[max(0, len(spans)-maxSpans):]}
}

// Covers reports whether the record has the whole of s, up to a tolerance at its end.
func (p Presence) Covers(s Span, tolerance time.Duration) bool {
	return slices.ContainsFunc(p.Spans, func(one Span) bool {
		return !one.From.After(s.From) && !one.To.Before(s.To.Add(-tolerance))
	})
}

// SilentUntil returns when a worker counts as lost that was last heard at heard and has to be heard
// again by nextBy: each absence of all replicas before that moves it to the end of the absence plus
// limit, if that is later. proven means that the replicas were there to hear the worker until then; if
// not, it is too early to decide.
func (p Presence) SilentUntil(heard, nextBy time.Time, limit time.Duration, now time.Time) (lost time.Time, proven bool) {
	lost = nextBy
	var presentUntil time.Time
	for _, s := range p.Spans {
		if s.From.After(now.Add(maxSkew)) {
			break // recorded by a clock that was ahead
		}
		if back := s.From; back.After(heard) && presentUntil.Before(lost) {
			lost = period.Later(lost, back.Add(limit))
		}
		presentUntil = s.To
	}
	return lost, !presentUntil.Before(lost)
}
