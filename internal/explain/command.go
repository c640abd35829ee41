package explain

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
)

// instant is the shell's word for the instant at which a command runs.
const instant = `"$(date -u +%Y-%m-%dT%H:%M:%SZ)"`

// command returns the command line that makes the step's write; "" if a person does not make it.
func (s step) command(now time.Time) string {
	switch {
	case s.write == nil || s.probe != nil:
		return ""
	case s.write.Deleted:
		return deletion(s.cell.owner, s.write)
	}
	return push(s.cell.owner, s.write, s.cell.read(), now)
}

// deletion returns the command line that deletes a reading.
func deletion(owner pipeline.ID, r *sensor.Reading) string {
	flags := ""
	if !r.Period.IsZero() {
		flags = " --date " + r.Period.String()
	}
	if strings.HasPrefix(string(r.Key), "-") {
		return fmt.Sprintf("interlock sensor delete%s -- %s %s", flags, owner, r.Key)
	}
	return fmt.Sprintf("interlock sensor delete %s %s%s", owner, r.Key, flags)
}

// push returns the command line that writes a reading: the fields in first, then the others.
func push(owner pipeline.ID, r *sensor.Reading, first []string, now time.Time) string {
	key := string(r.Key)
	if !r.Period.IsZero() {
		key += "#" + r.Period.String()
	}
	var names []string
	for _, name := range slices.Concat(first, slices.Sorted(maps.Keys(r.Fields))) {
		if _, there := r.Fields[name]; there && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	pairs := make([]string, 0, len(names))
	dashes := strings.HasPrefix(key, "-")
	for _, name := range names {
		pair, ok := assignment(name, r.Fields[name], now)
		if !ok {
			return pushJSON(owner, key, r.Fields)
		}
		dashes = dashes || strings.HasPrefix(name, "-")
		pairs = append(pairs, pair)
	}
	line := "interlock sensor set"
	if dashes {
		line += " --"
	}
	return fmt.Sprintf("%s %s %s %s", line, owner, key, strings.Join(pairs, " "))
}

// pushJSON returns the command line that writes fields which FIELD=VALUE cannot express.
func pushJSON(owner pipeline.ID, key string, fields sensor.Fields) string {
	dashes := ""
	if strings.HasPrefix(key, "-") {
		dashes = "-- "
	}
	data := escaped(sensor.Literal(map[string]any(stored(fields))))
	return fmt.Sprintf("printf %%s %s | interlock sensor set --json - %s%s %s", quoted(data), dashes, owner, key)
}

// assignment returns field=value for a shell; false if `interlock sensor set` cannot express it.
func assignment(field string, value any, now time.Time) (string, bool) {
	if field == "" || strings.Contains(field, "=") || strings.ContainsFunc(field, unicode.IsControl) {
		return "", false
	}
	switch v := value.(type) {
	case time.Time:
		if v.Equal(now) {
			return quoted(field+"=") + instant, true
		}
		return quoted(field + "=" + period.Stamp(v)), true
	case string:
		return text(field, v), true
	case bool, int64, float64:
		return quoted(field + "=" + sensor.Literal(v)), true
	}
	return "", false
}

// text returns field=value for a text. One that would be read as another type, or that does not fit
// on a line, is written as JSON.
func text(field, v string) string {
	if !json.Valid([]byte(v)) && !strings.ContainsFunc(v, hidden) {
		return quoted(field + "=" + v)
	}
	value := quoted(escaped(sensor.Literal(v)))
	if bare(field) {
		return field + "=" + value
	}
	return quoted(field+"=") + value
}

// hidden reports whether a terminal does not show a character as it is.
func hidden(c rune) bool { return unicode.IsControl(c) || !unicode.IsPrint(c) }

// escaped writes the hidden characters of JSON as escapes.
func escaped(text string) string {
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var w strings.Builder
	for _, c := range text {
		if !hidden(c) {
			w.WriteRune(c)
			continue
		}
		for _, half := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&w, `\u%04x`, half)
		}
	}
	return w.String()
}

// quoted returns a text as one word of a shell.
func quoted(text string) string {
	if bare(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// bare reports whether a text needs no quoting in a shell.
func bare(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+:/=,", c)
	})
}
