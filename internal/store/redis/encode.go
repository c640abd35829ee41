package redis

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

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

// noteName is the key of a note. Conversations, and what evaluators said, have names of their own.
func noteName(kind store.NoteKind, key string) string {
	switch kind {
	case store.ThreadNote:
		return "thread:" + key
	case store.ProbeNote: // its key is {pipeline}/{probe}
		return "trait:" + strings.Replace(key, "/", ":", 1)
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

// names are what a member of a list goes on with after its place. The separator sorts before everything.
func names(key run.Key, more ...string) string {
	return strings.Join(append([]string{string(key.Pipeline), string(key.Schedule), key.Period.String()}, more...), "\x00")
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

// extra is what few readings have.
type extra struct {
	Source    string    `json:"source,omitempty"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
}
