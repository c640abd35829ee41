package artifact

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// Limits say how old a file may be: generated no earlier than Since, and at most MaxAge before Now.
// The zero value of Since or MaxAge is no limit.
type Limits struct {
	Since  time.Time // the start of the pipeline's current period
	MaxAge time.Duration
	Now    time.Time
}

// tooOld returns why a file that was generated at that instant is too old, with the remedy; "" if
// it is not. A file that does not say when it was generated may be old.
func (l Limits) tooOld(name string, at time.Time) string {
	oldest := l.Now.Add(-l.MaxAge)
	switch {
	case at.IsZero() && l.MaxAge > 0:
		return name + " does not say when it was generated, so --max-age cannot be checked; leave out --max-age"
	case l.MaxAge > 0 && at.Before(oldest):
		return fmt.Sprintf("%s was generated at %s, before %s, the limit of --max-age; run the tool again or raise --max-age",
			name, period.Stamp(at), period.Stamp(oldest))
	case at.IsZero() && !l.Since.IsZero():
		return name + " does not say when it was generated, so it may be old; name the period of its data with --date"
	case at.Before(l.Since):
		return fmt.Sprintf("%s was generated at %s, before the pipeline's current period began at %s; "+
			"run the tool again, or name the period of its data with --date", name, period.Stamp(at), period.Stamp(l.Since))
	}
	return ""
}

// stale returns a *RejectedError for a file that is older than MaxAge, and a warning for one that
// is only from before Since.
func (l Limits) stale(name string, at time.Time) (warning string, err error) {
	byAge := l
	byAge.Since = time.Time{}
	if old := byAge.tooOld(name, at); old != "" {
		return "", rejected("%s", old)
	}
	if at.IsZero() {
		return "", nil
	}
	return l.tooOld(name, at), nil
}

// instant reads a time as the tools write it; one without a zone is in UTC. It is zero if it cannot
// be read.
func instant(text string) time.Time {
	if at, _, ok := period.ReadInstant(text); ok {
		return at
	}
	at, _ := time.Parse("20060102T150405Z07:00", text) // zero if it is something else
	return at
}
