package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/interlock-go/interlock/internal/sensor"
)

// Content returns a hash of a reading's data. Data that sensor.SameData considers equal has the same hash.
func Content(f sensor.Fields) string {
	canonical, err := json.Marshal(plain(map[string]any(f)))
	if err != nil { // only for data that no reading can hold
		canonical = fmt.Appendf(nil, "%v", f)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:16])
}

// plain converts numbers to a canonical form: 1.0 and 1 are the same data.
func plain(v any) any {
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) && v >= math.MinInt64 && v < math.MaxInt64 {
			return int64(v)
		}
		return v
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = plain(v[i])
		}
		return list
	case map[string]any:
		fields := make(map[string]any, len(v))
		for name, value := range v {
			fields[name] = plain(value)
		}
		return fields
	default:
		return v
	}
}

// maxText bounds a value in an event, which is for people; the snapshot has the full value.
const maxText = 200

// text formats a value for an event; "" if there was none.
func text(v any) string {
	if v == nil {
		return ""
	}
	shown, isText := v.(string)
	if !isText {
		raw, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		shown = string(raw)
	}
	if len(shown) <= maxText {
		return shown
	}
	cut := maxText
	for !utf8.RuneStart(shown[cut]) {
		cut--
	}
	return shown[:cut] + "…"
}
