package run

import (
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// Presence is the record of when some replica could accept heartbeats. Between its spans none could:
// no worker may be given up for a silence that nobody could have heard. It is a fact like any other,
// stored by the replicas, so a decision never has to guess how long they were away.
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
)

// Add returns the record with one more span, without those that ended long before it.
func (p Presence) Add(s Span) Presence {
	s.From, s.To = period.Instant(s.From), period.Instant(s.To)
	spans := make([]Span, 0, len(p.Spans)+1)
	for _, one := range p.Spans {
		switch {
		case s.To.Sub(one.To) > presenceLife:
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

// SilentUntil returns when a worker that was last heard at heard, and may be silent for limit, counts
// as lost: each absence of all replicas moves that to its end plus the limit. proven means that the
// replicas were there to hear the worker until then; if not, it is too early to decide.
func (p Presence) SilentUntil(heard time.Time, limit time.Duration) (lost time.Time, proven bool) {
	lost = heard.Add(limit)
	var here time.Time // the end of the span before
	for _, s := range p.Spans {
		if absent := s.From; absent.After(heard) && here.Before(lost) {
			lost = period.Later(lost, absent.Add(limit))
		}
		here = s.To
	}
	return lost, !here.Before(lost)
}
