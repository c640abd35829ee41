package client

import (
	"bytes"
	"encoding/json"
)

// Strict has every answer refused that holds a key which the types here do not have.
func Strict() (restore func()) {
	decode = func(data []byte, into any) error {
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		return d.Decode(into)
	}
	return func() { decode = json.Unmarshal }
}
