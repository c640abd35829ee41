package awslambda

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

const (
	longestExecution = 80 // the limit of Step Functions
	longestPipeline  = 40 // of the pipeline's id in a name
)

// executionName returns the name of the execution that runs an attempt. A name is reserved for 90 days, so if the
// execution ends before the attempt, the next one gets the next generation. The hash covers the parts of the
// attempt's id that do not fit.
func executionName(key run.Key, attempt, generation int) string {
	tail := fmt.Sprintf("-%s-%s-%d-%d-%s", key.Schedule, stamp(key.Period.String()), attempt, generation,
		hash(8, string(key.Attempt(attempt)), fmt.Sprint(generation)))
	id := plainName(string(key.Pipeline))
	return id[:min(len(id), longestPipeline, longestExecution-len(tail))] + tail
}

// entryName returns the name of the schedule for a task at an instant: moving the task creates another schedule, and
// the old one finds nothing to do.
func entryName(t store.Task, at time.Time) string {
	return fmt.Sprintf("%s-%s-%s", plainName(string(t.Kind)), at.UTC().Format("20060102T1504"), hash(16, t.ID, at.UTC().Format(time.RFC3339)))
}

// stamp returns the digits of a period, the T between day and hour, and the W of a week.
func stamp(period string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c == 'T' || c == 'W' {
			return c
		}
		return -1
	}, period)
}

// plainName keeps the characters that every service allows in names.
func plainName(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			return c
		}
		return '_'
	}, s)
}

// hash returns the first digits of a hash of the parts.
func hash(digits int, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])[:digits]
}
