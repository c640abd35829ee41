package source

import (
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/internal/document"
)

// Path is a JSONPath, and how to decode each value that it finds.
type Path struct {
	Path   string    `yaml:"path" required:"true" doc:"JSONPath (RFC 9535) into the event. A path that finds nothing gives no value."`
	Decode Decodings `yaml:"decode" doc:"How to decode the value at path: url, base64, json, or a list of these."`
}

// Step is a step of each: a path, or its long form.
type Step Path

func (s *Step) DecodeNode(n document.Node) []document.Finding {
	if n.Kind() == document.String {
		s.Path = n.Text()
		return nil
	}
	if n.Kind() != document.Map {
		return []document.Finding{{Message: "expected a path or {path: $…, decode: …}, found " + n.Describe()}}
	}
	return n.Decode((*Path)(s))
}

func (Step) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, document.Fragment(Path{})}}
}

// Steps are the steps of each.
type Steps []Step

func (s *Steps) DecodeNode(n document.Node) []document.Finding {
	if n.Kind() != document.List {
		*s = make(Steps, 1)
		return (*s)[0].DecodeNode(n)
	}
	items := n.Items()
	if len(items) == 0 {
		return []document.Finding{{Message: "is empty; must have at least one step"}}
	}
	*s = make(Steps, len(items))
	var findings []document.Finding
	for i, item := range items {
		findings = append(findings, document.Under(fmt.Sprintf("[%d]", i), (*s)[i].DecodeNode(item))...)
	}
	return findings
}

func (Steps) JSONSchema() *jsonschema.Schema {
	one := Step{}.JSONSchema()
	return &jsonschema.Schema{AnyOf: append(one.AnyOf, &jsonschema.Schema{Type: "array", Items: Step{}.JSONSchema(), MinItems: new(1)})}
}

// Text is a text with ${group}, or a path into the event.
type Text struct {
	Text string // "" for a path
	Path *Path
}

func (t *Text) DecodeNode(n document.Node) []document.Finding {
	if n.Kind() == document.Map {
		t.Path = &Path{}
		return n.Decode(t.Path)
	}
	var text document.Text
	findings := text.DecodeNode(n)
	t.Text = string(text)
	return findings
}

func (Text) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Types: []string{"string", "number", "boolean"}}, document.Fragment(Path{})}}
}

// Decoding is a way to decode a value.
type Decoding string

// The decodings.
const (
	DecodeURL    Decoding = "url"    // percent-encoded text, in which a + is a space
	DecodeBase64 Decoding = "base64" // to text, in either alphabet
	DecodeJSON   Decoding = "json"   // text that holds a JSON value
)

var decodings = []string{string(DecodeURL), string(DecodeBase64), string(DecodeJSON)}

// Decodings are applied in order.
type Decodings []Decoding

func (d *Decodings) DecodeNode(n document.Node) []document.Finding {
	items := []document.Node{n}
	if n.Kind() == document.List {
		items = n.Items()
	}
	var findings []document.Finding
	for i, item := range items {
		text := item.Text()
		if item.Kind() == document.String && slices.Contains(decodings, text) {
			*d = append(*d, Decoding(text))
			continue
		}
		f := document.Finding{Message: fmt.Sprintf("expected url, base64 or json, found %s", item.Describe())}
		if near, ok := document.Suggest(text, decodings); ok {
			f.Message = fmt.Sprintf("unknown value %q; did you mean %q?", text, near)
		}
		if n.Kind() == document.List {
			f.Path = fmt.Sprintf("[%d]", i)
		}
		findings = append(findings, f)
	}
	return findings
}

func (Decodings) JSONSchema() *jsonschema.Schema {
	one := &jsonschema.Schema{Type: "string"}
	for _, name := range decodings {
		one.Enum = append(one.Enum, name)
	}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{one, {Type: "array", Items: one, MinItems: new(1)}}}
}
