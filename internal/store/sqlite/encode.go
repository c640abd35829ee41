package sqlite

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// plainDepth is how deep data may nest and still be written without a closer look. It is less than sensor.Normalize allows.
const plainDepth = 8

// encodeData is store.EncodeData.
func encodeData(r sensor.Reading) (string, error) {
	if r.Deleted {
		return store.DeletedData, nil
	}
	return encodeFields(r.Fields)
}

// encodeFields writes the data of a reading as JSON such that two texts are equal exactly if sensor.SameData says so of the
// data: names sorted, a whole number without a point whatever its type. That makes "did it change" a comparison of texts.
func encodeFields(f sensor.Fields) (string, error) {
	var buffer [256]byte
	if text, ok := appendObject(buffer[:0], f, plainDepth); ok {
		return string(text), nil
	}
	normal, err := sensor.Normalize(f)
	if err != nil {
		return "", err
	}
	text, ok := appendValue(nil, normal, math.MaxInt)
	if !ok {
		return "", fmt.Errorf("the data holds what cannot be written as JSON")
	}
	return string(text), nil
}

// appendValue fails on what sensor.Normalize would refuse or change, and on what nests deeper than depth.
func appendValue(b []byte, v any, depth int) ([]byte, bool) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), true
	case bool:
		return strconv.AppendBool(b, v), true
	case int64:
		return strconv.AppendInt(b, v, 10), true
	case float64:
		return appendFloat(b, v)
	case string:
		return appendString(b, v)
	case []any:
		return appendList(b, v, depth)
	case map[string]any:
		return appendObject(b, v, depth)
	}
	return b, false
}

func appendObject(b []byte, object map[string]any, depth int) ([]byte, bool) {
	if depth == 0 {
		return b, false
	}
	var few [16]string
	names := few[:0]
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		var ok bool
		if b, ok = appendString(b, name); !ok {
			return b, false
		}
		if b, ok = appendValue(append(b, ':'), object[name], depth-1); !ok {
			return b, false
		}
	}
	return append(b, '}'), true
}

func appendList(b []byte, list []any, depth int) ([]byte, bool) {
	if depth == 0 {
		return b, false
	}
	b = append(b, '[')
	for i, item := range list {
		if i > 0 {
			b = append(b, ',')
		}
		var ok bool
		if b, ok = appendValue(b, item, depth-1); !ok {
			return b, false
		}
	}
	return append(b, ']'), true
}

// appendFloat writes a whole number as the integer it equals.
func appendFloat(b []byte, f float64) ([]byte, bool) {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return b, false
	case f == math.Trunc(f) && f >= -1<<63 && f < 1<<63:
		return strconv.AppendInt(b, int64(f), 10), true
	}
	return strconv.AppendFloat(b, f, 'g', -1, 64), true
}

// appendString leaves what needs escaping to the standard library.
func appendString(b []byte, s string) ([]byte, bool) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return appendEscaped(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"'), true
}

func appendEscaped(b []byte, s string) ([]byte, bool) {
	text, err := json.Marshal(s)
	if err != nil || !utf8.ValidString(s) {
		return b, false
	}
	return append(b, text...), true
}

// extra is what few readings have.
type extra struct {
	Source    string    `json:"source,omitempty"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
}

// encodeExtra gives "" where there is nothing.
func encodeExtra(r sensor.Reading) (string, error) {
	if r.Source == "" && r.ExpiresAt.IsZero() {
		return "", nil
	}
	return encode(extra{Source: r.Source, ExpiresAt: r.ExpiresAt.UTC()})
}

func encode(v any) (string, error) {
	text, err := marshal(v)
	if err != nil {
		return "", fmt.Errorf("write %T as JSON: %w", v, err)
	}
	return string(text), nil
}

func decode[T any](text string) (v T, err error) {
	err = decodeInto(text, &v)
	return v, err
}

func decodeInto[T any](text string, v *T) error {
	if err := unmarshal([]byte(text), v); err != nil {
		return fmt.Errorf("read stored %T: %w", *v, err)
	}
	return nil
}

// marshal leaves what can write itself to do so, of which json.Marshal would go through every byte again.
func marshal(v any) ([]byte, error) {
	if own, can := v.(json.Marshaler); can {
		return own.MarshalJSON()
	}
	return json.Marshal(v)
}

// unmarshal leaves what can read itself to do so, which json.Unmarshal does only after it has gone through all of it twice.
func unmarshal(text []byte, v any) error {
	if own, can := v.(json.Unmarshaler); can {
		return own.UnmarshalJSON(text)
	}
	return json.Unmarshal(text, v)
}

// nanos is an instant as it is stored: nanoseconds since 1970, at the nearest end of what fits (1677 to 2262) beyond it.
// So the order is right everywhere; where the value itself matters that far out, it is in a record's JSON too.
func nanos(t time.Time) int64 {
	switch sec := t.Unix(); {
	case sec <= math.MinInt64/int64(time.Second):
		return math.MinInt64
	case sec >= math.MaxInt64/int64(time.Second):
		return math.MaxInt64
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == math.MinInt64 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
