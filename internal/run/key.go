package run

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// Key identifies a run: one pipeline, one schedule, one period.
type Key struct {
	Pipeline pipeline.ID         `json:"pipeline"`
	Schedule pipeline.ScheduleID `json:"schedule"`
	Period   period.Period       `json:"date"`
}

// String returns "{pipeline}/{schedule}/{period}". None of the three can contain a slash.
func (k Key) String() string {
	return string(k.Pipeline) + "/" + string(k.Schedule) + "/" + k.Period.String()
}

// ParseKey parses the result of String.
func ParseKey(s string) (Key, error) {
	parts := strings.Split(s, "/")
	if len(parts) != 3 {
		return Key{}, fmt.Errorf("parse run key %q: want PIPELINE/SCHEDULE/PERIOD, such as orders/cron/2026-03-03", s)
	}
	k := Key{Pipeline: pipeline.ID(parts[0]), Schedule: pipeline.ScheduleID(parts[1])}
	if !k.Pipeline.Valid() {
		return Key{}, fmt.Errorf("parse run key %q: %q is not a pipeline id", s, parts[0])
	}
	if !k.Schedule.Valid() {
		return Key{}, fmt.Errorf("parse run key %q: schedule %q is not cron, stream or manual", s, parts[1])
	}
	p, err := period.Parse(parts[2])
	if err != nil {
		return Key{}, fmt.Errorf("parse run key %q: %w", s, err)
	}
	k.Period = p
	return k, nil
}

// AttemptID is "{pipeline}/{schedule}/{period}/{attempt}": the idempotency key of the job, and part
// of the name of everything that must happen once per attempt.
type AttemptID string

// Attempt returns the id of the nth attempt of k, counted from 1.
func (k Key) Attempt(n int) AttemptID {
	return AttemptID(k.String() + "/" + strconv.Itoa(n))
}

// ParseAttemptID splits an attempt id into its run and its number.
func ParseAttemptID(s string) (Key, int, error) {
	cut := strings.LastIndexByte(s, '/')
	if cut < 0 {
		return Key{}, 0, fmt.Errorf("parse attempt id %q: want PIPELINE/SCHEDULE/PERIOD/N, such as orders/cron/2026-03-03/1", s)
	}
	n, err := strconv.Atoi(s[cut+1:])
	if err != nil || n < 1 || strconv.Itoa(n) != s[cut+1:] {
		return Key{}, 0, fmt.Errorf("parse attempt id %q: attempt %q is not a whole number from 1 up", s, s[cut+1:])
	}
	k, err := ParseKey(s[:cut])
	if err != nil {
		return Key{}, 0, fmt.Errorf("parse attempt id %q: %w", s, err)
	}
	return k, n, nil
}

// Source returns the source of the readings that the attempt itself writes, with its permit. No
// other client can use it: their names are added to the sources that they send.
func (id AttemptID) Source() string { return "attempt " + string(id) }

// Wrote reports whether the attempt itself wrote a reading with that source.
func (id AttemptID) Wrote(source string) bool {
	return source == id.Source() || strings.HasSuffix(source, " ("+id.Source()+")")
}
