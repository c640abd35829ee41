// Package sensor defines the data that external processes push: a reading is one write of a map of
// fields under a key, for one period or undated. It decides which period a write is for, and which
// reading a rule sees for a period. It stores nothing; rules over readings are in package rule.
package sensor

import (
	"fmt"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// Fields are the user's data. Values are nil, bool, int64, float64, string, []any and
// map[string]any only, which Decode and Normalize ensure. A JSON integer that fits is int64.
type Fields map[string]any

// At returns a field, which may be a dotted path; nil if it does not exist.
func (f Fields) At(path string) any {
	if v := f[path]; v != nil {
		return v
	}
	name, rest, dotted := strings.Cut(path, ".")
	inner, ok := f[name].(map[string]any)
	if !dotted || !ok {
		return nil
	}
	return Fields(inner).At(rest)
}

// Unchanged returns when the data of r last changed.
func (r *Reading) Unchanged() time.Time {
	if r.ChangedAt.IsZero() {
		return r.UpdatedAt
	}
	return r.ChangedAt
}

// Reading is one write of a sensor. If Deleted, it has no fields: rules then see its period as if
// it had never been written.
type Reading struct {
	Key       Key
	Period    period.Period // zero: undated
	Fields    Fields
	UpdatedAt time.Time
	ChangedAt time.Time // when the fields last changed, however often it was written since; zero: at UpdatedAt
	Version   int64
	Source    string
	ExpiresAt time.Time // zero: never
	Deleted   bool      // it deletes the previous reading of its period
}

// Seen is what a rule sees of a key for one period.
type Seen struct {
	Reading *Reading      // nil if there is none for the period
	For     period.Period // the requested period
	Other   period.Period // without a Reading: the newest period that has one; zero if there is none
	Note    string        // why a reading does not count, or a remark on the one that does; often ""
	At      time.Time     // the instant to evaluate it at, if not that of the whole evaluation; often zero
	Over    []Seen        // for a rule over several periods: each of them, in order; then there is no Reading
}

// ForSlices picks what a rule over several periods sees for each of them, among the latest reading
// of each period (any order). It is ForPeriod without the undated reading, which says nothing about
// a single period.
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
		for _, size := range period.Sizes() {
			if all[i].Reading == nil && size >= p.Size() {
				all[i].Reading = dated[p.Outer(size)]
			}
		}
	}
	return all
}

// ForPeriod picks what rules see of one key for period p, among the latest reading of each period
// (any order): the reading of p, or else of a larger period that contains p, or else the undated
// one. A day's fact holds for its hours, never the reverse. It never uses a reading dated for
// another period, or a deleted one.
func ForPeriod(p period.Period, latest []*Reading) Seen { return ForStart(p, time.Time{}, latest) }

// ForStart is ForPeriod for a start condition under cron: an undated reading counts only if it was
// written at or after since, the start of the period that contains the fire.
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
	return fmt.Sprintf("written %s, before the period of the fire began at %s: an undated reading from before then starts nothing; date it to use it for %s",
		period.Stamp(written), period.Stamp(since), p)
}

// pick finds, among the latest readings of one key, the one for the smallest period that contains
// p, the undated one, and the newest period unrelated to p.
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
