package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/excerpt"
	"github.com/interlock-go/interlock/internal/sensor"
)

// Status is an evaluator's own verdict. Rules decide whether it counts.
type Status string

// The verdicts.
const (
	Pass Status = "PASS"
	Fail Status = "FAIL"
	// Unknown means that the evaluator works but knows nothing about the period. Such an answer
	// becomes no reading, and ends that of an earlier answer. Only built-in probes give it.
	Unknown Status = "UNKNOWN"
)

// Answer is the output of an evaluator.
type Answer struct {
	Status   Status
	Value    sensor.Fields
	Reason   string
	Category string // of a FAIL, as the evaluator names it
}

// MaxAnswer is the maximum size of an answer, which is that of a reading.
const MaxAnswer = sensor.MaxBytes

// maxReason is the maximum length of a stored reason, in bytes.
const maxReason = 1000

// ParseAnswer parses the output of an evaluator: one JSON object. It ignores unknown keys, so that
// an evaluator may print more for other readers.
func ParseAnswer(text []byte) (Answer, error) {
	if len(strings.TrimSpace(string(text))) == 0 {
		return Answer{}, errors.New(`its answer is empty; it must print {"status": "PASS" or "FAIL", …}`)
	}
	fields, err := sensor.Decode(text)
	if err != nil {
		return Answer{}, fmt.Errorf("its answer is not one JSON object: %w; print anything else to stderr", err)
	}
	a := Answer{Value: sensor.Fields{}}
	for _, read := range []func(sensor.Fields) error{a.readStatus, a.readValue, a.readTexts} {
		if err := read(fields); err != nil {
			return Answer{}, err
		}
	}
	return a, nil
}

func (a *Answer) readStatus(fields sensor.Fields) error {
	text, _ := fields["status"].(string)
	switch a.Status = Status(text); a.Status {
	case Pass, Fail:
		return nil
	}
	if _, there := fields["status"]; !there {
		return errors.New(`its answer has no status; it must be "PASS" or "FAIL"`)
	}
	return fmt.Errorf(`its answer has the status %.40q; it must be "PASS" or "FAIL"`, fmt.Sprint(fields["status"]))
}

func (a *Answer) readValue(fields sensor.Fields) error {
	switch value := fields["value"].(type) {
	case nil:
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if Reserved(name) {
				return fmt.Errorf("the value of its answer has a field %q, which every answer has itself; give it another name in value", name)
			}
		}
		a.Value = value
	default:
		return errors.New(`the value of its answer is not an object; write {"value": {"count": 3}}`)
	}
	return nil
}

func (a *Answer) readTexts(fields sensor.Fields) error {
	for _, part := range []struct {
		name string
		to   *string
	}{{"reason", &a.Reason}, {"failureCategory", &a.Category}} {
		switch text := fields[part.name].(type) {
		case nil:
		case string:
			*part.to = excerpt.Bytes(text, maxReason)
		default:
			return fmt.Errorf("the %s of its answer is not text", part.name)
		}
	}
	return nil
}

// Reserved reports whether name is a field that the answer itself gives the reading. A value must
// not have such a field: the reading could not hold both.
func Reserved(name string) bool {
	return name == "status" || name == "reason" || name == "failureCategory"
}

// Fields returns the answer as a reading: the fields of its value, which are not Reserved, plus its
// status, reason and category.
func (a Answer) Fields() sensor.Fields {
	fields := sensor.Fields{}
	maps.Copy(fields, a.Value)
	fields["status"] = string(a.Status)
	if a.Reason != "" {
		fields["reason"] = a.Reason
	}
	if a.Category != "" {
		fields["failureCategory"] = a.Category
	}
	return fields
}

// CheckSize returns an error if the answer makes a reading of more than MaxAnswer bytes, as the JSON
// that a client would send.
func (a Answer) CheckSize() error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(a.Fields()); err != nil {
		return fmt.Errorf("write its answer as JSON: %w", err)
	}
	if size := text.Len() - 1; size > MaxAnswer { // without the line break
		return fmt.Errorf("its answer makes a reading of %d bytes; at most %d are allowed", size, MaxAnswer)
	}
	return nil
}
