package sensor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"
)

// MaxBytes is the maximum size of a reading's data, as JSON.
const MaxBytes = 64 << 10

// maxDepth is the maximum nesting of a reading's objects and lists; the data itself is the first
// level.
const maxDepth = 32

func tooDeep(depth int) error { return fmt.Errorf("data is nested deeper than %d levels", depth) }

// Decode decodes a JSON object of at most MaxBytes into Fields. For anything else the error says
// what was found.
//
// It does not use json.Unmarshal, which silently keeps the last of two equal keys: a producer that
// sends a field twice has a bug, and a gate must not guess which value was meant.
func Decode(data []byte) (Fields, error) {
	return DecodeObject(data, Bounds{Bytes: MaxBytes, Depth: maxDepth})
}

// Bounds limit DecodeObject. The object itself is the first level of Depth. Values counts what is in
// it, without names; 0 means no limit but that of Bytes.
type Bounds struct{ Bytes, Depth, Values int }

// DecodeObject is Decode for an object that is not a reading, such as an event, with other bounds.
func DecodeObject(data []byte, most Bounds) (Fields, error) {
	if len(data) > most.Bytes {
		return nil, fmt.Errorf("data has %d bytes; at most %d are allowed", len(data), most.Bytes)
	}
	if !utf8.Valid(data) {
		return nil, errors.New("data is not valid UTF-8; send JSON in UTF-8")
	}
	d := &decoder{Decoder: json.NewDecoder(bytes.NewReader(data)), most: most}
	d.UseNumber()
	first, err := d.next()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("data is empty; send a JSON object of fields")
	}
	if err != nil {
		return nil, err
	}
	if first != json.Delim('{') {
		return nil, fmt.Errorf("data is %s; send a JSON object of fields", kindOf(first))
	}
	fields, err := d.object("", 1)
	if errors.Is(err, io.EOF) {
		return nil, errors.New("data is not JSON: it ends in the middle")
	}
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("unexpected data after the JSON object; send exactly one object")
	}
	return fields, nil
}

// DecodeStored decodes JSON that was accepted before: integers stay exact, and no limit of size
// applies.
func DecodeStored(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return Normalize(v)
}

// UnmarshalJSON decodes stored fields, as DecodeStored does.
func (f *Fields) UnmarshalJSON(data []byte) error {
	v, err := DecodeStored(data)
	if err != nil {
		return fmt.Errorf("read stored fields: %w", err)
	}
	fields, ok := v.(map[string]any)
	if !ok && v != nil {
		return fmt.Errorf("read stored fields: %.80s is not an object", data)
	}
	*f = fields
	return nil
}

// decoder builds values from JSON tokens.
type decoder struct {
	*json.Decoder
	most Bounds
	n    int // values so far
}

// next is Token with this package's error messages; io.EOF is returned unchanged.
func (d *decoder) next() (json.Token, error) {
	token, err := d.Token()
	if err == nil || errors.Is(err, io.EOF) {
		return token, err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, io.EOF
	}
	return nil, fmt.Errorf("data is not JSON: at byte %d: %w", d.InputOffset(), err)
}

// object decodes the rest of an object after its {.
func (d *decoder) object(path string, depth int) (map[string]any, error) {
	if depth > d.most.Depth {
		return nil, tooDeep(d.most.Depth)
	}
	object := map[string]any{}
	for {
		token, err := d.next()
		if err != nil {
			return nil, err
		}
		name, ok := token.(string)
		if !ok {
			return object, nil // the only other token here is the closing brace
		}
		if _, repeated := object[name]; repeated {
			return nil, fmt.Errorf("data has the field %s twice; send it once", shown(path+name))
		}
		if object[name], err = d.value(path+name, depth); err != nil {
			return nil, err
		}
	}
}

// list decodes the rest of a list after its [.
func (d *decoder) list(path string, depth int) ([]any, error) {
	if depth > d.most.Depth {
		return nil, tooDeep(d.most.Depth)
	}
	list := []any{}
	for d.More() {
		item, err := d.value(path, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	_, err := d.next()
	return list, err
}

func (d *decoder) value(path string, depth int) (any, error) {
	if d.n++; d.n > d.most.Values && d.most.Values > 0 {
		return nil, fmt.Errorf("data has more than %d values; send fewer", d.most.Values)
	}
	token, err := d.next()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return d.object(path+".", depth+1)
		}
		return d.list(path, depth+1)
	case json.Number:
		n, err := number(token)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", shown(path), err)
		}
		return n, nil
	}
	return token, nil
}

// number keeps integers exact if they fit into 64 bits.
func number(n json.Number) (any, error) {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return i, nil
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil {
		return nil, fmt.Errorf("%s is not a number that fits into 64 bits", shown(string(n)))
	}
	return finite(f)
}

func finite(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%v is not a finite number", f)
	}
	return f, nil
}

// kindOf describes the type of a JSON token or a field's value.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "text"
	case json.Number, int64, float64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	case json.Delim:
		if v == '[' {
			return "a list"
		}
	}
	return fmt.Sprintf("%v", v)
}
