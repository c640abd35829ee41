// Package artifact reads the result files of dbt, Great Expectations and Soda and decides which
// readings to write for them. It writes only what a file says: a node that is left out gets
// no reading. A check that the tool could not evaluate gets a reading whose status is null, so that
// a rule on it is unknown instead of seeing an older status.
//
// It does no I/O: the command `interlock ingest` reads the files and sends the readings. Dbt,
// GreatExpectations and Soda read the files that Limits lets count; Result.AddLeftOut then adds the
// checks that a scan with errors left out.
package artifact

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/excerpt"
)

// File is a result file. Found says that it was found in a directory, and not named by the user.
type File struct {
	Name  string
	Data  []byte
	Found bool
}

// Reading is one reading that a file gives.
type Reading struct {
	Key    string         `json:"key"`
	Fields map[string]any `json:"data"`
}

// Result is what files give. Failed and Unknown name what did not pass, and what the tool could not
// evaluate. Warnings name files that are old.
type Result struct {
	Readings []Reading
	Failed   []string
	Unknown  []string
	Warnings []string

	incomplete *scan // a scan with errors; nil if nothing is left out
}

// Passed reports whether everything was evaluated, and nothing failed. Warnings pass.
func (r *Result) Passed() bool { return len(r.Failed) == 0 && len(r.Unknown) == 0 }

// RejectedError is the error for a file that is intact, but whose results must not be used.
type RejectedError struct{ reason string }

func (e *RejectedError) Error() string { return e.reason }

func rejected(format string, args ...any) error {
	return &RejectedError{fmt.Sprintf(format, args...)}
}

func (r *Result) add(key string, fields map[string]any) {
	r.Readings = append(r.Readings, Reading{key, fields})
}

// keepWorst keeps, of several readings with one key, the worst, and sorts the readings by key.
func (r *Result) keepWorst() {
	slices.SortStableFunc(r.Readings, func(a, b Reading) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(badness(b.Fields), badness(a.Fields)))
	})
	r.Readings = slices.CompactFunc(r.Readings, func(a, b Reading) bool { return a.Key == b.Key })
}

// badness orders readings by their status, the best first. A failure is worse than unknown.
func badness(fields map[string]any) int {
	status, ok := fields["status"].(string)
	if !ok {
		return slices.Index(worse, "")
	}
	return slices.Index(worse, countedAs(status))
}

// worse lists the kinds of status, the best first; "" is unknown.
var worse = []string{"pass", "warn", "", "skipped", "fail", "error"}

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

// orNull returns text, or nil for JSON's null if it is empty.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func missing(f File, field string) error {
	return fmt.Errorf("%s: field %s is missing", f.Name, field)
}

// maxError is the longest text in the field error of a reading, in bytes.
const maxError = 500

// shortError returns the first line of a tool's message.
func shortError(message string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	return excerpt.Bytes(line, maxError)
}
