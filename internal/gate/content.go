package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// Content returns a hash of a reading's data. Data that sensor.SameData considers equal has the same hash.
func Content(f sensor.Fields) string {
	canonical, err := store.EncodeFields(f)
	if err != nil { // only for data that no reading can hold
		canonical = fmt.Sprintf("%v", f)
	}
	sum := sha256.Sum256([]byte(canonical))
	return hex.EncodeToString(sum[:16])
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
