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

// Width is the number of digits of an instant or a period key in a store that sorts text.
const Width = 19

// Nanos encodes an instant for such a store: nanoseconds since 1970 in 19 digits, clamped to what
// fits (1970 to 2262). If the exact value matters beyond that, the record's JSON holds it too.
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

// FromNanos decodes text written by Nanos.
func FromNanos(text string) (time.Time, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read stored instant: %w", err)
	}
	return time.Unix(0, n).UTC(), nil
}

// Place encodes a period in 19 digits that sort like Period.Compare.
func Place(p period.Period) string {
	if p.IsZero() {
		return strings.Repeat("0", Width)
	}
	return PeriodKey(p)
}

// LatestFirst is Place in reverse order.
func LatestFirst(p period.Period) string {
	digits := []byte(Place(p))
	for i, c := range digits {
		digits[i] = '0' + '9' - c
	}
	return string(digits)
}

// EncodeFields encodes the data of a reading as canonical JSON: two texts are equal exactly if
// sensor.SameData holds for the data. Names are sorted, and integral numbers have no decimal point,
// whatever their type.
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

// DeletedData is the encoded data of a reading that deletes the previous one. No other data equals
// it.
const DeletedData = "null"

// EncodeData encodes the data of a reading as EncodeFields does, or as DeletedData if the reading
// is a deletion.
func EncodeData(r sensor.Reading) (string, error) {
	if r.Deleted {
		return DeletedData, nil
	}
	return EncodeFields(r.Fields)
}

// whole converts integral floats to int64.
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
