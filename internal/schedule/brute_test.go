package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/period/periodtest"
	"github.com/interlock-go/interlock/internal/schedule"
)

// set says which values a field allows.
type set [64]bool

// crontab is an expression together with what it means, made at the same time, so that nothing
// parses it.
type crontab struct {
	text                          string
	minute, hour, dom, month, dow set
	last                          bool       // L
	nth                           [7][6]bool // 5#3, by weekday and number
	eitherDay, elapsed            bool
}

// randomCrontab makes an expression that fires at least now and then; pick(n) gives a number below
// n.
func randomCrontab(pick func(n int) int) crontab {
	var c crontab
	var minute, hour, dom, month, dow string
	minute, c.minute = randomField(pick, pick(5), 0, 59)
	hour, c.hour = randomField(pick, pick(5), 0, 23)
	month, c.month = randomField(pick, max(0, pick(16)-11), 1, 12)
	domKind := max(0, pick(12)-7)
	if month != "*" {
		domKind = 0 // the 31st of a month that has none would never fire
	}
	dom, c.dom = randomField(pick, domKind, 1, 31)
	dow, c.dow = randomField(pick, max(0, pick(12)-7), 0, 6)
	dom, dow = c.addMonthDays(pick, dom, dow)
	c.text = strings.Join([]string{minute, hour, dom, month, dow}, " ")
	c.eitherDay = dom != "*" && dow != "*"
	c.elapsed = hour[0] == '*'
	return c
}

// addMonthDays adds L and forms such as 5#3 to some expressions, alone or in a list.
func (c *crontab) addMonthDays(pick func(n int) int, dom, dow string) (string, string) {
	if pick(5) == 0 {
		c.last = true
		if dom == "*" {
			dom, c.dom = "L", set{}
		} else {
			dom += ",L"
		}
	}
	for range max(0, pick(8)-5) {
		day, n := pick(7), 1+pick(5)
		c.nth[day][n] = true
		item := fmt.Sprintf("%d#%d", day, n)
		if pick(2) == 0 {
			item = fmt.Sprintf("%.3s#%d", time.Weekday(day), n)
		}
		if dow == "*" {
			dow, c.dow = item, set{}
		} else {
			dow = item + "," + dow
		}
	}
	return dom, dow
}

// randomField makes a field of that kind: a star, a step, a value, a list, a range.
func randomField(pick func(n int) int, kind, low, high int) (text string, allowed set) {
	add := func(from, to, step int) {
		for v := from; v <= to; v += step {
			allowed[v] = true
		}
	}
	a, b := low+pick(high-low+1), low+pick(high-low+1)
	a, b = min(a, b), max(a, b)
	switch kind {
	case 0:
		add(low, high, 1)
		return "*", allowed
	case 1:
		step := 2 + pick((high-low)/2)
		add(low, high, step)
		return fmt.Sprintf("*/%d", step), allowed
	case 2:
		add(a, a, 1)
		return fmt.Sprint(a), allowed
	case 3:
		add(a, a, 1)
		add(b, b, 1)
		return fmt.Sprintf("%d,%d", b, a), allowed
	}
	step := 1 + pick(7)
	add(a, b, step)
	return fmt.Sprintf("%d-%d/%d", a, b, step), allowed
}

func (c crontab) matches(local time.Time) bool {
	count := 0 // of days of this month so far that are on the same weekday
	for day := local; day.Month() == local.Month(); day = day.AddDate(0, 0, -7) {
		count++
	}
	dom := c.dom[local.Day()] || c.last && local.AddDate(0, 0, 1).Month() != local.Month()
	dow := c.dow[int(local.Weekday())] || c.nth[local.Weekday()][count]
	return c.minute[local.Minute()] && c.hour[local.Hour()] && c.month[int(local.Month())] &&
		(c.eitherDay && (dom || dow) || dom && dow)
}

// firesBetween looks at the clock of the zone every minute. In elapsed time an expression fires
// whenever it matches what the clock shows; on the wall clock whenever a local time that matches is
// reached or passed for the first time.
func (c crontab) firesBetween(from, to time.Time, zone *time.Location) []time.Time {
	shown := func(at time.Time) time.Time { // what the clock shows, as a time in UTC
		at = at.In(zone)
		return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), 0, 0, time.UTC)
	}
	var fires []time.Time
	reached := shown(from.Add(-time.Minute))
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		local := shown(at)
		fire := c.elapsed && c.matches(local)
		for reached.Before(local) {
			reached = reached.Add(time.Minute)
			fire = fire || !c.elapsed && c.matches(reached)
		}
		if fire {
			fires = append(fires, at.UTC())
		}
	}
	return fires
}

// reach is how far around a clock change a walk is checked, beyond the change itself.
const reach = 3 * time.Hour

func parseCron(t interface{ Fatal(...any) }, text string) *schedule.Cron {
	c, err := schedule.ParseCron(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNextAndPrevAgreeWithAMinuteWalkInEveryZone(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, change := range periodtest.Changes(t) {
		from, to := change.Around(reach)
		for range 3 {
			tab := randomCrontab(random.IntN)
			cron := parseCron(t, tab.text)
			want := tab.firesBetween(from, to, change.Zone)
			var next, prev []time.Time
			for at := cron.Next(from.Add(-1), change.Zone); !at.IsZero() && at.Before(to); at = cron.Next(at, change.Zone) {
				next = append(next, at)
			}
			for at := cron.Prev(to, change.Zone); !at.Before(from); at = cron.Prev(at, change.Zone) {
				prev = append(prev, at)
			}
			slices.Reverse(prev)
			if diff := cmp.Diff(want, next); diff != "" {
				t.Fatalf("%s: Next of %s (-minute walk +got):\n%s", change, tab.text, diff)
			}
			if diff := cmp.Diff(want, prev); diff != "" {
				t.Fatalf("%s: Prev of %s (-minute walk +got):\n%s", change, tab.text, diff)
			}
			checkFromWithin(t, change, tab.text, want)
		}
	}
}

// checkFromWithin starts a search at instants all over the window, also where nothing fires: a walk
// from fire to fire never begins inside a repeated hour that the wall clock passes over.
func checkFromWithin(t *testing.T, change periodtest.Change, expr string, fires []time.Time) {
	t.Helper()
	cron := parseCron(t, expr)
	from, to := change.Around(reach)
	for at := from; at.Before(to); at = at.Add(13*time.Minute + 30*time.Second + time.Nanosecond) {
		i, found := slices.BinarySearchFunc(fires, at, time.Time.Compare)
		after := i
		if found {
			after++
		}
		if got := cron.Next(at, change.Zone); after < len(fires) && !got.Equal(fires[after]) || after == len(fires) && !got.IsZero() && got.Before(to) {
			t.Fatalf("%s: %s after %s is %s, want one of %s", change, expr, at.UTC(), got, fires[after:])
		}
		if got := cron.Prev(at, change.Zone); i > 0 && !got.Equal(fires[i-1]) || i == 0 && !got.Before(from) {
			t.Fatalf("%s: %s before %s is %s, want one of %s", change, expr, at.UTC(), got, fires[:i])
		}
	}
}

func TestNextAndPrevObeyTheirLaws(t *testing.T) {
	zones := []*time.Location{
		time.UTC, periodtest.Load(t, "America/New_York"), periodtest.Load(t, "America/Santiago"), periodtest.Load(t, "Australia/Lord_Howe"),
		periodtest.Load(t, "Pacific/Apia"), periodtest.Load(t, "Africa/Monrovia"), periodtest.Load(t, "Africa/Casablanca"), periodtest.Load(t, "Antarctica/Troll"),
	}
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		cron := parseCron(t, randomCrontab(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }).text)
		at := time.Unix(rapid.Int64Range(-4e9, 8e9).Draw(t, "sec"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns"))
		later := at.Add(time.Duration(rapid.Int64Range(0, int64(100*24*time.Hour)).Draw(t, "later")))
		next, prev := cron.Next(at, zone), cron.Prev(at, zone)
		switch {
		case !next.After(at) || !prev.Before(at):
			t.Fatalf("%s lies between %s and %s", at.UTC(), prev, next)
		case cron.Prev(next, zone).After(at) || cron.Next(prev, zone).Before(at):
			t.Fatalf("between %s and %s around %s there is another fire", prev, next, at.UTC())
		case !cron.Next(cron.Prev(next, zone), zone).Equal(next) || !cron.Prev(cron.Next(prev, zone), zone).Equal(prev):
			t.Fatalf("from %s or %s on and back is elsewhere", prev, next)
		case cron.Next(later, zone).Before(next) || cron.Prev(later, zone).Before(prev):
			t.Fatalf("a later start than %s finds an earlier fire", at.UTC())
		}
	})
}

// daysBetween lists when a wall-clock expression fires on the days that the calendar shows, each
// found by looking at the clock every quarter of an hour.
func (c crontab) daysBetween(from, to time.Time, at time.Duration, zone *time.Location) (fires []time.Time) {
	for day := from; day.Before(to); day = day.AddDate(0, 0, 1) {
		due := day.Add(at)
		if !c.matches(due) {
			continue
		}
		for instant := due.Add(-15 * time.Hour); ; instant = instant.Add(15 * time.Minute) {
			if _, offset := instant.In(zone).Zone(); !instant.Add(time.Duration(offset) * time.Second).Before(due) {
				fires = append(fires, instant)
				break
			}
		}
	}
	return fires
}

func TestDaysOfAMonthAgreeWithACalendarOverYearsInEveryZone(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	from, to := time.Date(2018, time.December, 25, 0, 0, 0, 0, time.UTC), time.Date(2024, time.March, 7, 0, 0, 0, 0, time.UTC)
	zones := []string{"UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Santiago", "Asia/Amman", "Pacific/Apia"}
	for range 25 {
		tab := randomCrontab(random.IntN)
		hour, minute := random.IntN(4), 15*random.IntN(4) // when clocks change
		tab.minute, tab.hour, tab.elapsed = set{}, set{}, false
		tab.minute[minute], tab.hour[hour] = true, true
		tab.text = fmt.Sprint(minute, " ", hour, " ", strings.Join(strings.Fields(tab.text)[2:], " "))
		for _, name := range zones {
			zone, cron := periodtest.Load(t, name), parseCron(t, tab.text)
			want := tab.daysBetween(from, to, time.Duration(hour)*time.Hour+time.Duration(minute)*time.Minute, zone)
			if len(want) == 0 {
				continue // a fifth Friday of February
			}
			got := []time.Time{want[0]}
			for fire := cron.Next(want[0], zone); !fire.After(want[len(want)-1]); fire = cron.Next(fire, zone) {
				got = append(got, fire)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s: Next of %s (-calendar +got):\n%s", name, tab.text, diff)
			}
			for i := len(want) - 1; i > 0; i-- {
				if fire := cron.Prev(want[i], zone); !fire.Equal(want[i-1]) {
					t.Fatalf("%s: before %s, %s fires at %s, want %s", name, want[i], tab.text, fire, want[i-1])
				}
			}
		}
	}
}
