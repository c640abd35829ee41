package document_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	google "github.com/google/jsonschema-go/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/document"
)

// validator compiles the schema of v with an implementation that is independent of the one that
// made it.
func validator(t *testing.T, v any) *jsonschema.Schema {
	t.Helper()
	text, err := json.Marshal(document.Schema(v, "test", "test", ""))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("test.json", parsed); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("test.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// accepts says whether the schema accepts a file.
func accepts(t interface{ Fatal(...any) }, schema *jsonschema.Schema, d *document.Document) bool {
	text, err := json.Marshal(d.Root().Value())
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(value) == nil
}

func TestTheSchemaSaysWhatTheTagsSay(t *testing.T) {
	type part struct {
		Name string  `yaml:"name" required:"true" doc:"Its name."`
		Subs []*part `yaml:"subs"`
	}
	type whole struct {
		ID    string            `yaml:"id" required:"true" pattern:"^[a-z]+$" doc:"Unique."`
		Mode  string            `yaml:"mode" enum:"all,any-one" fold:"true" default:"all"`
		Soil  string            `yaml:"soil" enum:"clay,sand"`
		Count int               `yaml:"count" min:"0" max:"10" default:"3"`
		Share float64           `yaml:"share" above:"0"`
		Wait  document.Duration `yaml:"wait" default:"5m"`
		Tags  map[string]string `yaml:"tags" minItems:"1"`
		Parts []part            `yaml:"parts" minItems:"2"`
		Any   any               `yaml:"any" doc:"Anything."`
		Gate  colour            `yaml:"gate"`
	}
	text, err := json.MarshalIndent(document.Schema(whole{}, "whole", "Whole", ""), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/whole.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(text)+"\n", "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheSchemaAcceptsAGoodFileAndSeesMistakes(t *testing.T) {
	schema := validator(t, farm{})
	good := head + "open: false\ncows: 3\nmilking: 1d\nmode: ANY\ndays: [Monday]\nfields: [{key: a}]\nenv: {A: 1}\ncall: [a, 1]\nnote: {}\ngate: red\ntree: {twigs: [{}]}\nrest:\nlabels: ~\n"
	if !accepts(t, schema, parse(t, good)) {
		t.Error("the good file is rejected")
	}
	for _, wrong := range []string{
		"name: Hill\nowner: {id: ann}\n", "name: hill\n", "name: hill\nowner: {id: ''}\n", head + "cow: 1\n", head + "cows: 11\n", head + "hectare: 0\n",
		head + "open: yes\n", head + "milking: 5\n", head + "mode: some\n", head + "soil: mud\n", head + "days: []\n", head + "days: [friday]\n", head + "fields: [{}]\n",
		head + "labels: {a: 1}\n", head + "env: {A: [1]}\n", head + "gate: blue\n", head + "call: {}\n", head + "tree: {twigs: [{leef: 1}]}\n", head + "hens: -1\n",
	} {
		if accepts(t, schema, parse(t, wrong)) {
			t.Errorf("accepted %q", wrong)
		}
	}
}

// TestWhatTheSchemaRejectsDecodeRejects changes a good file at random places and compares the two.
func TestWhatTheSchemaRejectsDecodeRejects(t *testing.T) {
	schema := validator(t, farm{})
	rapid.Check(t, func(t *rapid.T) {
		file := goodFarm()
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			file = change(t, file).(map[string]any)
		}
		text, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		d, found := document.Parse("f.yaml", text)
		if d == nil {
			t.Fatalf("%s: %v", text, found)
		}
		found = d.Decode(new(farm))
		if !accepts(t, schema, d) && len(found) == 0 {
			t.Fatalf("the schema rejects what Decode accepts: %s", text)
		}
	})
}

func goodFarm() map[string]any {
	return map[string]any{
		"name": "hill", "owner": map[string]any{"id": "ann", "phone": "5"}, "open": true, "hectare": 2.5, "cows": 3, "hens": 200,
		"milking": "1d", "rest": "5m", "mode": "Any", "soil": "clay", "days": []any{"monday"},
		"fields": []any{map[string]any{"key": "a", "size": 1}}, "labels": map[string]any{"a": "b"}, "env": map[string]any{"A": 1},
		"note": map[string]any{"x": []any{1}}, "gate": "red", "call": []any{"a"}, "raw": 1,
		"tree": map[string]any{"leaf": "a", "twigs": []any{map[string]any{"leaf": "b"}}},
	}
}

// change replaces, adds or removes something somewhere in a value.
func change(t *rapid.T, v any) any {
	deeper := rapid.IntRange(0, 9).Draw(t, "deeper") > 1
	switch v := v.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		if len(keys) == 0 || !deeper {
			v[rapid.SampledFrom([]string{"name", "key", "id", "x", "leaf", "A", "a b", "<<"}).Draw(t, "new")] = anything(t)
			return v
		}
		key := rapid.SampledFrom(keys).Draw(t, "key")
		if rapid.IntRange(0, 9).Draw(t, "remove") == 0 {
			delete(v, key)
			return v
		}
		v[key] = change(t, v[key])
		return v
	case []any:
		if len(v) == 0 || !deeper {
			return append(v, anything(t))
		}
		i := rapid.IntRange(0, len(v)-1).Draw(t, "item")
		v[i] = change(t, v[i])
		return v
	}
	return anything(t)
}

func anything(t *rapid.T) any {
	return rapid.SampledFrom([]any{
		nil, true, false, 0, 1, -1, 5, 11, 256, 1.5, 3.0, 1e300, "", "x", "hill", "Hill", "any", "ALL", "clay", "1d", "5", "0", "-5m", "1h30m", "true", "null", "\u212a", "a\nb", "é",
		[]any{},
		[]any{"monday"},
		[]any{nil},
		[]any{1, "a"},
		[]any{map[string]any{"key": "k"}},
		[]any{[]any{}},
		map[string]any{},
		map[string]any{"a": "b"},
		map[string]any{"id": "x"},
		map[string]any{"leaf": 5},
		map[string]any{"a": nil},
	}).Draw(t, "value")
}

func TestDefinitionsOfOwnTypesMoveToTheRoot(t *testing.T) {
	type file struct {
		Loop loop `yaml:"loop"`
	}
	schema := validator(t, file{})
	if !accepts(t, schema, parse(t, "loop: [[], [[]]]\n")) {
		t.Error("rejected a list of lists")
	}
	if accepts(t, schema, parse(t, "loop: [[], [5]]\n")) {
		t.Error("accepted a number")
	}
}

// loop is a list of itself.
type loop struct{}

func (*loop) DecodeNode(document.Node) []document.Finding { return nil }

func (loop) JSONSchema() *google.Schema {
	self := &google.Schema{Ref: "#/$defs/loop"}
	return &google.Schema{Ref: self.Ref, Defs: map[string]*google.Schema{"loop": {Type: "array", Items: self}}}
}

func TestARecursiveRootHasASchema(t *testing.T) {
	schema := validator(t, branch{})
	if !accepts(t, schema, parse(t, "leaf: a\ntwigs: [{leaf: b, twigs: []}]\n")) {
		t.Error("rejected a good branch")
	}
	if accepts(t, schema, parse(t, "twigs: [{leaf: b, twigs: [{leaf: 1}]}]\n")) {
		t.Error("accepted a bad twig")
	}
}

func TestTagsThatCannotBeAreNoticed(t *testing.T) {
	tests := map[string]any{
		"not a type for a file": &struct {
			C chan int `yaml:"c"`
		}{},
		"keys that are no text": &struct {
			C map[int]string `yaml:"c"`
		}{},
		"a broken pattern": &struct {
			C string `yaml:"c" pattern:"("`
		}{},
		"a default out of bounds": &struct {
			C int `yaml:"c" max:"3" default:"4"`
		}{},
		"a bound that is no number": &struct {
			C int `yaml:"c" max:"x"`
		}{},
		"one key twice": &struct {
			C int `yaml:"c"`
			D int `yaml:"c"`
		}{},
		"no pointer": struct{}{},
	}
	for name, into := range tests {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if r := recover(); r == nil || !strings.HasPrefix(fmt.Sprint(r), "document: ") {
					t.Errorf("got %v", r)
				}
			}()
			parse(t, "a: 1\n").Decode(into)
		})
	}
}

func TestFieldThatAnotherReplacesMayBeAbsentBesideIt(t *testing.T) {
	type part struct {
		Rules []string `yaml:"rules" required:"true" unless:"late" minItems:"1" doc:"The rules."`
		Late  string   `yaml:"late" enum:"report,ignore" doc:"What follows."`
	}
	schema := validator(t, part{})
	for text, right := range map[string]bool{
		"rules: [a]\n":                true,
		"late: report\n":              true,
		"rules: ~\nlate: report\n":    true,
		"rules: [a]\nlate: report\n":  true,
		"{}\n":                        false,
		"late: ~\n":                   false,
		"rules: ~\n":                  false,
		"rules: []\nlate: report\n":   false,
		"rules: [a]\nlate: never\n":   false,
		"rules: ~\nlate: ~\n":         false,
		"rules: [a]\nlate: ~\n":       true,
		"rules: text\nlate: report\n": false,
	} {
		d, problems := document.Parse("a.yaml", []byte(text))
		if len(problems) > 0 {
			t.Fatalf("%q: %v", text, problems)
		}
		var into part
		if found := d.Decode(&into); (len(found) == 0) != right {
			t.Errorf("%q: problems %v", text, found)
		}
		if got := accepts(t, schema, d); got != right {
			t.Errorf("%q: the schema accepts it: %v", text, got)
		}
	}
}
