package template

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/interlock-go/interlock/internal/excerpt"
	"github.com/interlock-go/interlock/internal/sensor"
)

// functions are those of text/template that make sense for texts and numbers, and a few for message
// bodies.
var functions = map[string]func(args []any) (any, error){
	"and": func(args []any) (any, error) { return firstThat(args, false) },
	"or":  func(args []any) (any, error) { return firstThat(args, true) },
	"not": one(func(v any) (any, error) { return !truth(v), nil }),
	"eq":  equal,
	"ne": func(args []any) (any, error) {
		same, err := equal(args)
		return same != true, err
	},
	"lt":       compare(func(order int) bool { return order < 0 }),
	"le":       compare(func(order int) bool { return order <= 0 }),
	"gt":       compare(func(order int) bool { return order > 0 }),
	"ge":       compare(func(order int) bool { return order >= 0 }),
	"len":      one(length),
	"index":    index,
	"print":    func(args []any) (any, error) { return fmt.Sprint(args...), nil },
	"println":  func(args []any) (any, error) { return fmt.Sprintln(args...), nil },
	"printf":   printf,
	"json":     one(func(v any) (any, error) { return sensor.Literal(v), nil }),
	"upper":    one(func(v any) (any, error) { return strings.ToUpper(text(v)), nil }),
	"lower":    one(func(v any) (any, error) { return strings.ToLower(text(v)), nil }),
	"default":  or,
	"join":     join,
	"replace":  replace,
	"truncate": truncate,
}

func one(f func(any) (any, error)) func([]any) (any, error) {
	return func(args []any) (any, error) {
		if len(args) != 1 {
			return nil, fmt.Errorf("it takes 1 argument, not %d", len(args))
		}
		return f(args[0])
	}
}

// truth reports whether a value is set: not nil, false, 0, "" or empty.
func truth(value any) bool {
	switch v := value.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	n, ok := number(value)
	return !ok || n != 0
}

func firstThat(args []any, want bool) (any, error) {
	if len(args) == 0 {
		return nil, errors.New("it needs an argument")
	}
	for _, arg := range args {
		if truth(arg) == want {
			return arg, nil
		}
	}
	return args[len(args)-1], nil
}

func number(value any) (float64, bool) {
	switch v := value.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func equal(args []any) (any, error) {
	if len(args) < 2 {
		return nil, errors.New("it needs 2 arguments")
	}
	for _, other := range args[1:] {
		a, isNumber := number(args[0])
		b, otherNumber := number(other)
		if isNumber && otherNumber && a == b || reflect.DeepEqual(args[0], other) {
			return true, nil
		}
	}
	return false, nil
}

func compare(holds func(order int) bool) func([]any) (any, error) {
	return func(args []any) (any, error) {
		if len(args) != 2 {
			return nil, fmt.Errorf("it takes 2 arguments, not %d", len(args))
		}
		a, isNumber := number(args[0])
		b, otherNumber := number(args[1])
		if isNumber && otherNumber {
			return holds(cmp.Compare(a, b)), nil
		}
		x, isText := args[0].(string)
		y, otherText := args[1].(string)
		if isText && otherText {
			return holds(cmp.Compare(x, y)), nil
		}
		return nil, fmt.Errorf("%s and %s cannot be compared", text(args[0]), text(args[1]))
	}
}

func length(value any) (any, error) {
	if s, ok := value.(string); ok {
		return len(s), nil
	}
	_, items, err := elements(value)
	return len(items), err
}

func index(args []any) (any, error) {
	if len(args) == 0 {
		return nil, errors.New("it needs an argument")
	}
	value := args[0]
	for _, key := range args[1:] {
		keys, items, err := elements(value)
		if err != nil {
			return nil, err
		}
		value = nil
		for i := range keys {
			if keys[i] == key {
				value = items[i]
			}
		}
	}
	return value, nil
}

func printf(args []any) (any, error) {
	if len(args) == 0 {
		return nil, errors.New("it needs a format")
	}
	return fmt.Sprintf(text(args[0]), args[1:]...), nil
}

// or is {{default "none" .Owner}}: the value, or the first argument if it is not set.
func or(args []any) (any, error) {
	if len(args) != 2 {
		return nil, fmt.Errorf("it takes 2 arguments, not %d", len(args))
	}
	return firstThat([]any{args[1], args[0]}, true)
}

func join(args []any) (any, error) {
	if len(args) != 2 {
		return nil, errors.New("it takes a separator and a list")
	}
	_, items, err := elements(args[1])
	var parts []string
	for _, item := range items {
		parts = append(parts, text(item))
	}
	return strings.Join(parts, text(args[0])), err
}

func replace(args []any) (any, error) {
	if len(args) != 3 {
		return nil, errors.New("it takes the old text, the new one, and where to replace it")
	}
	return strings.ReplaceAll(text(args[2]), text(args[0]), text(args[1])), nil
}

// truncate is {{truncate 100 .Message}}: at most that many characters.
func truncate(args []any) (any, error) {
	most := 0
	if len(args) == 2 {
		most, _ = args[0].(int)
	}
	if most < 1 {
		return nil, errors.New("it takes a number of characters and a text")
	}
	return excerpt.Runes(text(args[1]), most), nil
}

// text returns a value as it is printed; nil is empty.
func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any, map[string]any:
		return sensor.Literal(v)
	}
	return fmt.Sprint(value)
}
