package probe

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/interlock-go/interlock/internal/sensor"
)

// Status is an evaluator's own verdict. Whether it counts is for rules to say.
type Status string

// The two verdicts.
const (
	Pass Status = "PASS"
	Fail Status = "FAIL"
)

// Answer is what an evaluator found.
type Answer struct {
	Status   Status
	Value    sensor.Fields
	Reason   string
	Category string // of a FAIL, in the evaluator's own words
}

// MaxAnswer is how long an answer may be: what fits into a reading.
const MaxAnswer = sensor.MaxBytes

// maxReason bounds what is kept of a reason.
const maxReason = 1000

// ParseAnswer reads what an evaluator printed: one JSON object. Keys that it does not know are left alone, so that an
// evaluator may say more to others.
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
			*part.to = brief(text)
		default:
			return fmt.Errorf("the %s of its answer is not text", part.name)
		}
	}
	return nil
}

// Fields is the answer as a reading: the fields of its value, and beside them its status, reason and category.
func (a Answer) Fields() sensor.Fields {
	fields := sensor.Fields{}
	for name, value := range a.Value {
		fields[name] = value
	}
	fields["status"] = string(a.Status)
	delete(fields, "reason")
	delete(fields, "failureCategory")
	if a.Reason != "" {
		fields["reason"] = a.Reason
	}
	if a.Category != "" {
		fields["failureCategory"] = a.Category
	}
	return fields
}

// brief keeps a text short, on a whole character.
func brief(text string) string {
	if len(text) <= maxReason {
		return text
	}
	cut := maxReason
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
