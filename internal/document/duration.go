package document

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// Duration is a length of time as written in files: 30s, 1h30m, 1d12h, 2w. It is never negative.
type Duration time.Duration

// D returns the duration as a time.Duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

// String formats the duration in Go's notation, without zero units, and in days from two whole days on: 1h30m, 36h,
// 400d.
func (d Duration) String() string {
	const day = 24 * time.Hour
	if whole := time.Duration(d); whole >= 2*day && whole%day == 0 {
		return strconv.FormatInt(int64(whole/day), 10) + "d"
	}
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// DecodeNode parses the duration.
func (d *Duration) DecodeNode(n Node) []Finding {
	switch n.Kind() {
	case String:
		parsed, err := ParseDuration(n.Text())
		if err != nil {
			return []Finding{{Message: err.Error()}}
		}
		*d = Duration(parsed)
		return nil
	case Int, Float:
		return []Finding{{Message: fmt.Sprintf("%s has no unit; write a duration such as %ss or %sm", n.Text(), n.Text(), n.Text())}}
	default:
		return []Finding{{Message: "expected a duration such as 30s, 5m, 1h30m or 2d, found " + n.Describe()}}
	}
}

// JSONSchema describes the notation.
func (Duration) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type:    "string",
		Pattern: `^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h|d|w))+)$`,
	}
}

var units = map[string]uint64{
	"ns": uint64(time.Nanosecond),
	"us": uint64(time.Microsecond), "µs": uint64(time.Microsecond), "μs": uint64(time.Microsecond),
	"ms": uint64(time.Millisecond), "s": uint64(time.Second), "m": uint64(time.Minute), "h": uint64(time.Hour),
	"d": uint64(24 * time.Hour), "w": uint64(7 * 24 * time.Hour),
}

// ParseDuration parses a Go duration, with d (24 hours) and w (7 days) as additional units. A negative one is an
// error.
func ParseDuration(text string) (time.Duration, error) {
	rest := strings.TrimPrefix(text, "+")
	if rest == "0" {
		return 0, nil
	}
	if strings.HasPrefix(rest, "-") {
		return 0, fmt.Errorf("%s is negative; write a duration such as 30s, 5m, 1h30m or 2d", quote(text))
	}
	if rest == "" {
		return 0, notDuration(text)
	}
	var total uint64
	for rest != "" {
		part, after, ok := durationPart(rest)
		if !ok {
			return 0, notDuration(text)
		}
		if total += part; part > math.MaxInt64 || total > math.MaxInt64 {
			return 0, fmt.Errorf("%s is too long; at most 290 years", quote(text))
		}
		rest = after
	}
	return time.Duration(total), nil
}

func notDuration(text string) error {
	return fmt.Errorf("%s is not a duration; write one such as 30s, 5m, 1h30m or 2d", quote(text))
}

// durationPart parses one number with its unit. If the part is too long for a duration, it returns a number above
// math.MaxInt64.
func durationPart(text string) (part uint64, rest string, ok bool) {
	whole := digits(text)
	fraction := ""
	end := whole
	if strings.HasPrefix(text[whole:], ".") {
		end = whole + 1 + digits(text[whole+1:])
		fraction = text[whole+1 : end]
	}
	if whole+len(fraction) == 0 {
		return 0, "", false
	}
	letters := strings.IndexAny(text[end:], ".0123456789")
	if letters < 0 {
		letters = len(text) - end
	}
	unit, known := units[text[end:end+letters]]
	if !known {
		return 0, "", false
	}
	for _, digit := range text[:whole] {
		if part = part*10 + uint64(digit-'0'); part > math.MaxInt64/unit {
			return math.MaxUint64, text[end+letters:], true
		}
	}
	part = part*unit + fractionOf(fraction, unit)
	return part, text[end+letters:], true
}

// fractionOf returns the decimal fraction of a unit, to as many digits as fit, like the standard library.
func fractionOf(digits string, unit uint64) uint64 {
	value, scale := uint64(0), 1.0
	for _, digit := range digits {
		if value > math.MaxInt64/10 {
			break
		}
		next := value*10 + uint64(digit-'0')
		if next > 1<<63 {
			break
		}
		value, scale = next, scale*10
	}
	return uint64(float64(value) * (float64(unit) / scale))
}
