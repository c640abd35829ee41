package schedule_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

// change is one clock change of a zone.
type change struct {
	zone          *time.Location
	at            time.Time
	before, after int // offsets, in seconds
}

func (c change) String() string { return fmt.Sprintf("%s %s", c.zone, c.at.UTC().Format(time.RFC3339)) }

// changes lists the clock changes of every zone between 2000 and 2037, each kind of change (offsets and local
// time of day) once per zone, and zones that are other names of one already listed left out.
func changes(t testing.TB) []change {
	t.Helper()
	names, err := os.ReadFile("../period/testdata/zones.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []change
	listed := map[string]bool{}
	for _, name := range strings.Fields(string(names)) {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatalf("load %s: %v", name, err)
		}
		kinds, history := changesIn(zone)
		if !listed[history] {
			listed[history] = true
			all = append(all, kinds...)
		}
	}
	if len(all) < 300 {
		t.Fatalf("found only %d clock changes: the zone data is not what this test is for", len(all))
	}
	return all
}

func changesIn(zone *time.Location) (kinds []change, history string) {
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
				kinds = append(kinds, change{zone, end, before, after})
			}
		}
		at = end
	}
	return kinds, h.String()
}

func load(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}
