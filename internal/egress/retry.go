package egress

import (
	"net/http"
	"strconv"
	"time"
)

// RetryAfter is how long an answer asks to be left alone, in seconds or until an instant, and at most the given time; 0 if
// it does not say.
func RetryAfter(answer http.Header, now time.Time, most time.Duration) time.Duration {
	wish := answer.Get("Retry-After")
	if seconds, err := strconv.ParseInt(wish, 10, 64); err == nil {
		return time.Duration(max(0, min(seconds, int64(most/time.Second)))) * time.Second
	}
	until, err := http.ParseTime(wish)
	if err != nil {
		return 0
	}
	return max(0, min(until.Sub(now), most))
}
