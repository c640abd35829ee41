package rule

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/excerpt"
	"github.com/interlock-go/interlock/internal/sensor"
)

// writer writes reasons. All reasons of one verdict share its memory: a string taken from a Builder
// stays valid when more is written.
type writer struct {
	strings.Builder
	start int    // start of the current text
	rule  *Asked // rule of the current text
}

// begin starts a new text.
func (w *writer) begin() { w.start = w.Len() }

// taken returns the text written since begin.
func (w *writer) taken() string { return w.String()[w.start:] }

// instant returns t as text from the shared memory, and starts a new text after it.
func (w *writer) instant(t time.Time) string {
	var scratch [len(time.RFC3339Nano)]byte
	w.Write(t.UTC().AppendFormat(scratch[:0], time.RFC3339Nano))
	text := w.taken()
	w.begin()
	return text
}

// subject writes the field whose value follows.
func (w *writer) subject(field string) {
	w.WriteString(field)
	w.WriteString(" is ")
}

// missing writes why there is no reading.
func (w *writer) missing(seen *sensor.Seen) {
	switch {
	case seen.Note != "":
		w.WriteString(seen.Note)
	case seen.Other.IsZero():
		w.WriteString("no reading")
	case seen.For.IsZero():
		w.WriteString("no reading for this period; the newest belongs to ")
		w.WriteString(seen.Other.String())
	default:
		w.WriteString("no reading for ")
		w.WriteString(seen.For.String())
		w.WriteString("; the newest belongs to ")
		w.WriteString(seen.Other.String())
	}
}

func (w *writer) missingField(field string) {
	w.WriteString("field ")
	w.WriteString(field)
	w.WriteString(" is missing")
}

func (w *writer) expired(ago time.Duration) {
	w.WriteString("expired ")
	w.duration(ago)
	w.WriteString(" ago")
}

// age writes "3h5m old", or how far in the future a timestamp is.
func (w *writer) age(d time.Duration) {
	if d >= 0 {
		w.duration(d)
		w.WriteString(" old")
		return
	}
	w.duration(-max(d, -math.MaxInt64))
	w.WriteString(" in the future")
}

// duration writes d in the units that rules use, without insignificant parts: "45s", "3h5m",
// "2d3h".
func (w *writer) duration(d time.Duration) {
	var scratch [32]byte
	w.Write(appendDuration(scratch[:0], d))
}

func appendDuration(b []byte, d time.Duration) []byte {
	if d < time.Millisecond {
		return append(b, "0s"...)
	}
	if d < time.Second {
		b = strconv.AppendInt(b, d.Milliseconds(), 10)
		return append(b, "ms"...)
	}
	const day = 24 * time.Hour
	smallest := time.Second
	if d >= day {
		smallest = time.Minute
	}
	for _, unit := range [...]struct {
		name byte
		size time.Duration
	}{{'d', day}, {'h', time.Hour}, {'m', time.Minute}, {'s', time.Second}} {
		if unit.size < smallest {
			break
		}
		if n := d / unit.size; n > 0 {
			b = append(strconv.AppendInt(b, int64(n), 10), unit.name)
			d -= n * unit.size
		}
	}
	return b
}

// value writes a field's value as JSON; long strings are cut, and lists and objects are only named.
func (w *writer) value(v any) {
	var scratch [64]byte
	switch v := v.(type) {
	case string:
		w.text(v)
	case int64:
		w.Write(strconv.AppendInt(scratch[:0], v, 10))
	case int: // from a rule written in Go
		w.Write(strconv.AppendInt(scratch[:0], int64(v), 10))
	case float64:
		w.Write(sensor.AppendFloat(scratch[:0], v))
	case bool:
		w.Write(strconv.AppendBool(scratch[:0], v))
	case nil:
		w.WriteString("null")
	case []any:
		w.WriteString("a list")
	case map[string]any:
		w.WriteString("an object")
	default:
		w.WriteString("of an unsupported type")
	}
}

// text writes s in quotes, cut if it is long.
func (w *writer) text(s string) {
	const most = 80
	cut := len(s) > most
	s = excerpt.Head(s, most)
	if isPlain(s) {
		w.WriteByte('"')
		w.WriteString(s)
		w.WriteByte('"')
	} else {
		w.WriteString(strconv.Quote(s))
	}
	if cut {
		w.WriteString("…")
	}
}

// isPlain reports whether s needs no escapes, which is nearly always the case and avoids quoting.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// literal returns what a writer writes for v.
func literal(v any) string {
	var w writer
	w.value(v)
	return w.String()
}
