package period

import (
	"math"
	"time"
)

// Local times are represented in seconds, as the Unix time at which UTC shows them. So the local
// time of instant u under offset o is u+o, and calendar arithmetic is plain arithmetic.

// far is longer than the effect of any clock change: offsets are within 16 hours of UTC, and the
// largest changes are those of places that crossed the date line. Further than that from a
// segment's ends, local time is regular.
const far = 36 * 3600

// The range of instants: beyond year 0 and year 10000 no period has a name.
const (
	minSec = -62167219200
	maxSec = 253433923200
)

// Segment is an interval, [Start, End) in Unix seconds, in which a zone keeps its offset from UTC.
// Two neighbouring segments may have the same offset.
type Segment struct {
	Start, End int64 // math.MinInt64 and math.MaxInt64 if unbounded
	Offset     int64
}

// SegmentAt returns the segment of zone that contains the instant sec.
func SegmentAt(sec int64, zone *time.Location) Segment {
	if zone == nil {
		zone = time.UTC
	}
	t := time.Unix(sec, 0).In(zone)
	_, offset := t.Zone()
	start, end := t.ZoneBounds()
	g := Segment{Start: math.MinInt64, End: math.MaxInt64, Offset: int64(offset)}
	if !start.IsZero() {
		g.Start = firstSure(start.Unix(), sec, zone)
	}
	if !end.IsZero() {
		g.End = end.Unix()
	}
	if g.End <= sec {
		// Past the listed transitions the library ends each year after 365 days. On the last day of
		// a leap year nothing changes before midnight.
		g.End = sec - mod(sec, 86400) + 86400
	}
	return g
}

// firstSure corrects a start that the library sets to the beginning of the year, which it does past
// the last listed transition, even if that transition was later in the year.
func firstSure(start, sec int64, zone *time.Location) int64 {
	for start%86400 == 0 {
		_, end := time.Unix(start, 0).In(zone).ZoneBounds()
		if end.IsZero() || end.Unix() <= start || end.Unix() > sec {
			break
		}
		start = end.Unix()
	}
	return start
}

// Reached returns the local time, exclusive, that the clock in zone had reached just before the
// instant sec: every earlier local time has been shown or skipped, no later one has. So Wall of a
// local time is at or after sec exactly if that local time is at or after Reached(sec).
func Reached(sec int64, zone *time.Location) int64 {
	sec = clamp(sec)
	g := SegmentAt(sec-1, zone)
	return max(sec+g.Offset, g.reachedBefore(sec, zone))
}

// reachedBefore returns the local time that the clock had reached before g began, as far as it can
// matter for the instant sec in g.
func (g Segment) reachedBefore(sec int64, zone *time.Location) int64 {
	reached := int64(math.MinInt64)
	if g.Start == math.MinInt64 || sec-g.Start > far {
		return reached
	}
	for at := g.Start; at > sec-2*far; {
		earlier := SegmentAt(at-1, zone)
		reached = max(reached, at+earlier.Offset)
		at = earlier.Start
	}
	return reached
}

// Wall returns the first instant at which the clock in zone shows the given local time or a later
// one: for a local time that does not exist, the next existing instant; for one that exists twice,
// the first. Day and minute may be out of range, as in time.Date.
func Wall(year int, month time.Month, day, hour, minute int, zone *time.Location) time.Time {
	local := time.Date(year, month, day, hour, minute, 0, 0, time.UTC).Unix()
	return time.Unix(wall(clamp(local), zone), 0).UTC()
}

func wall(local int64, zone *time.Location) int64 {
	if g := SegmentAt(local, zone); g.calm(local) {
		return local - g.Offset
	}
	for at := local - far; ; {
		g := SegmentAt(at, zone)
		if first := max(g.Start, local-g.Offset); first < g.End {
			return first
		}
		at = g.End
	}
}

// calm reports whether both ends of g are so far from the local time that no clock change affects
// it.
func (g Segment) calm(local int64) bool {
	return (g.Start == math.MinInt64 || local-g.Start > far) && (g.End == math.MaxInt64 || g.End-local > far)
}

func clamp(sec int64) int64 { return min(max(sec, minSec), maxSec) }

// mod returns the non-negative remainder.
func mod(a, n int64) int64 { return ((a % n) + n) % n }

// floor returns the largest multiple of n at or below a.
func floor(a, n int64) int64 { return a - mod(a, n) }
