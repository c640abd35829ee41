package store

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/interlock-go/interlock/internal/sensor"
)

// DecodeFields decodes the data of a reading from its stored JSON. Unlike sensor.Decode it does not check the size:
// the data was accepted when it was written.
func DecodeFields(data []byte) (sensor.Fields, error) {
	v, err := decodeValue(data)
	if err != nil {
		return nil, fmt.Errorf("read stored fields: %w", err)
	}
	fields, ok := v.(map[string]any)
	if !ok && v != nil {
		return nil, fmt.Errorf("read stored fields: %.80s is not an object", data)
	}
	return fields, nil
}

// DecodeData decodes data written by EncodeData into r.
func DecodeData(r *sensor.Reading, data []byte) (err error) {
	r.Deleted = string(data) == DeletedData
	r.Fields, err = DecodeFields(data)
	return err
}

// decodeValue decodes JSON as readings hold it: integers stay exact.
func decodeValue(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return sensor.Normalize(v)
}

// exact decodes user data from JSON without losing integer precision.
type exact struct{ value any }

func (e *exact) UnmarshalJSON(text []byte) (err error) {
	e.value, err = decodeValue(text)
	return err
}

// fields decodes a sensor.Fields from JSON without losing integer precision.
type fields sensor.Fields

func (f *fields) UnmarshalJSON(text []byte) error {
	decoded, err := DecodeFields(text)
	*f = fields(decoded)
	return err
}

// UnmarshalJSON keeps integers exact.
func (l *SeenLeaf) UnmarshalJSON(text []byte) error {
	type plain SeenLeaf
	over := struct {
		*plain
		Needs exact `json:"needs"`
		Value exact `json:"value"`
	}{plain: (*plain)(l)}
	if err := json.Unmarshal(text, &over); err != nil {
		return err
	}
	l.Needs, l.Value = over.Needs.value, over.Value.value
	return nil
}

// UnmarshalJSON keeps integers exact.
func (s *SeenSensor) UnmarshalJSON(text []byte) error {
	type plain SeenSensor
	over := struct {
		*plain
		Fields fields `json:"fields"`
	}{plain: (*plain)(s)}
	if err := json.Unmarshal(text, &over); err != nil {
		return err
	}
	s.Fields = sensor.Fields(over.Fields)
	return nil
}

// UnmarshalJSON keeps integers exact.
func (s *SeenSlice) UnmarshalJSON(text []byte) error {
	type plain SeenSlice
	over := struct {
		*plain
		Fields fields `json:"fields"`
	}{plain: (*plain)(s)}
	if err := json.Unmarshal(text, &over); err != nil {
		return err
	}
	s.Fields = sensor.Fields(over.Fields)
	return nil
}

// UnmarshalJSON keeps integers exact.
func (p *PostRun) UnmarshalJSON(text []byte) error {
	type plain PostRun
	over := struct {
		*plain
		Baseline map[string]fields `json:"baseline"`
	}{plain: (*plain)(p)}
	if err := json.Unmarshal(text, &over); err != nil {
		return err
	}
	p.Baseline = nil
	if over.Baseline != nil {
		p.Baseline = make(map[string]sensor.Fields, len(over.Baseline))
	}
	for key, f := range over.Baseline {
		p.Baseline[key] = sensor.Fields(f)
	}
	return nil
}
