package redis

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// key is the name of a record, as seed 003 builds it.
func (s *Store) key(parts ...string) string { return s.prefix + ":" + strings.Join(parts, ":") }

// escape makes a name fit to stand before a separator. No id of a pipeline needs it.
var escape = strings.NewReplacer("%", "%25", ":", "%3A").Replace

// sensorName is what the keys of one sensor end with.
func sensorName(id pipeline.ID, key sensor.Key) string {
	return escape(string(id)) + ":" + string(key)
}

// runLog is the key of a run's job log.
func runLog(key run.Key) string {
	return "runlog:" + escape(string(key.Pipeline)) + ":" + key.Period.String() + ":" + string(key.Schedule)
}

func noteName(kind store.NoteKind, key string) string {
	if kind == store.ThreadNote {
		return "thread:" + key
	}
	return "note:" + escape(string(kind)) + ":" + key
}

// lockName is where the lease on a task is kept: with those on all tasks about the runs of that pipeline and schedule, or of that
// kind where it is about no run.
func lockName(t store.Task) string {
	if t.Key != (run.Key{}) {
		return "eval:" + escape(string(t.Key.Pipeline)) + ":" + string(t.Key.Schedule)
	}
	return escape(string(t.Kind)) + ":" + string(t.Pipeline)
}

// place is a period in the order of Period.Compare, in 19 digits.
func place(p period.Period) string {
	if p.IsZero() {
		return strings.Repeat("0", width)
	}
	return store.PeriodKey(p)
}

// latestFirst is place the other way round.
func latestFirst(p period.Period) string {
	digits := []byte(place(p))
	for i, c := range digits {
		digits[i] = '0' + '9' - c
	}
	return string(digits)
}

// names are what a member of a list goes on with after its place. The separator sorts before everything.
func names(key run.Key, more ...string) string {
	return strings.Join(append([]string{string(key.Pipeline), string(key.Schedule), key.Period.String()}, more...), "\x00")
}

// width is how many digits an instant or the place of a period has.
const width = 19

// nanos is an instant as it is compared: nanoseconds since 1970 in 19 digits, at the nearest end of what fits (1970 to 2262)
// beyond it. Where the value itself matters that far out, it is in a record's JSON too.
func nanos(t time.Time) string {
	n := t.UnixNano()
	switch sec := t.Unix(); {
	case sec < 0:
		n = 0
	case sec >= math.MaxInt64/int64(time.Second):
		n = math.MaxInt64
	}
	return fmt.Sprintf("%019d", n)
}

func fromNanos(text string) (time.Time, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read stored instant: %w", err)
	}
	return time.Unix(0, n).UTC(), nil
}

// orderText sorts as the number does.
func orderText(order int64) string { return fmt.Sprintf("%020d", uint64(order)^1<<63) }

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

func encode(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("write %T as JSON: %w", v, err)
	}
	return string(text), nil
}

func decode[T any](text string) (T, error) {
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return v, fmt.Errorf("read stored %T: %w", v, err)
	}
	return v, nil
}

// encodeFields writes the data of a reading as JSON such that two texts are equal exactly if sensor.SameData says so of the
// data: names sorted, a whole number without a point whatever its type.
func encodeFields(f sensor.Fields) (string, error) {
	normal, err := sensor.Normalize(f)
	if err != nil {
		return "", err
	}
	return encode(whole(normal))
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

// extra is what few readings have.
type extra struct {
	Source    string    `json:"source,omitempty"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
}
