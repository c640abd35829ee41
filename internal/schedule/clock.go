package schedule

import (
	"fmt"
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
	c := Clock{Hour: -1}
	rest := s
	ok := true
	if rest != "" && rest[0] != ':' {
		c.Hour, rest, ok = twoDigits(rest)
	}
	if !ok || rest == "" || rest[0] != ':' {
		return Clock{}, wrongClock(s)
	}
	c.Minute, rest, ok = twoDigits(rest[1:])
	if !ok || rest != "" || c.Hour > 23 || c.Minute > 59 {
		return Clock{}, wrongClock(s)
	}
	return c, nil
}

func wrongClock(s string) error {
	return fmt.Errorf("time %.40q is not understood: use HH:MM from 00:00 to 23:59, or :MM from :00 to :59 for every hour", s)
}

func twoDigits(s string) (value int, rest string, ok bool) {
	if len(s) < 2 || s[0] < '0' || s[0] > '9' || s[1] < '0' || s[1] > '9' {
		return 0, s, false
	}
	return int(s[0]-'0')*10 + int(s[1]-'0'), s[2:], true
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

// AfterDays is After, moved by that many calendar days: the wall clock is evaluated again on that day. ":MM" ignores
// days.
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
