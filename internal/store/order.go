package store

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/sensor"
)

// Width is how many digits an instant or the place of a period has in a store that sorts texts.
const Width = 19

// Nanos is an instant as such a store compares it: nanoseconds since 1970 in 19 digits, at the nearest end of what fits
// (1970 to 2262) beyond it. Where the value itself matters that far out, it is in a record's JSON too.
func Nanos(t time.Time) string {
	n := t.UnixNano()
	switch sec := t.Unix(); {
	case sec < 0:
		n = 0
	case sec >= math.MaxInt64/int64(time.Second):
		n = math.MaxInt64
	}
	return fmt.Sprintf("%0*d", Width, n)
}

// FromNanos reads what Nanos writes.
func FromNanos(text string) (time.Time, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read stored instant: %w", err)
	}
	return time.Unix(0, n).UTC(), nil
}

// Place is a period in the order of Period.Compare, in 19 digits.
func Place(p period.Period) string {
	if p.IsZero() {
		return strings.Repeat("0", Width)
	}
	return PeriodKey(p)
}

// LatestFirst is Place the other way round.
func LatestFirst(p period.Period) string {
	digits := []byte(Place(p))
	for i, c := range digits {
		digits[i] = '0' + '9' - c
	}
	return string(digits)
}

// EncodeFields writes the data of a reading as JSON such that two texts are equal exactly if sensor.SameData says so of the
// data: names sorted, a whole number without a point whatever its type.
func EncodeFields(f sensor.Fields) (string, error) {
	normal, err := sensor.Normalize(f)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(whole(normal))
	if err != nil {
		return "", fmt.Errorf("write fields as JSON: %w", err)
	}
	return string(text), nil
}

// DeletedData is what stands for the data of a reading that deletes the one before it. No data is equal to it.
const DeletedData = "null"

// EncodeData writes the data of a reading as EncodeFields does, and DeletedData for one that deletes.
func EncodeData(r sensor.Reading) (string, error) {
	if r.Deleted {
		return DeletedData, nil
	}
	return EncodeFields(r.Fields)
}

// whole makes whole numbers integers.
func whole(v any) any {
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) && v >= -1<<63 && v < 1<<63 {
			return int64(v)
		}
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = whole(v[name])
		}
	}
	return v
}
