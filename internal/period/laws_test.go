package period_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/period/periodtest"
)

const reach = 90 * time.Minute // how far around a clock change the laws are checked, beyond the change itself

func window(c periodtest.Change) (from, to time.Time) {
	from, to = c.Around(reach)
	return from.Truncate(time.Hour), to
}

// slice is a stretch of minutes that a clock on the wall shows under one name.
type slice struct {
	name       string
	start, end time.Time
}

// watch looks at the clock of a zone every minute and writes down the slices it shows: a new one
// whenever the layout's text changes or the clock goes back, with its offset if that text was seen
// before.
func watch(c periodtest.Change, layout string) []slice {
	from, to := window(c)
	var slices []slice
	seen := map[string]bool{}
	var text, local string
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		now := at.In(c.Zone)
		nowText, nowLocal := now.Format(layout), now.Format("2006-01-02T15:04")
		if nowText != text || nowLocal <= local {
			name := nowText
			if seen[nowText] {
				name += now.Format("-07:00")
			}
			seen[nowText] = true
			if n := len(slices); n > 0 {
				slices[n-1].end = at
			}
			slices = append(slices, slice{name: name, start: at})
		}
		text, local = nowText, nowLocal
	}
	return slices[1 : len(slices)-1] // the outermost may be cut
}

func TestHoursAndMinutesAreWhatTheClockShows(t *testing.T) {
	for _, c := range periodtest.Changes(t) {
		for layout, size := range map[string]period.Size{"2006-01-02T15": period.Hour, "2006-01-02T15:04": period.Minute} {
			for _, want := range watch(c, layout) {
				for _, at := range []time.Time{want.start, want.end.Add(-time.Nanosecond)} {
					if got := period.At(at, size, c.Zone); got.String() != want.name {
						t.Fatalf("%s: At(%s, %s) = %s, the clock shows %s", c, at.UTC().Format(time.RFC3339Nano), size, got, want.name)
					}
				}
				p, err := period.Parse(want.name)
				if err != nil {
					t.Fatal(err)
				}
				if start, end := p.Start(c.Zone), p.End(c.Zone); !start.Equal(want.start) || !end.Equal(want.end) {
					t.Fatalf("%s: %s is [%s, %s), the clock shows it in [%s, %s)", c, p, start, end, want.start.UTC(), want.end.UTC())
				}
			}
		}
	}
}

func TestDayIsTheLatestDateTheClockHasShown(t *testing.T) {
	for _, c := range periodtest.Changes(t) {
		from, to := window(c)
		latest := ""
		for at := from; at.Before(to); at = at.Add(10 * time.Minute) {
			for _, at := range []time.Time{at, at.Add(time.Minute)} { // St John's changed at 00:01
				latest = max(latest, at.In(c.Zone).Format(time.DateOnly))
				if got := period.At(at, period.Day, c.Zone); got.String() != latest {
					t.Fatalf("%s: At(%s, day) = %s, want %s", c, at.UTC().Format(time.RFC3339), got, latest)
				}
			}
		}
	}
}

func TestPeriodsPartitionTheTimeline(t *testing.T) {
	for _, c := range periodtest.Changes(t) {
		from, to := window(c)
		for _, size := range period.Sizes() {
			seen := map[period.Period]bool{}
			first := period.At(from, size, c.Zone)
			n := 0
			for p := first; p.Start(c.Zone).Before(to); n++ {
				if seen[p] {
					t.Fatalf("%s: two slices are called %s", c, p)
				}
				seen[p] = true
				p = checkSlice(t, c.Zone, p)
			}
			if last := first.Add(n, c.Zone); !last.Start(c.Zone).Equal(first.Add(n-1, c.Zone).End(c.Zone)) || last.Add(-n, c.Zone) != first {
				t.Fatalf("%s: %s and %d more is %s, and as many back %s", c, first, n, last, last.Add(-n, c.Zone))
			}
		}
	}
}

// checkSlice holds p against its neighbours and its own name, and gives the next.
func checkSlice(t *testing.T, zone *time.Location, p period.Period) period.Period {
	t.Helper()
	start, end, next := p.Start(zone), p.End(zone), p.Add(1, zone)
	if !start.Before(end) {
		t.Fatalf("%s: %s ends at %s before it starts at %s", zone, p, end, start)
	}
	if at := period.At(start, p.Size(), zone); at != p {
		t.Fatalf("%s: %s starts at %s, which is in %s", zone, p, start, at)
	}
	if !next.Start(zone).Equal(end) {
		t.Fatalf("%s: %s ends at %s, but the next, %s, starts at %s", zone, p, end, next, next.Start(zone))
	}
	if back := next.Add(-1, zone); back != p {
		t.Fatalf("%s: one before %s is %s, want %s", zone, next, back, p)
	}
	return next
}
