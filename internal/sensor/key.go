package sensor

import (
	"fmt"
	"strings"

	"github.com/interlock-go/interlock/internal/excerpt"
	"github.com/interlock-go/interlock/internal/period"
)

// Key names a sensor within its pipeline, without any "#period" suffix.
type Key string

// maxKeyLength is the maximum length of a key, not counting its "#period" suffix or the engine's
// prefix: a pipeline's id may be just as long.
const maxKeyLength = 128

// engineKeys is the prefix of keys that only the engine writes, followed by a pipeline's id.
const engineKeys = "run/"

// Engine reports whether only the engine writes the key: it represents another pipeline's run.
func (k Key) Engine() bool { return strings.HasPrefix(string(k), engineKeys) }

// UpstreamKey returns the key under which the engine announces the runs of a pipeline to its
// downstream pipelines.
func UpstreamKey(pipeline string) Key { return Key(engineKeys + pipeline) }

// Upstream returns the pipeline whose runs an engine's key announces, and whether it is such a key.
func (k Key) Upstream() (pipeline string, ok bool) { return strings.CutPrefix(string(k), engineKeys) }

// Check returns what is wrong with k as the name of a sensor, or nil.
func (k Key) Check() error {
	if k == "" {
		return fmt.Errorf("sensor key is empty; a key is 1 to %d letters, digits and . _ / -", maxKeyLength)
	}
	for _, c := range string(k) {
		if !keyChar(c) {
			return fmt.Errorf("sensor key %s has %q in it; a key is 1 to %d letters, digits and . _ / -", shown(string(k)), c, maxKeyLength)
		}
	}
	if len(strings.TrimPrefix(string(k), engineKeys)) > maxKeyLength {
		return fmt.Errorf("sensor key %s has %d characters; at most %d are allowed", shown(string(k)), len(k), maxKeyLength)
	}
	return nil
}

func keyChar(c rune) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	return c == '.' || c == '_' || c == '/' || c == '-'
}

// ParseKey splits "hourly-status#2026-03-03T07" into its key and period, and checks both.
func ParseKey(s string) (Key, period.Period, error) {
	name, suffix, dated := strings.Cut(s, "#")
	key := Key(name)
	if err := key.Check(); err != nil {
		return "", period.Period{}, err
	}
	if !dated {
		return key, period.Period{}, nil
	}
	p, err := period.Parse(suffix)
	if err != nil {
		return "", period.Period{}, fmt.Errorf("sensor key %s: %s after # is not a period; write it like #2026-03-03, #2026-03-03T07 or #2026-03-03T07:15", shown(s), shown(suffix))
	}
	return key, p, nil
}

// ExternalKey is ParseKey for an external write, which may not use the engine's keys ("run/…").
func ExternalKey(s string) (Key, period.Period, error) {
	key, p, err := ParseKey(s)
	if err != nil {
		return "", period.Period{}, err
	}
	if key.Engine() {
		return "", period.Period{}, fmt.Errorf("sensor key %s: keys that start with %q are written by the engine alone; choose another name", shown(s), engineKeys)
	}
	return key, p, nil
}

// shown quotes and shortens s for an error message, since it may be arbitrary input.
func shown(s string) string { return excerpt.Quoted(s, 64) }
