package awslambdatest

import (
	"encoding/json"
	"strings"

	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// Filters are those of the event source mappings, by table. The Terraform module has the same.
var Filters = map[string][]string{
	dynamo.Control: {
		`{"dynamodb":{"NewImage":{"told":{"BOOL":[true]}}}}`,
		`{"dynamodb":{"Keys":{"SK":{"S":["CONFIG",{"prefix":"SENSOR#"},{"prefix":"RERUN_REQUEST#"},{"prefix":"REQUEST#"}]}}}}`,
	},
	dynamo.JobLog: {
		`{"dynamodb":{"NewImage":{"told":{"BOOL":[true]}}}}`,
		`{"dynamodb":{"NewImage":{"version":{"N":[{"exists":false}]}}}}`,
	},
}

// passes reports whether Lambda would deliver a record of a table to the function.
func passes(table string, record any) bool {
	for _, text := range Filters[table] {
		var pattern any
		if err := json.Unmarshal([]byte(text), &pattern); err != nil {
			panic(err) // the patterns are constants
		}
		if matches(pattern, record) {
			return true
		}
	}
	return false
}

// matches reports whether a value matches a pattern: an object by all of its fields, a list by one
// of its elements.
func matches(pattern, value any) bool {
	switch p := pattern.(type) {
	case map[string]any:
		fields, _ := value.(map[string]any)
		for name, inner := range p {
			if !matches(inner, fields[name]) {
				return false
			}
		}
		return true
	case []any:
		for _, one := range p {
			if fits(one, value) {
				return true
			}
		}
	}
	return false
}

func fits(one, value any) bool {
	rule, is := one.(map[string]any)
	if !is {
		return one == value
	}
	if prefix, has := rule["prefix"].(string); has {
		text, is := value.(string)
		return is && strings.HasPrefix(text, prefix)
	}
	return rule["exists"] == (value != nil)
}
