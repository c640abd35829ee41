package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
)

// maxFactsBytes limits a sensors file: far more than any gate reads.
const maxFactsBytes = 16 << 20

// sensorName is a sensor of a pipeline. from is "" for the evaluated pipeline.
type sensorName struct {
	from string
	key  sensor.Key
}

func (n sensorName) String() string {
	if n.from == "" {
		return string(n.key)
	}
	return n.from + ":" + string(n.key)
}

// facts holds the given readings by sensor, one per period.
type facts map[sensorName][]*sensor.Reading

// openFacts reads a sensors file, or stdin for "-".
func (a *app) openFacts(file string) ([]byte, error) {
	data, err := a.readInput("the sensors", file, maxFactsBytes)
	if err == nil && len(data) > maxFactsBytes {
		err = fmt.Errorf("%s is larger than %d MiB; include only the sensors that the rules read", file, maxFactsBytes>>20)
	}
	return data, err
}

// readInput reads a file, or stdin for "-". It reads at most one byte more than most, so that the
// caller can detect input that is too large.
func (a *app) readInput(what, file string, most int64) ([]byte, error) {
	in := a.stdin
	if file != stdinName {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", what, err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return data, nil
}

// parseFacts reads {key: {fields…}}. A key may have another pipeline as prefix ("other:key") and a
// period as suffix ("key#2026-03-03"). Each entry is one reading, written at the given time. own is
// the evaluated pipeline.
func parseFacts(file string, data []byte, own pipeline.ID, written time.Time) (facts, error) {
	entries, err := jsonEntries(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	given := facts{}
	for _, entry := range entries {
		name, reading, err := parseFact(entry, own, written)
		if err == nil {
			err = given.add(name, reading)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", file, entry.key, err)
		}
	}
	return given, nil
}

func parseFact(entry jsonEntry, own pipeline.ID, written time.Time) (sensorName, *sensor.Reading, error) {
	var name sensorName
	text := entry.key
	if from, rest, ok := strings.Cut(text, ":"); ok && pipeline.ID(from).Valid() {
		text = rest
		if pipeline.ID(from) != own {
			name.from = from
		}
	}
	key, suffix, err := sensor.ParseKey(text)
	if err != nil {
		return name, nil, err
	}
	name.key = key
	fields, err := sensor.Decode(entry.value)
	if err != nil {
		return name, nil, err
	}
	p, err := sensor.PeriodOf(fields, suffix)
	if err != nil {
		return name, nil, err
	}
	return name, &sensor.Reading{Key: key, Period: p, Fields: fields, UpdatedAt: written, Version: 1}, nil
}

// add rejects a second reading of the same sensor and period as ambiguous.
func (f facts) add(name sensorName, reading *sensor.Reading) error {
	if slices.ContainsFunc(f[name], func(other *sensor.Reading) bool { return other.Period == reading.Period }) {
		return fmt.Errorf("there are two readings of %s %s; remove one", name, periodText(reading.Period.String()))
	}
	f[name] = append(f[name], reading)
	return nil
}

// of returns the readings for a rule. It looks up another pipeline's sensor by its full name first,
// then by its key alone.
func (f facts) of(own pipeline.ID, from string, key sensor.Key) (sensorName, []*sensor.Reading) {
	if pipeline.ID(from) == own {
		from = ""
	}
	name := sensorName{from, key}
	if _, given := f[name]; !given && from != "" {
		name.from = ""
	}
	return name, f[name]
}

// jsonEntry is one member of a JSON object with its undecoded value.
type jsonEntry struct {
	key   string
	value json.RawMessage
}

// jsonEntries reads the members of a JSON object in order, including duplicates.
func jsonEntries(data []byte) ([]jsonEntry, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if token, err := d.Token(); err != nil {
		return nil, notJSON(data, d, err)
	} else if token != json.Delim('{') {
		return nil, errors.New(`expected an object of sensors, {"key": {"field": "value"}}`)
	}
	var entries []jsonEntry
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, notJSON(data, d, err)
		}
		entry := jsonEntry{key: token.(string)} // inside an object, the decoder returns only strings here
		if err := d.Decode(&entry.value); err != nil {
			return nil, fmt.Errorf("%q: %w", entry.key, notJSON(data, d, err))
		}
		entries = append(entries, entry)
	}
	if _, err := d.Token(); err != nil {
		return nil, notJSON(data, d, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("unexpected data after the JSON object; give one object of sensors")
	}
	return entries, nil
}

// notJSON says where data stops being valid JSON.
func notJSON(data []byte, d *json.Decoder, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("not JSON: unexpected end of input")
	}
	before := data[:min(d.InputOffset(), int64(len(data)))]
	line := bytes.Count(before, []byte("\n")) + 1
	return fmt.Errorf("not JSON near line %d: %w", line, err)
}
