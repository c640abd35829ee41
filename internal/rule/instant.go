package rule

import (
	"math"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// Epoch values from here on are milliseconds, smaller ones seconds.
const firstMillis = 100_000_000_000

// The range of RFC 3339 as epoch seconds; epoch values beyond it are not times (but microseconds or
// ids).
const (
	firstSecond = -62167219200 // 0000-01-01T00:00:00Z
	lastSecond  = 253402300799 // 9999-12-31T23:59:59Z
)

// instantOf interprets v as a time: RFC 3339 text, or epoch seconds or milliseconds as number or
// text.
func instantOf(v any) (time.Time, bool) {
	if text, ok := v.(string); ok {
		if t, ok := parseRFC3339(text); ok {
			return t, true
		}
	}
	n, ok := numberOf(v)
	if !ok {
		return time.Time{}, false
	}
	if n.integer {
		return epochInteger(n.i)
	}
	return epochFloat(n.float())
}

func epochInteger(i int64) (time.Time, bool) {
	if i >= firstMillis {
		return time.UnixMilli(i), i <= lastSecond*1000+999
	}
	return time.Unix(i, 0), i >= firstSecond
}

func epochFloat(f float64) (time.Time, bool) {
	if f >= firstMillis {
		f /= 1000
	}
	if f < firstSecond || f >= lastSecond+1 {
		return time.Time{}, false
	}
	whole, fraction := math.Modf(f)
	return time.Unix(int64(whole), int64(fraction*1e9)), true
}

// parseRFC3339 is time.Parse(time.RFC3339, s) without its allocations (for unusual offsets and for
// errors), and without the forms it accepts beyond the RFC.
func parseRFC3339(s string) (time.Time, bool) {
	const clock = "2006-01-02T15:04:05"
	if len(s) <= len(clock) || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' {
		return time.Time{}, false
	}
	century, year, month, day := two(s, 0), two(s, 2), two(s, 5), two(s, 8)
	hour, minute, second := two(s, 11), two(s, 14), two(s, 17)
	if century > 99 || year > 99 || month-1 > 11 || day-1 > 30 || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	year += century * 100
	if day > 28 && int(day) > period.DaysIn(int(year), time.Month(month)) {
		return time.Time{}, false
	}
	nanos, rest, ok := fraction(s[len(clock):])
	if !ok {
		return time.Time{}, false
	}
	offset, ok := zoneOffset(rest)
	if !ok {
		return time.Time{}, false
	}
	return time.Date(int(year), time.Month(month), int(day), int(hour), int(minute), int(second)-offset, nanos, time.UTC), true
}

// two returns the number in the two digits at i, or more than 99 if they are not digits.
func two(s string, i int) uint {
	tens, ones := uint(s[i]-'0'), uint(s[i+1]-'0')
	if tens > 9 || ones > 9 {
		return 100
	}
	return tens*10 + ones
}

// fraction parses an optional ".123" before the zone; digits beyond nanoseconds are dropped.
func fraction(s string) (nanos int, rest string, ok bool) {
	if s[0] != '.' {
		return 0, s, true
	}
	digits := countDigits(s[1:])
	for i := range 9 {
		nanos *= 10
		if i < digits {
			nanos += int(s[1+i] - '0')
		}
	}
	return nanos, s[1+digits:], digits > 0
}

// zoneOffset parses "Z" or "+02:00" as seconds east of UTC.
func zoneOffset(s string) (seconds int, ok bool) {
	if s == "Z" {
		return 0, true
	}
	if len(s) != len("+00:00") || s[0] != '+' && s[0] != '-' || s[3] != ':' {
		return 0, false
	}
	hours, minutes := two(s, 1), two(s, 4)
	if hours > 23 || minutes > 59 {
		return 0, false
	}
	seconds = int(hours*60+minutes) * 60
	if s[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}
