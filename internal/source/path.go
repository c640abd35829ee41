package source

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/registry"
	"github.com/theory/jsonpath/spec"

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

// paths parses JSONPath. It replaces the library's functions match and search, which panic if an
// argument selects nothing; the library's match also anchors only the first and last alternative of
// a|b.
var paths = newParser()

func newParser() *jsonpath.Parser {
	functions := registry.New()
	for name, format := range map[string]string{"match": `\A(?:%s)\z`, "search": `%s`} {
		*functions.Get(name) = *spec.Extension(name, spec.FuncLogical, twoValues, matchWith(format))
	}
	return jsonpath.NewParser(jsonpath.WithRegistry(functions))
}

func twoValues(args []spec.FuncExprArg) error {
	if len(args) != 2 {
		return fmt.Errorf("expected 2 arguments but found %d", len(args))
	}
	for i, arg := range args {
		if !arg.ConvertsTo(spec.FuncValue) {
			return fmt.Errorf("argument %d is not a value", i+1)
		}
	}
	return nil
}

// matchWith matches the first argument against the second, an I-Regexp (RFC 9485), inserted into
// format.
func matchWith(format string) spec.Evaluator {
	return func(args []spec.PathValue) spec.PathValue {
		text, isText := textOf(args[0])
		pattern, isPattern := textOf(args[1])
		if !isText || !isPattern {
			return spec.LogicalFalse
		}
		expr := iRegexp(fmt.Sprintf(format, pattern))
		return spec.Logical(expr != nil && expr.MatchString(text))
	}
}

func textOf(v spec.PathValue) (string, bool) {
	value := spec.ValueFrom(v)
	if value == nil {
		return "", false
	}
	text, ok := value.Value().(string)
	return text, ok
}

// iRegexp compiles a regular expression in which a dot matches anything but a line break; nil if it
// is invalid.
func iRegexp(text string) *regexp.Regexp {
	tree, err := syntax.Parse(text, syntax.Perl|syntax.DotNL)
	if err != nil {
		return nil
	}
	replaceDots(tree)
	expr, err := regexp.Compile(tree.String())
	if err != nil {
		return nil
	}
	return expr
}

func replaceDots(tree *syntax.Regexp) {
	if tree.Op == syntax.OpAnyChar {
		tree.Op, tree.Rune = syntax.OpCharClass, []rune{0, '\n' - 1, '\n' + 1, '\r' - 1, '\r' + 1, 0x10FFFF}
	}
	for _, sub := range tree.Sub {
		replaceDots(sub)
	}
}
