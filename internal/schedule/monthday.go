package schedule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/interlock-go/interlock/internal/period"
)

// monthDays are the days of a month that the library has no form for.
type monthDays struct {
	last bool   // L: the last day of the month
	nth  uint64 // 5#3: bit nthBit(weekday, n) represents the nth such weekday of the month
}

// most is how many times a weekday occurs in a month at most.
const most = 5

// nthBit returns the bit of the nth such weekday of a month; n counts from 1.
func nthBit(day time.Weekday, n int) uint64 { return 1 << (int(day)*most + n - 1) }

// matchesDate reports whether L matches that date.
func (m monthDays) matchesDate(year int, month time.Month, day int) bool {
	return m.last && day == period.DaysIn(year, month)
}

// matchesNth reports whether a form such as 5#3 matches a day of the month with that weekday.
func (m monthDays) matchesNth(weekday time.Weekday, day int) bool {
	return m.nth&nthBit(weekday, (day-1)/7+1) != 0
}

// extract adds the items of a field that the library has no form for, and returns the others.
func (m *monthDays) extract(f field, text string) (rest []string, err error) {
	for item := range strings.SplitSeq(text, ",") {
		special := false
		switch f.option {
		case cron.Dom:
			special, err = m.dayOfMonth(strings.ToUpper(item))
		case cron.Dow:
			special, err = m.dayOfWeek(f, strings.ToUpper(item))
		}
		if err != nil {
			return nil, fmt.Errorf("%s %.40q: %w", f.name, item, err)
		}
		if !special {
			rest = append(rest, item)
		}
	}
	return rest, nil
}

// dayOfMonth adds L. It returns false for items that the library parses.
func (m *monthDays) dayOfMonth(item string) (special bool, err error) {
	switch {
	case item == "L":
		m.last = true
		return true, nil
	case strings.Contains(item, "#"):
		return false, errors.New("# counts weekdays, in the fifth field (day of week): write 5#3 there for the third Friday")
	case item == "LW":
		return false, errors.New("the last working day of a month is not supported: use L for its last day")
	case strings.HasSuffix(item, "W") && isDigits(item[:len(item)-1]):
		return false, errors.New("the working day nearest to a date (W) is not supported: use the date without W")
	case strings.Contains(item, "L") && strings.Trim(item, "L0123456789-/") == "":
		return false, errors.New("the form L stands alone, without a range, a step or an offset: use L for the last day of the month")
	}
	return false, nil
}

// dayOfWeek adds a form such as 5#3 or FRI#3. It returns false for items that the library parses.
func (m *monthDays) dayOfWeek(f field, item string) (special bool, err error) {
	if day, isLast := strings.CutSuffix(item, "L"); isLast {
		weekday, ok := f.weekday(day)
		switch {
		case day == "":
			return false, errors.New("the form L is the last day of a month: write it in the third field (day of month)")
		case ok:
			return false, fmt.Errorf("the last %s of a month is not supported: use %s#4 for the fourth", weekday, day)
		}
	}
	day, text, counted := strings.Cut(item, "#")
	if !counted {
		return false, nil
	}
	weekday, ok := f.weekday(day)
	if !ok {
		return false, errors.New("# follows one day, as in 5#3 or FRI#3: list several as MON#1,TUE#1")
	}
	n, err := strconv.Atoi(text)
	if err != nil || len(text) != 1 || n < 1 || n > most {
		return false, fmt.Errorf("a month has up to five %ss: use %s#1 to %s#5", weekday, day, day)
	}
	m.nth |= nthBit(weekday, n)
	return true, nil
}

// weekday parses a single day of the week, as a number or a name.
func (f field) weekday(text string) (time.Weekday, bool) {
	mask, err := f.parse(text, text)
	if err != nil || !isWord(text) {
		return 0, false
	}
	day, _ := nextBit(mask&^starBit, 0)
	return time.Weekday(day), true
}

// isDigits reports whether text is non-empty and consists of digits only.
func isDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
