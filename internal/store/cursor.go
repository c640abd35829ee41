package store

import (
	"strconv"
	"strings"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

// List cursors are the same in every store: they hold the position of a page's last item, as text
// that only this process reads. Package api encrypts them for its clients.

// RunCursor returns the cursor of a page that ended with r.
func RunCursor(r run.Run) string { return r.Key.String() }

// AfterRun returns the run that a page ended with; the zero Key if there is no cursor.
func AfterRun(cursor string) (run.Key, error) {
	if cursor == "" {
		return run.Key{}, nil
	}
	key, err := run.ParseKey(cursor)
	if err != nil {
		return run.Key{}, ErrCursor
	}
	return key, nil
}

// SensorCursor returns the cursor of a page that ended with r: its key.
func SensorCursor(r *sensor.Reading) string { return string(r.Key) }

// DeadlineCursor returns the cursor of a page that ended with d.
func DeadlineCursor(d Deadline) string {
	return period.Exact(d.BreachAt) + " " + string(d.Kind) + " " + d.Key.String()
}

// AfterDeadline returns the sort fields of the deadline that a page ended with; the zero Deadline
// if there is no cursor.
func AfterDeadline(cursor string) (d Deadline, err error) {
	if cursor == "" {
		return d, nil
	}
	parts := strings.SplitN(cursor, " ", 3)
	if len(parts) < 3 {
		return d, ErrCursor
	}
	at, ok := period.ParseInstant(parts[0])
	key, err := run.ParseKey(parts[2])
	if !ok || err != nil {
		return d, ErrCursor
	}
	d.BreachAt, d.Kind, d.Key = at, DeadlineKind(parts[1]), key
	return d, nil
}

// NumberCursor returns the cursor of a page that ended with a version or a position.
func NumberCursor[N ~int64](n N) string { return strconv.FormatInt(int64(n), 10) }

// AfterNumber returns the version or position that a page ended with; 0 if there is no cursor.
func AfterNumber(cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil || n < 1 {
		return 0, ErrCursor
	}
	return n, nil
}
