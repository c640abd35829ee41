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
		if t, ok := period.ParseInstant(text); ok {
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
