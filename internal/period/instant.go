package period

import (
	"strings"
	"time"
)

// Stamp formats an instant for people: RFC 3339 in UTC.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Exact formats an instant for programs and ids: RFC 3339 in UTC, to the nanosecond.
func Exact(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// ReadInstant parses an instant as other tools write it: in RFC 3339, with a blank instead of the T,
// or without seconds. zoned is false if it has no time zone, in which case at is in UTC.
func ReadInstant(text string) (at time.Time, zoned, ok bool) {
	text = strings.Replace(text, " ", "T", 1)
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} {
		for _, zone := range []string{"Z07:00", "Z0700", ""} {
			if at, err := time.Parse(layout+zone, text); err == nil {
				return at.UTC(), zone != "", true
			}
		}
	}
	return time.Time{}, false, false
}

// ParseInstant parses an instant in RFC 3339; the result is in UTC. Unlike time.Parse it accepts no
// other forms, and it allocates nothing.
func ParseInstant(s string) (time.Time, bool) {
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
	if day > 28 && int(day) > DaysIn(int(year), time.Month(month)) {
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
	digits := 0
	for 1+digits < len(s) && s[1+digits] >= '0' && s[1+digits] <= '9' {
		digits++
	}
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
