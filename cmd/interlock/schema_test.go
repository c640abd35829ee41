package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/interlock-go/interlock/examples"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/settings"
	"github.com/interlock-go/interlock/internal/source"
)

// kindNames maps kinds of files to the names of their schemas.
var kindNames = map[pipeline.FileKind]string{
	pipeline.PipelineFile: "pipeline", pipeline.CalendarFile: "calendar", pipeline.ArchetypeFile: "archetype",
	pipeline.ServerFile: "server", pipeline.SourceFile: "source",
}

// schemaJudge validates files against the printed schemas with an independent validator.
type schemaJudge struct{ compiler *jsonschema.Compiler }

func newSchemaJudge(t *testing.T) schemaJudge {
	t.Helper()
	j := schemaJudge{jsonschema.NewCompiler()}
	for _, s := range schemas {
		printed := call{args: []string{"schema", s.name}}.run()
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(printed.stdout))
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if id := doc.(map[string]any)["$id"]; id != document.SchemaID(s.name) {
			t.Errorf("the schema of %s has the $id %v", s.name, id)
		}
		if err := j.compiler.AddResource(s.name, doc); err != nil {
			t.Fatal(err)
		}
	}
	return j
}

// validate returns the schema's errors in a file.
func (j schemaJudge) validate(t *testing.T, kind pipeline.FileKind, data []byte) error {
	t.Helper()
	schema, err := j.compiler.Compile(kindNames[kind])
	if err != nil {
		t.Fatal(err)
	}
	var value map[string]any
	if err := yaml.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(decoded)
}

// accepted reports whether the parser accepts a file on its own.
func accepted(kind pipeline.FileKind, src pipeline.Source) bool {
	switch kind {
	case pipeline.ServerFile:
		_, problems := settings.Parse(src.File, src.Data)
		return errorCount(problems) == 0
	case pipeline.SourceFile:
		return errorCount(source.Load([]pipeline.Source{src}, source.Options{}).Problems) == 0
	case pipeline.CalendarFile:
		return !pipeline.Load(nil, pipeline.Options{Jobs: all.Kinds(), Calendars: []pipeline.Source{src}}).Failed()
	case pipeline.ArchetypeFile:
		return !pipeline.Load(nil, pipeline.Options{Jobs: all.Kinds(), Archetypes: []pipeline.Source{src}}).Failed()
	case pipeline.PipelineFile:
		return !pipeline.Load([]pipeline.Source{src}, pipeline.Options{Jobs: all.Kinds()}).Failed()
	}
	return false
}

func TestFilesOfTheRepositoryFitTheirSchemas(t *testing.T) {
	j, checked := newSchemaJudge(t), map[pipeline.FileKind]int{}
	for _, root := range []string{"../../examples", "../../internal/demo/project", "../../deploy/compose", "../../deploy/packages"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" || d.Name() == "broken.yaml" || d.Name() == "compose.yaml" || d.Name() == "nfpm.yaml" {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			kind := pipeline.Classify(pipeline.Source{File: path, Data: data})
			checked[kind]++
			if err := j.validate(t, kind, data); err != nil {
				t.Errorf("%s is not a valid %s file: %v", path, kindNames[kind], err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for kind, name := range kindNames {
		if checked[kind] == 0 {
			t.Errorf("no example of a %s file was checked", name)
		}
	}
	broken, err := os.ReadFile("../../examples/broken.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if j.validate(t, pipeline.PipelineFile, broken) == nil {
		t.Error("the schema accepts broken.yaml")
	}
}

// TestSchemasAcceptWhatTheParserAccepts checks every YAML example in the documentation that is a
// complete file.
func TestSchemasAcceptWhatTheParserAccepts(t *testing.T) {
	j, checked := newSchemaJudge(t), map[pipeline.FileKind]int{}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := strings.Split(string(text), "```")
		for i := 1; i < len(blocks); i += 2 {
			body, isYAML := strings.CutPrefix(blocks[i], "yaml\n")
			src := pipeline.Source{File: "example.yaml", Data: []byte(body)}
			if !isYAML {
				continue
			}
			kind := pipeline.Classify(src)
			if !accepted(kind, src) {
				continue
			}
			checked[kind]++
			if err := j.validate(t, kind, src.Data); err != nil {
				t.Errorf("%s: the parser accepts this %s file and the schema does not: %v\n%s", page, kindNames[kind], err, body)
			}
		}
	}
	if checked[pipeline.ServerFile] == 0 || checked[pipeline.PipelineFile] == 0 || checked[pipeline.SourceFile] == 0 {
		t.Errorf("too few examples: %v", checked)
	}
}

func TestPublishedSchemasAreThoseOfTheBinary(t *testing.T) {
	for _, s := range schemas {
		published, err := os.ReadFile(filepath.Join("../../api/schema", s.name+".schema.json"))
		if printed := (call{args: []string{"schema", s.name}}).run().stdout; err != nil || string(published) != printed {
			t.Errorf("api/schema/%s.schema.json is not what interlock schema %s prints: run go generate ./...; %v", s.name, s.name, err)
		}
	}
}

func TestStarterNamesItsSchemas(t *testing.T) {
	err := fs.WalkDir(examples.Starter(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		data, err := fs.ReadFile(examples.Starter(), path)
		if err != nil {
			return err
		}
		kind := pipeline.Classify(pipeline.Source{File: path, Data: data})
		want := "# yaml-language-server: $schema=" + document.SchemaID(kindNames[kind])
		if first, _, _ := strings.Cut(string(data), "\n"); first != want {
			t.Errorf("%s begins with %q, want %q", path, first, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSchemaTakesOneKindOfFile(t *testing.T) {
	got := call{args: []string{"schema", "calender"}}.run()
	if got.code != 2 || !strings.Contains(got.stderr, `did you mean "calendar"?`) {
		t.Errorf("code %d: %s", got.code, got.stderr)
	}
}
