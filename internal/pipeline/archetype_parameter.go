package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
)

// parameter is one value that a pipeline passes to its archetype.
type parameter struct {
	Type        string `yaml:"type" enum:"string,integer,number,boolean,duration" default:"string" doc:"The type of its values."`
	Description string `yaml:"description" doc:"A description for people."`
	Default     any    `yaml:"default" doc:"The value if a pipeline sets none. Without a default the parameter is required."`
	Enum        []any  `yaml:"enum" doc:"The allowed values."`
}

// findings lists what is wrong with the parameter's own default and enum.
func (p parameter) findings() []document.Finding {
	var findings []document.Finding
	for i, value := range p.Enum {
		if message := p.misfits(value); message != "" {
			findings = append(findings, document.Finding{Path: fmt.Sprintf("enum[%d]", i), Message: message})
		}
	}
	if p.Default == nil || len(findings) > 0 {
		return findings
	}
	if message := p.refuses(p.Default); message != "" {
		findings = append(findings, document.Finding{Path: "default", Message: message})
	}
	return findings
}

// refuses returns what is wrong with value for this parameter; "" if nothing is.
func (p parameter) refuses(value any) string {
	if message := p.misfits(value); message != "" {
		return message
	}
	if len(p.Enum) > 0 && !slices.ContainsFunc(p.Enum, func(one any) bool { return sameValue(one, value) }) {
		return fmt.Sprintf("%v is not one of %v", value, p.Enum)
	}
	return ""
}

// sameValue compares values of a parameter: numbers by value, so that 1 and 1.0 are the same.
func sameValue(a, b any) bool {
	x, isNumber := asNumber(a)
	y, too := asNumber(b)
	return a == b || isNumber && too && x == y
}

func asNumber(value any) (float64, bool) {
	if whole, ok := value.(int64); ok {
		return float64(whole), true
	}
	number, ok := value.(float64)
	return number, ok
}

// misfits returns a message if value has the wrong type for the parameter, otherwise "".
func (p parameter) misfits(value any) string {
	fits := false
	switch v := value.(type) {
	case string:
		fits = p.Type == "string"
		if _, err := document.ParseDuration(v); p.Type == "duration" {
			fits = err == nil
		}
	case bool:
		fits = p.Type == "boolean"
	case int64:
		fits = p.Type == "integer" || p.Type == "number"
	case float64:
		fits = p.Type == "number"
	}
	if !fits {
		return fmt.Sprintf("%v is not allowed; it must be %s", value, p.wants())
	}
	return ""
}

// wants describes the values the parameter accepts.
func (p parameter) wants() string {
	article := "a "
	if p.Type == "integer" {
		article = "an "
	}
	if p.Description == "" {
		return article + p.Type
	}
	return article + p.Type + ", " + p.Description
}

// sample returns a value that the parameter accepts.
func (p parameter) sample() any {
	if p.Default != nil {
		return p.Default
	}
	if len(p.Enum) > 0 {
		return p.Enum[0]
	}
	return map[string]any{"string": "x", "duration": "1h", "integer": int64(1), "number": 1.5, "boolean": true}[p.Type]
}

// openParameter is the start of a parameter in a text of an archetype.
const openParameter = "${with."

// substitute fills parameters into text. A text that is exactly one ${with.NAME} becomes the value
// itself; `\${` is left for the reader of the text.
func substitute(text string, values map[string]any) (any, error) {
	var out strings.Builder
	rest := text
	for {
		before, after, ok := strings.Cut(rest, openParameter)
		out.WriteString(before)
		if !ok {
			return out.String(), nil
		}
		if strings.HasSuffix(before, `\`) {
			out.WriteString(openParameter)
			rest = after
			continue
		}
		name, tail, closed := strings.Cut(after, "}")
		if !closed {
			return nil, fmt.Errorf(`%q is not closed by "}"`, openParameter+name)
		}
		value, known := values[name]
		if !known {
			return nil, fmt.Errorf("unknown parameter %s%s}; use one of %s", openParameter, name, strings.Join(slices.Sorted(maps.Keys(values)), ", "))
		}
		if before == "" && tail == "" && rest == text {
			return value, nil
		}
		out.WriteString(written(value))
		rest = tail
	}
}

// written formats a parameter's value within a text: numbers without an exponent.
func written(value any) string {
	if number, ok := value.(float64); ok {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}
