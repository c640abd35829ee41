package period

import (
	"fmt"
	"math"
	"time"
)

// At returns the period of that size that contains t in zone; the zero Period outside the years 1
// to 9999.
//
// A day begins when the clock first reaches its midnight and ends when it first reaches the next
// one, so no day is split or repeated. Longer periods begin and end with their days. Hours and
// minutes follow the clock: when it is set back, a new period begins.
func At(t time.Time, size Size, zone *time.Location) Period {
	length, sec := size.seconds(), t.Unix()
	if !size.known() || sec < minSec || sec > maxSec {
		return Period{}
	}
	if size >= Day {
		return named(Day, floor(Reached(sec+1, zone)-1, Day.seconds())).Outer(size)
	}
	g := SegmentAt(sec, zone)
	label := floor(sec+g.Offset, length)
	if first := label - g.Offset; first >= g.Start && label >= g.reachedBefore(first, zone) {
		return named(size, label)
	}
	for i, r := range runsOf(label, length, zone) {
		if sec < r.end {
			return r.name(size, label, i > 0)
		}
	}
	return Period{}
}

// named returns the plain period whose name, or whose first day, starts at the local time label;
// the zero Period if the year is out of range.
func named(size Size, label int64) Period {
	t := time.Unix(label, 0).UTC()
	year, month, day := t.Date()
	if year < minYear || year > maxYear {
		return Period{}
	}
	p := Period{size: size, year: int16(year), month: uint8(month), day: uint8(day)}
	if size <= Hour {
		p.hour = uint8(t.Hour())
	}
	if size == Minute {
		p.minute = uint8(t.Minute())
	}
	return p
}

// label returns the local time in p's name.
func (p Period) label() int64 {
	return time.Date(int(p.year), time.Month(p.month), int(p.day), int(p.hour), int(p.minute), 0, 0, time.UTC).Unix()
}

// Start returns p's first instant in zone; for a period that a clock change skips, the next
// existing instant. A name exists in zone exactly if At of its Start returns it.
func (p Period) Start(zone *time.Location) time.Time {
	start, _ := p.bounds(zone)
	return start
}

// CheckName returns an error for a name that no period of zone has: an hour or minute that a clock
// change skips, or an offset that is not that of the second occurrence of a repeated hour or
// minute.
func (p Period) CheckName(zone *time.Location) error {
	if !p.repeated && !p.IsZero() && !p.Start(zone).Before(p.End(zone)) {
		return fmt.Errorf("period %s does not exist in %s, because the clock skips it; use %s", p, zone, At(p.Start(zone), p.size, zone))
	}
	if p.repeated && At(p.Start(zone), p.size, zone) != p {
		plain := p
		plain.repeated, plain.offsetSec = false, 0
		return fmt.Errorf("period %s: in %s no clock change repeats it with that offset; leave the offset out (%s)", p, zone, plain)
	}
	return nil
}

// End returns the first instant after p in zone. A skipped period has End equal to Start.
func (p Period) End(zone *time.Location) time.Time {
	_, end := p.bounds(zone)
	return end
}

func (p Period) bounds(zone *time.Location) (start, end time.Time) {
	if p.size == 0 {
		return time.Time{}, time.Time{}
	}
	r := p.run(zone)
	return time.Unix(r.start, 0).UTC(), time.Unix(r.end, 0).UTC()
}

// next returns the local time at which the period after p begins, if no clock change repeats p.
func (p Period) next() int64 {
	if months := p.size.months(); months > 0 {
		return time.Date(int(p.year), time.Month(int(p.month)+months), 1, 0, 0, 0, 0, time.UTC).Unix()
	}
	return p.label() + p.size.seconds()
}

// thursday is the number of days from Monday to Thursday.
const thursday = 3

// monday returns the start of the week that contains the local day starting at label.
func monday(label int64) int64 {
	return floor(label-4*86400, Week.seconds()) + 4*86400 // 5 January 1970 was a Monday
}

// run returns p's interval, which is empty if zone has no such period.
func (p Period) run(zone *time.Location) run {
	label, next := p.label(), p.next()
	if !p.repeated {
		if g := SegmentAt(label, zone); g.calm(label) && g.calm(next) {
			return run{start: label - g.Offset, end: next - g.Offset}
		}
	}
	if p.size >= Day {
		return run{start: wall(label, zone), end: wall(next, zone)}
	}
	length := next - label
	for i, r := range runsOf(label, length, zone) {
		if r.name(p.size, label, i > 0) == p {
			return r
		}
	}
	if p.repeated {
		// No clock change repeats it; the offset in its name still determines an instant.
		at := label - int64(p.offsetSec)
		return run{start: at, end: at}
	}
	at := wall(label, zone)
	return run{start: at, end: at}
}

// run is an unbroken interval, [start, end), in which the clock shows the same local hour or
// minute. Setting the clock forward within it does not break it, setting it back does.
type run struct {
	start, end int64
	offset     int64 // offset at its start
}

// name returns the period of run r, which shows label.
func (r run) name(size Size, label int64, repeated bool) Period {
	p := named(size, label)
	if repeated && p.size != 0 {
		p.repeated, p.offsetSec = true, int32(r.offset)
	}
	return p
}

// runsOf lists, in order, the intervals in which the clock shows a local time in [label,
// label+length).
func runsOf(label, length int64, zone *time.Location) []run {
	var runs []run
	last := Segment{Offset: math.MaxInt64}
	for at := label - far; at < label+length+far; {
		g := SegmentAt(at, zone)
		start, end := max(label-g.Offset, g.Start), min(label+length-g.Offset, g.End)
		if start < end {
			if n := len(runs); n > 0 && runs[n-1].end == start && last.Offset <= g.Offset {
				runs[n-1].end = end
			} else {
				runs = append(runs, run{start: start, end: end, offset: g.Offset})
			}
		}
		last, at = g, g.End
	}
	return runs
}

// Add returns the period n periods after p (before, if n is negative), counting only those that
// exist in zone; the zero Period if that is outside the years 1 to 9999.
func (p Period) Add(n int, zone *time.Location) Period {
	n = int(min(max(int64(n), -maxSec), maxSec)) // more periods than exist, and safe to negate
	if p.size > Day {
		return p.addLarge(n)
	}
	for n != 0 && p.size != 0 {
		if k := p.leap(n, zone); k != 0 {
			p = named(p.size, p.label()+int64(k)*p.size.seconds())
			n -= k
			continue
		}
		if n > 0 {
			p = At(p.End(zone), p.size, zone)
			n--
		} else {
			p = At(p.Start(zone).Add(-time.Second), p.size, zone)
			n++
		}
	}
	return p
}

// addLarge is Add for periods longer than a day, which no clock change skips or repeats.
func (p Period) addLarge(n int) Period {
	const most = 12 * maxYear * 5 // more weeks than exist, and few enough to count in seconds
	n = min(max(n, -most), most)
	if p.size == Week {
		return named(Week, p.label()+int64(n)*Week.seconds())
	}
	return named(p.size, time.Date(int(p.year), time.Month(int(p.month)+n*p.size.months()), 1, 0, 0, 0, 0, time.UTC).Unix())
}

// leap returns how many of the n periods from p on (or back) can be skipped at once: those that lie
// wholly in p's segment and repeat nothing.
func (p Period) leap(n int, zone *time.Location) int {
	if p.repeated {
		return 0
	}
	label, length := p.label(), p.size.seconds()
	g := SegmentAt(p.run(zone).start, zone)
	low, high := int64(minSec), int64(maxSec)
	if g.Start != math.MinInt64 {
		low = max(low, g.Start+g.Offset, g.reachedBefore(g.Start, zone))
	}
	if g.End != math.MaxInt64 {
		high = min(high, g.End+g.Offset-1)
	}
	if label < low || label+length > high {
		return 0
	}
	if n < 0 {
		return -int(min(-int64(n), (label-low)/length))
	}
	return int(min(int64(n), (high-length-label)/length))
}

// Instant returns t in the form that every store keeps unchanged: in UTC, without a monotonic clock
// reading.
func Instant(t time.Time) time.Time { return t.Round(0).UTC() }

// Earlier returns the earlier of two instants, and Later the later one.
func Earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
