package period

import (
	"fmt"
	"time"
)

// forms lists the forms that Parse accepts, for its errors.
const forms = "use 2026-Q1, 2026-03, 2026-W10, 2026-03-03, 2026-03-03T07 or 2026-03-03T07:15 (or 2026Q1, 2026W10, 20260303, 20260303T07, " +
	"20260303T0715), with an offset such as -05:00 after the second occurrence of a repeated hour or minute"

// Parse parses a period's canonical name or one of its short forms: 2026-Q1, 2026Q1, 2026-03,
// 2026-W10, 2026W10, 2026-03-03, 20260303, 2026-03-03T07, 20260303T07, 2026-03-03T07:15,
// 20260303T0715, each hour and minute form optionally with an offset (-05:00). A month has no short
// form, since 202603 could be a day of another century.
func Parse(s string) (Period, error) {
	r := reader{rest: s}
	size, day, hour, minute := Day, 1, 0, 0
	year := r.number(4)
	dashed := r.skip('-')
	if r.skip('W') {
		return r.week(s, year)
	}
	if r.skip('Q') {
		return r.quarter(s, year)
	}
	month := r.number(2)
	switch {
	case dashed && r.rest == "":
		size = Month
	case dashed:
		r.want('-')
		fallthrough
	default:
		day = r.number(2)
	}
	var repeated bool
	var offset int32
	if r.skip('T') {
		size, hour = Hour, r.number(2)
		if dashed && r.skip(':') || !dashed && r.atDigit() {
			size, minute = Minute, r.number(2)
		}
		offset, repeated = r.offset()
	}
	if r.bad || r.rest != "" {
		return Period{}, SyntaxError{s}
	}
	p, err := New(size, year, time.Month(month), day, hour, minute)
	if err != nil {
		return Period{}, fmt.Errorf("period %q: %w", s, err)
	}
	p.repeated, p.offsetSec = repeated, offset
	return p, nil
}

// SyntaxError is the error of Parse for text that does not look like a period. Its other errors are
// about periods that do not exist, such as 2026-02-30.
type SyntaxError struct{ Text string }

func (e SyntaxError) Error() string {
	return fmt.Sprintf("period %.60q is not understood: %s", e.Text, forms)
}

// week parses the week number, the last part of a name.
func (r *reader) week(s string, year int) (Period, error) {
	week := r.number(2)
	if r.bad || r.rest != "" {
		return Period{}, SyntaxError{s}
	}
	if year < minYear {
		return Period{}, fmt.Errorf("period %q: year %d is out of range: use %04d to %d", s, year, minYear, maxYear)
	}
	first := time.Date(year, time.January, 4, 0, 0, 0, 0, time.UTC).Unix() // 4 January is always in week 1
	p := named(Week, monday(first)+int64(week-1)*Week.seconds())
	if isoYear, isoWeek := p.ISOWeek(); week < 1 || isoYear != year || isoWeek != week {
		_, last := time.Date(year, time.December, 28, 0, 0, 0, 0, time.UTC).ISOWeek()
		return Period{}, fmt.Errorf("period %q: week %d does not exist: %d has weeks 1 to %d", s, week, year, last)
	}
	return p, nil
}

// quarter parses the number of the quarter, the last part of a name.
func (r *reader) quarter(s string, year int) (Period, error) {
	quarter := r.number(1)
	switch {
	case r.bad || r.rest != "":
		return Period{}, SyntaxError{s}
	case quarter < 1 || quarter > 4:
		return Period{}, fmt.Errorf("period %q: quarter %d does not exist: use 1 to 4", s, quarter)
	}
	p, err := New(Quarter, year, time.Month(quarter*monthsInQuarter), 1, 0, 0)
	if err != nil {
		return Period{}, fmt.Errorf("period %q: %w", s, err)
	}
	return p, nil
}

// ISOWeek returns the year and number of the ISO 8601 week that contains p, or p's first day.
func (p Period) ISOWeek() (year, week int) {
	return time.Date(int(p.year), time.Month(p.month), int(p.day), 0, 0, 0, 0, time.UTC).ISOWeek()
}

// reader parses a name from left to right. After the first error it stays bad, so that Parse checks
// once.
type reader struct {
	rest string
	bad  bool
}

func (r *reader) atDigit() bool { return r.rest != "" && r.rest[0] >= '0' && r.rest[0] <= '9' }

// number parses exactly n digits.
func (r *reader) number(n int) int {
	v := 0
	for range n {
		if !r.atDigit() {
			r.bad = true
			return 0
		}
		v = v*10 + int(r.rest[0]-'0')
		r.rest = r.rest[1:]
	}
	return v
}

// skip consumes c if it is next, and reports whether it was.
func (r *reader) skip(c byte) bool {
	if r.rest == "" || r.rest[0] != c {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

func (r *reader) want(c byte) {
	if !r.skip(c) {
		r.bad = true
	}
}

// offset parses "-05:00" or, for historical zones, "-04:56:02", in canonical form only: a name must
// not have two spellings.
func (r *reader) offset() (sec int32, present bool) {
	negative := r.skip('-')
	if !negative && !r.skip('+') {
		return 0, false
	}
	hour := r.number(2)
	r.want(':')
	minute, second := r.number(2), 0
	if r.skip(':') {
		second = r.number(2)
		r.bad = r.bad || second == 0
	}
	sec = int32(hour*3600 + minute*60 + second)
	if hour > 23 || minute > 59 || second > 59 || negative && sec == 0 {
		r.bad = true
	}
	if negative {
		sec = -sec
	}
	return sec, true
}

// String returns p's canonical name; "" for the zero Period.
func (p Period) String() string {
	var buf [len("2026-11-01T01:30-04:56:02")]byte
	return string(p.append(buf[:0]))
}

func (p Period) append(b []byte) []byte {
	switch p.size {
	case 0:
		return b
	case Week:
		year, week := p.ISOWeek()
		b = appendTwo(appendTwo(b, year/100), year%100)
		return appendTwo(append(b, "-W"...), week)
	}
	b = appendTwo(b, int(p.year)/100)
	b = appendTwo(b, int(p.year)%100)
	if p.size == Quarter {
		return append(b, '-', 'Q', '0'+(p.month-1)/monthsInQuarter+1)
	}
	b = appendTwo(append(b, '-'), int(p.month))
	if p.size == Month {
		return b
	}
	b = appendTwo(append(b, '-'), int(p.day))
	if p.size <= Hour {
		b = appendTwo(append(b, 'T'), int(p.hour))
	}
	if p.size == Minute {
		b = appendTwo(append(b, ':'), int(p.minute))
	}
	if p.repeated {
		b = appendOffset(b, int(p.offsetSec))
	}
	return b
}

func appendOffset(b []byte, sec int) []byte {
	sign := byte('+')
	if sec < 0 {
		sign, sec = '-', -sec
	}
	b = appendTwo(append(b, sign), sec/3600)
	b = appendTwo(append(b, ':'), sec/60%60)
	if sec%60 != 0 {
		b = appendTwo(append(b, ':'), sec%60)
	}
	return b
}

func appendTwo(b []byte, v int) []byte { return append(b, byte('0'+v/10), byte('0'+v%10)) }

// MarshalText and UnmarshalText use String and Parse; the zero Period is the empty text.
func (p Period) MarshalText() ([]byte, error) { return p.append(nil), nil }

// UnmarshalText is the inverse of MarshalText.
func (p *Period) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*p = Period{}
		return nil
	}
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}
