package source

import (
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/internal/document"
)

// ID is the name of a source in its file, the store and the API.
type ID string

// Format is the kind of events that a source reads.
type Format string

// CloudEvents and OpenLineage events each share one route; every JSON source has its own route.
const (
	CloudEvents Format = "cloudevents"
	OpenLineage Format = "openlineage"
	JSON        Format = "json"
)

// File is a source file as written.
type File struct {
	Source Identity    `yaml:"source" required:"true" doc:"The source's identity."`
	Match  []Condition `yaml:"match" doc:"The conditions on an event, all of which must be met. Only a source of format json may have none."`
	Each   Steps       `yaml:"each" doc:"Splits a message: a path, or a list of steps, each of which selects from what the one before gave. match and write then apply to each element; a path that starts with $$ reads the whole message."`
	Write  []Target    `yaml:"write" required:"true" minItems:"1" doc:"The readings to write for an event that matches."`
	Dedupe *Path       `yaml:"dedupe" doc:"Where a message has the id that its repeats share; several values are one id together. Without it, a message is recognised by the id that its service gives it."`
}

// Identity describes a source.
type Identity struct {
	ID          ID     `yaml:"id" required:"true" pattern:"^[a-z0-9]([a-z0-9._-]{0,126}[a-z0-9])?$" hint:"use 1 to 128 lower-case letters, digits, dots, dashes and underscores, beginning and ending with a letter or digit" doc:"Its unique name."`
	Owner       string `yaml:"owner" required:"true" doc:"The team or person who is responsible."`
	Format      Format `yaml:"format" required:"true" enum:"cloudevents,openlineage,json" doc:"The kind of events."`
	Description string `yaml:"description" doc:"A description for people."`
}

// Condition is one condition on an event.
type Condition struct {
	Path    string    `yaml:"path" required:"true" doc:"JSONPath (RFC 9535) into the event, such as $.subject."`
	Decode  Decodings `yaml:"decode" doc:"How to decode the value at path: url, base64, json, or a list of these."`
	Equals  any       `yaml:"equals" doc:"The value at path must equal this."`
	In      []any     `yaml:"in" minItems:"1" doc:"The value at path must be one of these."`
	Matches string    `yaml:"matches" doc:"Regular expression (RE2). Its named groups, such as (?P<day>…), can be used in write."`
	Exists  *bool     `yaml:"exists" doc:"true: path must find a value. false: it must not."`
}

// Target is one reading to write.
type Target struct {
	Pipeline string             `yaml:"pipeline" required:"true" doc:"The pipeline's id; may contain ${group}."`
	Key      Text               `yaml:"key" required:"true" doc:"The sensor's key, which may contain ${group}; or {path: …} into the event."`
	Period   Text               `yaml:"period" doc:"The period of the reading, such as ${day}, or {path: …} into the event. An instant with a time zone is the pipeline's slice that holds it. Without it the reading is undated, unless its fields have a date."`
	Fields   map[string]Field   `yaml:"fields" required:"true" minItems:"1" doc:"The reading's fields: a value, text with ${group}, or {path: …} into the event."`
	TTL      *document.Duration `yaml:"ttl" above:"0s" doc:"How long the reading is valid; default no limit."`
}

// Field is the value of a field: a scalar, or a path into the event.
type Field struct {
	Path  *Path // nil for a scalar
	Value any
}

func (f *Field) DecodeNode(n document.Node) []document.Finding {
	switch n.Kind() {
	case document.Map:
		f.Path = &Path{}
		return n.Decode(f.Path)
	case document.List, document.Null:
		return []document.Finding{{Message: "expected a text, a number, true, false or {path: $…}, found " + n.Describe()}}
	}
	f.Value = n.Value()
	return nil
}

func (Field) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Types: []string{"string", "number", "boolean"}}, document.Fragment(Path{})}}
}

// Schema returns the JSON Schema of a source file.
func Schema() *jsonschema.Schema {
	return document.Schema(File{}, "source", "Interlock source",
		"One source: which events of another tool match, and which readings to write for them.")
}

// findings reports problems that no single value shows.
func (f *File) findings() []document.Finding {
	if len(f.Match) > 0 || f.Source.Format == JSON || f.Source.Format == "" {
		return nil
	}
	return []document.Finding{{Path: "source.format", Message: fmt.Sprintf(
		"a source of format %s needs match: without conditions every event would be written; add match: [{path: $.type, equals: …}]", f.Source.Format)}}
}

// given counts the checks of a condition.
func (c Condition) given() int {
	return len(slices.DeleteFunc([]bool{c.Equals != nil, c.In != nil, c.Matches != "", c.Exists != nil}, func(is bool) bool { return !is }))
}
