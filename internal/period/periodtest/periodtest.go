// Package periodtest parses periods for tests, and lists the clock changes of every IANA zone for
// tests of code that uses local time. Only tests import it.
package periodtest

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the same zones on every machine

	"github.com/interlock-go/interlock/internal/period"
)

// T is the part of *testing.T, *testing.F and *rapid.T that Parse needs.
type T interface {
	Helper()
	Fatal(args ...any)
}

// Parse returns the period of that name, such as 2026-03-03.
func Parse(t T, name string) period.Period {
	t.Helper()
	p, err := period.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

//go:embed zones.txt
var names string

// Change is one clock change of a zone.
type Change struct {
	Zone          *time.Location
	At            time.Time
	Before, After int // offsets, in seconds
}

// String names the zone and the instant.
func (c Change) String() string { return fmt.Sprintf("%s %s", c.Zone, c.At.UTC().Format(time.RFC3339)) }

// Around returns the stretch of time that the change can affect, extended by more on both sides.
func (c Change) Around(more time.Duration) (from, to time.Time) {
	shift := time.Duration(max(c.Before-c.After, c.After-c.Before)) * time.Second
	return c.At.Add(-more - shift), c.At.Add(more + shift)
}

// Load returns the zone of that name.
func Load(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// Changes lists the clock changes of every zone between 2000 and 2037, each kind of change (offsets
// and local time of day) once per zone, and zones that are other names of one already listed left
// out.
func Changes(t testing.TB) []Change {
	t.Helper()
	var all []Change
	listed := map[string]bool{}
	for _, name := range strings.Fields(names) {
		kinds, history := changesIn(Load(t, name))
		if !listed[history] {
			listed[history] = true
			all = append(all, kinds...)
		}
	}
	if len(all) < 300 {
		t.Fatalf("found only %d clock changes: the zone data is not what these tests are for", len(all))
	}
	return all
}

func changesIn(zone *time.Location) (kinds []Change, history string) {
	var h strings.Builder
	seen := map[string]bool{}
	last := time.Date(2037, 12, 31, 0, 0, 0, 0, time.UTC)
	for at := time.Date(2000, 1, 1, 0, 0, 0, 0, zone); at.Before(last); {
		_, end := at.ZoneBounds()
		if end.IsZero() {
			break
		}
		if !end.After(at) {
			end = at.Add(time.Hour)
		}
		_, before := end.Add(-time.Second).Zone()
		_, after := end.Zone()
		if before != after {
			fmt.Fprintln(&h, end.Unix(), before, after)
			kind := fmt.Sprint(before, after, end.Format("15:04:05"))
			if !seen[kind] {
				seen[kind] = true
				kinds = append(kinds, Change{zone, end, before, after})
			}
		}
		at = end
	}
	return kinds, h.String()
}
