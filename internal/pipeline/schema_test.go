package pipeline_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// compiledSchema returns the printed schema, compiled by an independent validator.
func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := json.Marshal(pipeline.Schema(all.Kinds()))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// examples are complete pipeline files, decoded.
func examples(t *testing.T) map[string]map[string]any {
	t.Helper()
	found := map[string]map[string]any{}
	for _, pattern := range []string{"testdata/seeds/*.yaml", "testdata/whole/*.yaml", "../../examples/*/pipelines/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files match %s: %v", pattern, err)
		}
		for _, file := range files {
			var value map[string]any
			if err := yaml.Unmarshal([]byte(read(t, file)), &value); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			found[file] = asJSON(t, value).(map[string]any)
		}
	}
	return found
}

// asJSON converts a value to the types of a JSON decoder.
func asJSON(t interface{ Fatal(...any) }, value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	got, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestExamplesFitTheSchema(t *testing.T) {
	schema := compiledSchema(t)
	for file, value := range examples(t) {
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestWhatTheSchemaRejectsIsRejected(t *testing.T) {
	schema := compiledSchema(t)
	named := examples(t)
	var whole []map[string]any
	for _, file := range slices.Sorted(maps.Keys(named)) {
		whole = append(whole, named[file])
	}
	rejected := 0
	rapid.Check(t, func(rt *rapid.T) {
		value := asJSON(rt, rapid.SampledFrom(whole).Draw(rt, "example"))
		for range rapid.IntRange(1, 2).Draw(rt, "mutations") {
			mutate(rt, value)
		}
		if schema.Validate(value) == nil {
			return
		}
		rejected++
		text, err := json.Marshal(value)
		if err != nil {
			rt.Fatal(err)
		}
		if set := pipeline.Load(sources(string(text)), pipeline.Options{Jobs: all.Kinds()}); !set.Failed() {
			rt.Errorf("the schema rejects what is accepted:\n%s\n%v", text, schema.Validate(value))
		}
	})
	if rejected == 0 {
		t.Error("no mutation was rejected: the test shows nothing")
	}
}

// mutate changes one place of value: it removes a key, adds a key, or changes a value.
func mutate(t *rapid.T, value any) {
	for depth := 0; ; depth++ {
		switch v := value.(type) {
		case map[string]any:
			if len(v) == 0 {
				v["surprise"] = odd(t)
				return
			}
			key := rapid.SampledFrom(keys(v)).Draw(t, "key")
			if inside(v[key]) && rapid.IntRange(0, 3).Draw(t, "deeper") > 0 {
				value = v[key]
				continue
			}
			switch rapid.IntRange(0, 2).Draw(t, "change") {
			case 0:
				delete(v, key)
			case 1:
				v[key+"x"] = odd(t)
			default:
				v[key] = odd(t)
			}
			return
		case []any:
			if len(v) == 0 {
				return
			}
			i := rapid.IntRange(0, len(v)-1).Draw(t, "item")
			if inside(v[i]) {
				value = v[i]
				continue
			}
			v[i] = odd(t)
			return
		default:
			return
		}
	}
}

func inside(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	default:
		return false
	}
}

// keys are sorted, because rapid replays a choice by its position.
func keys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// odd returns a value that often does not belong where it is put.
func odd(t *rapid.T) any {
	values := []any{
		nil, true, false, json.Number("0"), json.Number("-1"), json.Number("7"), json.Number("100000"), json.Number("1.5"),
		"", "x", "ALL", "any", "1h", "5m", "-3s", "25:00", ":30", "10:00", "2026-03-03", "minute", "exists", "equals",
		[]any{},
		[]any{"x"},
		[]any{json.Number("1")},
		map[string]any{},
		map[string]any{"x": json.Number("1")},
	}
	return rapid.SampledFrom(values).Draw(t, "odd")
}
