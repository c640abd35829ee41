package sensor

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"time"
	"unicode/utf8"
)

// Normalize converts values from elsewhere (YAML, DynamoDB) to the types that Fields may hold. A
// time becomes RFC 3339 text; a value that a reading cannot hold is an error.
func Normalize(v any) (any, error) { return normalize(v, 1) }

// CheckDepth returns an error if a field of a reading cannot hold the decoded JSON value v, because
// it is nested too deeply.
func CheckDepth(v any) error { return checkDepth(v, 2) } // the reading itself is the first level

func checkDepth(v any, depth int) error {
	switch v := v.(type) {
	case []any:
		if depth > maxDepth {
			return tooDeep(maxDepth)
		}
		for _, item := range v {
			if err := checkDepth(item, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		if depth > maxDepth {
			return tooDeep(maxDepth)
		}
		for _, item := range v {
			if err := checkDepth(item, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func normalize(v any, depth int) (any, error) {
	if depth > maxDepth {
		switch v.(type) {
		case []any, map[string]any, map[any]any, Fields:
			return nil, tooDeep(maxDepth)
		}
	}
	switch v := v.(type) {
	case nil, bool, int64:
		return v, nil
	case string:
		if !utf8.ValidString(v) {
			return nil, fmt.Errorf("text %s is not valid UTF-8", shown(v))
		}
		return v, nil
	case float64:
		return finite(v)
	case json.Number:
		return number(v)
	case time.Time:
		return v.Format(time.RFC3339Nano), nil
	case []any:
		return normalizeList(v, depth)
	case Fields:
		return normalizeMap(v, depth)
	case map[string]any:
		return normalizeMap(v, depth)
	case map[any]any:
		return normalizeAnyMap(v, depth)
	}
	switch number := reflect.ValueOf(v); {
	case number.CanInt():
		return number.Int(), nil
	case number.CanUint():
		return unsigned(number.Uint()), nil
	case number.CanFloat():
		return finite(number.Float())
	}
	return nil, fmt.Errorf("a reading cannot contain a %T; use text, numbers, true, false, null, lists and objects", v)
}

// unsigned converts an integer beyond 2^63 in the same way as JSON decoding.
func unsigned(v uint64) any {
	if v > math.MaxInt64 {
		return float64(v)
	}
	return int64(v)
}

func normalizeList(list []any, depth int) (any, error) {
	out := make([]any, len(list))
	for i, item := range list {
		var err error
		if out[i], err = normalize(item, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func normalizeMap(m map[string]any, depth int) (any, error) {
	out := make(map[string]any, len(m))
	for name, value := range m {
		var err error
		if out[name], err = normalize(value, depth+1); err != nil {
			return nil, fmt.Errorf("field %s: %w", shown(name), err)
		}
	}
	return out, nil
}

func normalizeAnyMap(m map[any]any, depth int) (any, error) {
	named := make(map[string]any, len(m))
	for name, value := range m {
		text, ok := name.(string)
		if !ok {
			return nil, fmt.Errorf("field name %v is a %T; names must be text", name, name)
		}
		named[text] = value
	}
	return normalizeMap(named, depth)
}
