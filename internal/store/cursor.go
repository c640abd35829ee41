package store

import (
	"strconv"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

// List cursors are the same in every store: they hold the position of a page's last item.

// RunCursor returns the cursor of a page that ended with r.
func RunCursor(r run.Run) string { return EncodeCursor(r.Key.String()) }

// AfterRun returns the run that a page ended with; the zero Key if there is no cursor.
func AfterRun(cursor string) (run.Key, error) {
	if cursor == "" {
		return run.Key{}, nil
	}
	parts, err := DecodeCursor(cursor, 1)
	if err != nil {
		return run.Key{}, err
	}
	key, err := run.ParseKey(parts[0])
	if err != nil {
		return run.Key{}, ErrCursor
	}
	return key, nil
}

// SensorCursor returns the cursor of a page that ended with r.
func SensorCursor(r *sensor.Reading) string { return EncodeCursor(string(r.Key)) }

// AfterSensor returns the key that a page ended with; "" if there is no cursor.
func AfterSensor(cursor string) (sensor.Key, error) {
	if cursor == "" {
		return "", nil
	}
	parts, err := DecodeCursor(cursor, 1)
	if err != nil || parts[0] == "" {
		return "", ErrCursor
	}
	return sensor.Key(parts[0]), nil
}

// DeadlineCursor returns the cursor of a page that ended with d.
func DeadlineCursor(d Deadline) string {
	return EncodeCursor(d.BreachAt.UTC().Format(time.RFC3339Nano), d.Key.String(), string(d.Kind))
}

// AfterDeadline returns the sort fields of the deadline that a page ended with; the zero Deadline
// if there is no cursor.
func AfterDeadline(cursor string) (d Deadline, err error) {
	if cursor == "" {
		return d, nil
	}
	parts, err := DecodeCursor(cursor, 3)
	if err != nil {
		return d, err
	}
	if d.BreachAt, err = time.Parse(time.RFC3339Nano, parts[0]); err != nil {
		return Deadline{}, ErrCursor
	}
	if d.Key, err = run.ParseKey(parts[1]); err != nil {
		return Deadline{}, ErrCursor
	}
	d.Kind = DeadlineKind(parts[2])
	return d, nil
}

// NumberCursor returns the cursor of a page that ended with a version or a position.
func NumberCursor[N ~int64](n N) string { return EncodeCursor(strconv.FormatInt(int64(n), 10)) }

// AfterNumber returns the version or position that a page ended with; 0 if there is no cursor.
func AfterNumber(cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	parts, err := DecodeCursor(cursor, 1)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil || n < 1 {
		return 0, ErrCursor
	}
	return n, nil
}
