package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// Clock is a time of day, "HH:MM", or a minute of every hour, ":MM".
type Clock struct {
	Hour   int // -1 for ":MM"
	Minute int
}

// ParseClock parses "HH:MM" or ":MM".
func ParseClock(s string) (Clock, error) {
	before, after, found := strings.Cut(s, ":")
	minute, ok := twoDigits(after, 59)
	hour, daily := twoDigits(before, 23)
	if !found || !ok || !daily && before != "" {
		return Clock{}, fmt.Errorf("time %.40q is not understood: use HH:MM from 00:00 to 23:59, or :MM from :00 to :59 for every hour", s)
	}
	if !daily {
		hour = -1
	}
	return Clock{Hour: hour, Minute: minute}, nil
}

func twoDigits(s string, most int) (value int, ok bool) {
	n, err := strconv.ParseUint(s, 10, 8) // unlike Atoi, it rejects a sign
	return int(n), err == nil && len(s) == 2 && int(n) <= most
}

// String returns the form that ParseClock parses.
func (c Clock) String() string {
	if c.Hourly() {
		return fmt.Sprintf(":%02d", c.Minute)
	}
	return fmt.Sprintf("%02d:%02d", c.Hour, c.Minute)
}

// Hourly reports whether c has the form ":MM".
func (c Clock) Hourly() bool { return c.Hour < 0 }

// After returns the first time at or after t that c names in zone. "HH:MM" follows the wall clock
// (see period.Wall), ":MM" follows elapsed time.
func (c Clock) After(t time.Time, zone *time.Location) time.Time { return c.AfterDays(t, 0, zone) }

// AfterDays is After, moved by that many calendar days: the wall clock is evaluated again on that
// day. ":MM" ignores days.
func (c Clock) AfterDays(t time.Time, days int, zone *time.Location) time.Time {
	daily := c.cron()
	if daily.elapsed {
		return daily.from(clamp(ceil(t)), zone)
	}
	local, ok := daily.nextLocal(period.Reached(clamp(ceil(t)), zone))
	if !ok {
		return time.Time{}
	}
	const day = 24 * 60 * 60
	return wall(local+int64(days)*day, zone)
}

// cron returns the expression that fires at c.
func (c Clock) cron() Cron {
	hour := bit(c.Hour)
	if c.Hourly() {
		hour = 1<<24 - 1
	}
	return Cron{
		minute: bit(c.Minute), hour: hour, dom: 1<<32 - 2, month: 1<<13 - 2, dow: everyWeekday,
		elapsed: c.Hourly(),
	}
}

func bit(n int) uint64 {
	if n < 0 {
		return 0
	}
	return 1 << n
}
