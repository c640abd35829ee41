package schedule

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/interlock-go/interlock/internal/period"
)

// Cron is a parsed five-field expression.
type Cron struct {
	text string // as written

	minute, hour, dom, month, dow uint64 // bit n represents value n
	monthDays

	// eitherDay means that day of month and day of week are both restricted: then a day needs to
	// match only one of them.
	eitherDay bool
	// elapsed means that the expression follows elapsed time, not the wall clock.
	elapsed bool
}

// starBit is the library's mark for an unrestricted field.
const starBit = 1 << 63

// field is one of the five fields, with a description of what it accepts.
type field struct {
	name, accepts string
	option        cron.ParseOption
	mask          func(*cron.SpecSchedule) uint64
}

var fields = [5]field{
	{"minute", "0-59", cron.Minute, func(s *cron.SpecSchedule) uint64 { return s.Minute }},
	{"hour", "0-23", cron.Hour, func(s *cron.SpecSchedule) uint64 { return s.Hour }},
	{"day of month", "1-31 or L for the last day", cron.Dom, func(s *cron.SpecSchedule) uint64 { return s.Dom }},
	{"month", "1-12 or JAN-DEC", cron.Month, func(s *cron.SpecSchedule) uint64 { return s.Month }},
	{"day of week", "0-7 or SUN-SAT, where 0 and 7 are Sunday, 5#3 for the third Friday", cron.Dow, func(s *cron.SpecSchedule) uint64 { return s.Dow }},
}

// descriptors are the names for common expressions.
var descriptors = map[string]string{
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@hourly":   "0 * * * *",
}

// ParseCron parses a five-field expression or @yearly, @monthly, @weekly, @daily, @midnight,
// @hourly. The error says what is wrong and what would be right. It rejects "@every", zone prefixes
// and expressions that never fire.
func ParseCron(expr string) (*Cron, error) {
	c, err := parseCron(expr)
	if err != nil {
		return nil, fmt.Errorf("cron %.80q: %w", expr, err)
	}
	c.text = strings.Join(strings.Fields(expr), " ")
	return c, nil
}

// String returns the expression as written, with single spaces.
func (c *Cron) String() string { return c.text }

func parseCron(expr string) (*Cron, error) {
	texts := strings.Fields(expr)
	if len(texts) == 0 {
		return nil, errors.New(`it is empty: use five fields such as "0 5 * * *"`)
	}
	switch first := texts[0]; {
	case strings.HasPrefix(first, "TZ=") || strings.HasPrefix(first, "CRON_TZ="):
		return nil, errors.New("a time zone is not allowed here: use schedule.timezone")
	case first == "@every":
		return nil, errors.New(`@every has no fixed times: use five fields such as "*/15 * * * *"`)
	case first[0] == '@':
		full, ok := descriptors[strings.Join(texts, " ")]
		if !ok {
			return nil, errors.New("it is unknown: use @yearly, @monthly, @weekly, @daily, @midnight, @hourly or five fields")
		}
		texts = strings.Fields(full)
	}
	if len(texts) != len(fields) {
		return nil, fmt.Errorf("it must have five fields, not %d: minute, hour, day of month, month, day of week (no seconds)", len(texts))
	}
	return compile(texts)
}

func compile(texts []string) (*Cron, error) {
	var masks [len(fields)]uint64
	var days monthDays
	for i, f := range fields {
		rest, err := days.extract(f, texts[i])
		if err != nil {
			return nil, err
		}
		if len(rest) == 0 {
			continue
		}
		if masks[i], err = f.parse(strings.Join(rest, ","), texts[i]); err != nil {
			return nil, err
		}
	}
	c := &Cron{
		monthDays: days,
		minute:    masks[0] &^ starBit, hour: masks[1] &^ starBit,
		dom: masks[2] &^ starBit, month: masks[3] &^ starBit, dow: masks[4] &^ starBit,
		eitherDay: (masks[2]|masks[4])&starBit == 0,
		elapsed:   texts[1][0] == '*',
	}
	if !c.fires() {
		return nil, errors.New("it never fires: no month it names has such a day")
	}
	return c, nil
}

// parse returns the field's mask. Its errors show the field as written. The library accepts some
// malformed fields with a meaning of its own (",", "*-5", "+5") and panics on others, so parse
// checks the form first.
func (f field) parse(text, written string) (uint64, error) {
	if !f.wellFormed(text) {
		return 0, f.misfit(written)
	}
	plain := text
	if f.option == cron.Dow {
		plain = sundayAsZero(text)
	}
	parsed, err := cron.NewParser(f.option).Parse(plain)
	if err != nil {
		return 0, f.misfit(written) // the library's error names neither the field nor what it accepts
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok || f.mask(spec)&^starBit == 0 {
		return 0, f.misfit(written)
	}
	return f.mask(spec), nil
}

func (f field) misfit(text string) error {
	return fmt.Errorf("%s %.40q is not understood: use %s, lists (1,3), ranges (1-3) and steps (*/2)", f.name, text, f.accepts)
}

// wellFormed reports whether text is a list of values, ranges and stars, each with or without a
// step.
func (f field) wellFormed(text string) bool {
	for item := range strings.SplitSeq(text, ",") {
		base, step, stepped := strings.Cut(item, "/")
		if stepped && !isWord(step) {
			return false
		}
		if base == "*" || base == "?" && (f.option == cron.Dom || f.option == cron.Dow) {
			continue
		}
		low, high, ranged := strings.Cut(base, "-")
		if !isWord(low) || ranged && !isWord(high) {
			return false
		}
	}
	return true
}

// isWord reports whether text is non-empty and consists of letters and digits only.
func isWord(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// sundayAsZero expands ranges up to day 7, which the library does not support.
func sundayAsZero(text string) string {
	items := strings.Split(text, ",")
	for i, item := range items {
		base, step, stepped := strings.Cut(item, "/")
		low, high, ranged := strings.Cut(base, "-")
		if !ranged {
			high = low
		}
		from, errFrom := strconv.Atoi(low)
		by, errBy := strconv.Atoi(step)
		if !stepped {
			by, errBy = 1, nil
		}
		if high != "7" || errFrom != nil || errBy != nil || from > 7 || by < 1 {
			continue
		}
		var days []string
		for day := from; day <= 7; day += min(by, 7) {
			days = append(days, strconv.Itoa(day%7))
		}
		items[i] = strings.Join(days, ",")
	}
	return strings.Join(items, ",")
}

// fires reports whether some day of some year matches.
func (c *Cron) fires() bool {
	if c.eitherDay || c.last {
		return true
	}
	for month := time.January; month <= time.December; month++ {
		const leapYear = 2000
		if c.month>>month&1 == 1 && c.dom<<(63-period.DaysIn(leapYear, month)) != 0 {
			return true
		}
	}
	return false
}

// Size returns the smallest period size that never contains two fires on a regular day: day, hour
// or minute.
func (c *Cron) Size() period.Size {
	switch {
	case bits.OnesCount64(c.minute) > 1:
		return period.Minute
	case bits.OnesCount64(c.hour) > 1:
		return period.Hour
	}
	return period.Day
}

// Fits reports whether no period of that size contains two fires on regular days.
func (c *Cron) Fits(size period.Size) bool {
	least := c.Size()
	if size <= period.Day || least < period.Day {
		return size <= least
	}
	// The years 2001 to 2040 contain every combination of weekdays and leap years.
	first := time.Date(2001, time.January, 1, 0, 0, 0, 0, time.UTC)
	var last period.Period
	for day := first; day.Year() <= 2040; day = day.AddDate(0, 0, 1) {
		if c.month>>day.Month()&1 == 0 || !c.matchesDay(day.Year(), day.Month(), day.Day()) {
			continue
		}
		p := period.At(day, size, time.UTC)
		if p == last {
			return false
		}
		last = p
	}
	return true
}

// matchesDay reports whether the day fields allow a fire on that date of a matching month.
func (c *Cron) matchesDay(year int, month time.Month, day int) bool {
	dom := c.dom>>day&1 == 1 || c.matchesDate(year, month, day)
	if dom && (c.eitherDay || c.dow == everyWeekday) {
		return true
	}
	weekday := time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Weekday()
	dow := c.dow>>weekday&1 == 1 || c.matchesNth(weekday, day)
	if c.eitherDay {
		return dow
	}
	return dom && dow
}
