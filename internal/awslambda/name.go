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
	longestExecution = 80 // what Step Functions takes
	longestPipeline  = 40 // of a pipeline's id in one
)

// executionName names the execution that carries an attempt on. The name is taken for 90 days, so an attempt whose
// execution is gone goes on in the next generation. What it cannot hold of the attempt's id is in the hash.
func executionName(key run.Key, attempt, generation int) string {
	tail := fmt.Sprintf("-%s-%s-%d-%d-%s", key.Schedule, stamp(key.Period.String()), attempt, generation,
		hash(8, string(key.Attempt(attempt)), fmt.Sprint(generation)))
	id := plainName(string(key.Pipeline))
	return id[:min(len(id), longestPipeline, longestExecution-len(tail))] + tail
}

// entryName names the entry of Scheduler for a task at an instant: moving the task makes another entry, and the old one
// finds nothing to do.
func entryName(t store.Task, at time.Time) string {
	return fmt.Sprintf("%s-%s-%s", plainName(string(t.Kind)), at.UTC().Format("20060102T1504"), hash(16, t.ID, at.UTC().Format(time.RFC3339)))
}

// stamp is the digits of a period, the T between day and hour, and the W of a week.
func stamp(period string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c == 'T' || c == 'W' {
			return c
		}
		return -1
	}, period)
}

// plainName keeps the characters that every service takes in names.
func plainName(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			return c
		}
		return '_'
	}, s)
}

// hash is the first digits of a hash of the parts.
func hash(digits int, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])[:digits]
}
