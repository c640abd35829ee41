package sensor

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// Seen is what a key shows to a rule for one period.
type Seen struct {
	Reading *Reading      // nil when there is none for the period
	For     period.Period // the period that was asked for
	Other   period.Period // without a Reading: a period there is a reading for, the newest; zero if there is none
	Note    string        // why a reading does not count, or what to know beside the one that does; often ""
	Over    []Seen        // of a rule over several slices: what each of them shows, in order; then there is no Reading
}

// ForSlices picks what a rule over several slices sees for each of them, among the latest reading of each period (any order).
// It is ForPeriod without the undated reading, which is a fact about no slice.
func ForSlices(slices []period.Period, latest []*Reading) []Seen {
	dated := make(map[period.Period]*Reading, len(latest))
	for _, r := range latest {
		if r != nil && !r.Deleted && !r.Period.IsZero() {
			dated[r.Period] = r
		}
	}
	all := make([]Seen, len(slices))
	for i, p := range slices {
		all[i].For = p
		for size := p.Size(); size <= period.Month && all[i].Reading == nil; size++ {
			all[i].Reading = dated[p.Outer(size)]
		}
	}
	return all
}

// ForPeriod picks what rules see of one key for period p, among the latest reading of each period (any order):
// the reading of p, else of the slice that holds p, else the undated one. A day's fact holds for its hours,
// never the reverse; a reading dated for another period is never used, nor is one that was deleted.
func ForPeriod(p period.Period, latest []*Reading) Seen {
	dated, undated, other := pick(p, latest)
	switch {
	case dated != nil:
		return Seen{Reading: dated, For: p}
	case undated != nil:
		return Seen{Reading: undated, For: p}
	}
	return Seen{For: p, Other: other}
}

// ForStart is ForPeriod as a start condition sees it under cron: an undated reading counts only if it was
// written at or after since, the first instant of the slice that holds the fire.
func ForStart(p period.Period, since time.Time, latest []*Reading) Seen {
	dated, undated, other := pick(p, latest)
	switch {
	case dated != nil:
		return Seen{Reading: dated, For: p}
	case undated == nil:
		return Seen{For: p, Other: other}
	case undated.UpdatedAt.Before(since):
		return Seen{For: p, Other: other, Note: tooEarly(p, undated.UpdatedAt, since)}
	}
	return Seen{Reading: undated, For: p}
}

func tooEarly(p period.Period, written, since time.Time) string {
	return fmt.Sprintf("written %s, before %s: an undated reading counts only for the slice it was written in; date it to use it for %s",
		period.Stamp(written), period.Stamp(since), p)
}

// pick tells apart, among the latest readings of one key, the one for the smallest slice that holds p, the
// undated one, and the newest period that has nothing to do with p.
func pick(p period.Period, latest []*Reading) (dated, undated *Reading, other period.Period) {
	for _, r := range latest {
		switch {
		case r == nil || r.Deleted:
		case r.Period.IsZero():
			undated = r
		case !p.IsZero() && r.Period.Holds(p):
			if dated == nil || r.Period.Size() < dated.Period.Size() {
				dated = r
			}
		case other.IsZero() || r.Period.Compare(other) > 0:
			other = r.Period
		}
	}
	return dated, undated, other
}
