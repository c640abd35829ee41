package store

import (
	"encoding/json"

	"github.com/interlock-go/interlock/internal/sensor"
)

// DecodeData decodes data written by EncodeData into r.
func DecodeData(r *sensor.Reading, data []byte) error {
	r.Deleted = string(data) == DeletedData
	return r.Fields.UnmarshalJSON(data)
}

// exact decodes user data from JSON without losing integer precision.
type exact struct{ value any }

func (e *exact) UnmarshalJSON(text []byte) (err error) {
	e.value, err = sensor.DecodeStored(text)
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
