package period

import (
	"fmt"
	"time"
)

// forms is what Parse accepts, for its errors.
const forms = "use 2026-03-03, 2026-03-03T07 or 2026-03-03T07:15 (or 20260303, 20260303T07, 20260303T0715), " +
	"with an offset such as -05:00 after the second occurrence of a repeated hour or minute"

// Parse reads a period's canonical name or one of its short forms: 2026-03-03, 20260303, 2026-03-03T07,
// 20260303T07, 2026-03-03T07:15, 20260303T0715, each hour and minute form optionally with an offset (-05:00).
func Parse(s string) (Period, error) {
	r := reader{rest: s}
	size, hour, minute := Day, 0, 0
	year := r.number(4)
	dashed := r.skip('-')
	month := r.number(2)
	if dashed {
		r.want('-')
	}
	day := r.number(2)
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
		return Period{}, fmt.Errorf("period %.60q is not understood: %s", s, forms)
	}
	p, err := New(size, year, time.Month(month), day, hour, minute)
	if err != nil {
		return Period{}, fmt.Errorf("period %q: %w", s, err)
	}
	p.repeated, p.offsetSec = repeated, offset
	return p, nil
}

// reader takes a name apart from left to right. After the first misfit it stays bad, so that Parse checks once.
type reader struct {
	rest string
	bad  bool
}

func (r *reader) atDigit() bool { return r.rest != "" && r.rest[0] >= '0' && r.rest[0] <= '9' }

// number takes exactly n digits.
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

// skip takes c if it is next, and says whether it was.
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

// offset takes "-05:00" or, for zones of long ago, "-04:56:02", in their canonical form only: a name must not
// have two spellings.
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

// String is p's canonical name; "" for the zero Period.
func (p Period) String() string {
	var buf [len("2026-11-01T01:30-04:56:02")]byte
	return string(p.append(buf[:0]))
}

func (p Period) append(b []byte) []byte {
	if p.size == 0 {
		return b
	}
	b = appendTwo(b, int(p.year)/100)
	b = appendTwo(b, int(p.year)%100)
	b = appendTwo(append(b, '-'), int(p.month))
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
