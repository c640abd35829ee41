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

// String formats the duration in Go's notation, without zero units, and in days from two whole days
// on: 1h30m, 36h, 400d.
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

func (Duration) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type:    "string",
		Pattern: `^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h|d|w))+)$`,
	}
}

// hoursIn are the units that the standard library does not have.
var hoursIn = map[string]time.Duration{"d": 24, "w": 7 * 24}

// ParseDuration parses a Go duration, with d (24 hours) and w (7 days) as additional units. A
// negative one is an error.
func ParseDuration(text string) (time.Duration, error) {
	const digits = ".0123456789"
	rest := strings.TrimPrefix(text, "+")
	switch {
	case rest == "0":
		return 0, nil
	case rest == "":
		return 0, notDuration(text)
	case rest[0] == '-':
		return 0, fmt.Errorf("%s is negative; write a duration such as 30s, 5m, 1h30m or 2d", quote(text))
	}
	var total time.Duration
	for rest != "" {
		number := rest[:len(rest)-len(strings.TrimLeft(rest, digits))]
		unit := rest[len(number):]
		if next := strings.IndexAny(unit, digits); next >= 0 {
			unit = unit[:next]
		}
		rest = rest[len(number)+len(unit):]
		times := time.Duration(1)
		if hours, more := hoursIn[unit]; more {
			unit, times = "h", hours
		}
		if _, err := time.ParseDuration("1" + unit); err != nil || !isDecimal(number) {
			return 0, notDuration(text)
		}
		part, err := time.ParseDuration(number + unit)
		if err != nil || part > (math.MaxInt64-total)/times {
			return 0, fmt.Errorf("%s is too long; at most 290 years are allowed", quote(text))
		}
		total += part * times
	}
	return total, nil
}

// isDecimal reports whether digits and dots are a number.
func isDecimal(text string) bool {
	return strings.Trim(text, ".") != "" && strings.Count(text, ".") <= 1
}

func notDuration(text string) error {
	return fmt.Errorf("%s is not a duration; write one such as 30s, 5m, 1h30m or 2d", quote(text))
}
