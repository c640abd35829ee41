// Package artifact reads the result files of dbt, Great Expectations and Soda and decides which
// readings they give. It writes only what a file says: a node that is left out gets no reading, and
// a check that the tool could not evaluate gets a reading whose status is null, so that a rule on
// it is unknown instead of seeing an older status.
//
// It does no I/O: the command `interlock ingest` reads the files and sends the readings.
package artifact

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// File is a result file.
type File struct {
	Name string
	Data []byte
}

// Reading is one reading that a file gives.
type Reading struct {
	Key    string         `json:"key"`
	Fields map[string]any `json:"data"`
}

// Result is what files give. Failed and Unknown name what did not pass, and what the tool could not
// evaluate.
type Result struct {
	Readings []Reading
	Failed   []string
	Unknown  []string
}

// Passed reports whether everything was evaluated, and nothing failed. Warnings pass.
func (r *Result) Passed() bool { return len(r.Failed) == 0 && len(r.Unknown) == 0 }

func (r *Result) add(key string, fields map[string]any) {
	r.Readings = append(r.Readings, Reading{key, fields})
}

func (r *Result) sort() {
	slices.SortStableFunc(r.Readings, func(a, b Reading) int { return cmp.Compare(a.Key, b.Key) })
}

// decode reads JSON; an error names the file and the field.
func decode(f File, into any) error {
	err := json.Unmarshal(f.Data, into)
	kind, wrong := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case err == nil:
		return nil
	case !wrong:
		return fmt.Errorf("%s: it is not JSON: %w", f.Name, err)
	}
	expected := fmt.Sprintf("expected %s, found %s", jsonKind(kind.Type), kind.Value)
	if at := fieldAt(f.Data, kind.Offset); at != "" {
		return fmt.Errorf("%s: field %s: %s", f.Name, at, expected)
	}
	return fmt.Errorf("%s: %s", f.Name, expected)
}

// jsonKind returns the kind of JSON value that t is decoded from.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "array"
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Int, reflect.Float64:
		return "number"
	}
	return t.String() // string, bool
}

// set stores the value of an optional field, if the file has it.
func set[T any](fields map[string]any, name string, value *T) {
	if value != nil {
		fields[name] = *value
	}
}

func missing(f File, field string) error {
	return fmt.Errorf("%s: field %s is missing", f.Name, field)
}

// maxName is how long the part of a key behind its prefix may be.
const maxName = 100

// keyName makes a name fit for a sensor's key: other characters become _, and a long name ends in a
// hash.
func keyName(name string) string {
	var b strings.Builder
	for _, c := range name {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._/-", c) {
			b.WriteRune(c)
		} else if text := b.String(); text != "" && !strings.HasSuffix(text, "_") {
			b.WriteByte('_')
		}
	}
	out := strings.Trim(b.String(), "_")
	if len(out) <= maxName && out != "" {
		return out
	}
	return hashed(out, name)
}

// hashed ends a name in the hash of id.
func hashed(name, id string) string {
	sum := sha256.Sum256([]byte(id))
	return strings.TrimPrefix(name[:min(len(name), maxName-9)]+"-"+hex.EncodeToString(sum[:4]), "-")
}

// labels are the names of one thing, from short to long. id differs from that of every other thing.
type labels struct{ short, long, id string }

// named gives each thing the short name if no other has it, else the long one. Different long names
// may still become the same key, such as "rows > 0" and "rows < 0"; those end in a hash.
func named[T any](all []T, of func(T) labels) []string {
	keys := make([]string, len(all))
	for i, one := range all {
		keys[i] = keyName(of(one).short)
	}
	rename(keys, func(i int) string { return keyName(of(all[i]).long) })
	rename(keys, func(i int) string { return hashed(keys[i], of(all[i]).id) })
	return keys
}

// rename replaces the keys that occur more than once.
func rename(keys []string, with func(i int) string) {
	count := map[string]int{}
	for _, key := range keys {
		count[key]++
	}
	for i, key := range keys {
		if count[key] > 1 {
			keys[i] = with(i)
		}
	}
}
