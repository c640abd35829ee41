package document

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Node is a value of a file, for types that decode themselves. A field of this type keeps its value
// to be decoded later, when the target type is known; its zero value is an absent one, of kind
// Null.
type Node struct{ n *node }

// node is the value, or one of kind Null in place of an absent one.
func (n Node) node() *node {
	if n.n == nil {
		return &node{}
	}
	return n.n
}

// Kind returns the kind of the value.
func (n Node) Kind() Kind { return n.node().kind }

// Text returns a scalar as written in the file, without quotes; "" for lists and mappings.
func (n Node) Text() string { return n.node().text }

// Describe describes the value for a message after "found": the text "yes", a list, nothing.
func (n Node) Describe() string { return n.node().describe() }

// Value returns the value as nil, bool, int64, float64, string, []any or map[string]any. An integer
// beyond 64 bits is a float64.
func (n Node) Value() any { return n.node().value() }

// Items returns the values of a list.
func (n Node) Items() []Node {
	var items []Node
	for _, item := range n.node().items {
		items = append(items, Node{item})
	}
	return items
}

// Get returns the value of a key of a mapping.
func (n Node) Get(key string) (Node, bool) {
	f, found := n.node().get(key)
	return Node{f.value}, found
}

// Decode fills what into points to, as strictly as Document.Decode. Paths are relative to the node.
// An absent node is decoded as an empty mapping.
func (n Node) Decode(into any) []Finding {
	if n.n == nil {
		return decodeInto(&node{kind: Map}, into) // so that missing required keys are reported
	}
	return decodeInto(n.n, into)
}

// DecodeNode stores the value.
func (n *Node) DecodeNode(value Node) []Finding {
	*n = value
	return nil
}

// JSONSchema allows anything: what is valid depends on what the node will be decoded into.
func (Node) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{} }

func (n *node) value() any {
	switch n.kind {
	case Bool:
		return n.text[0] == 't' || n.text[0] == 'T'
	case Int:
		if i, ok := parseInt(n.text); ok {
			return i
		}
		return parseFloat(n.text)
	case Float:
		return parseFloat(n.text)
	case String:
		return n.text
	case List:
		items := make([]any, len(n.items))
		for i, item := range n.items {
			items[i] = item.value()
		}
		return items
	case Map:
		fields := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			fields[f.name] = f.value.value()
		}
		return fields
	}
	return nil
}

// Expand returns n with every string replaced by the result of replace: a string, bool, int64 or
// float64. Each value keeps its position, so that problems are reported where the file has it.
func (n Node) Expand(replace func(text string) (any, error)) (Node, []Finding) {
	if n.n == nil {
		return n, nil
	}
	var findings []Finding
	expanded := n.n.expand(nil, replace, &findings)
	return Node{expanded}, findings
}

func (n *node) expand(at *frame, replace func(string) (any, error), findings *[]Finding) *node {
	made := *n
	switch n.kind {
	case String:
		value, err := replace(n.text)
		if err != nil {
			*findings = append(*findings, Finding{Path: at.String(), Message: err.Error()})
			return n
		}
		made.kind, made.text = scalarOf(value)
	case List:
		made.items = make([]*node, len(n.items))
		for i, item := range n.items {
			made.items[i] = item.expand(at.item(i), replace, findings)
		}
	case Map:
		made.fields = make([]field, len(n.fields))
		for i, f := range n.fields {
			f.value = f.value.expand(at.child(f.name), replace, findings)
			made.fields[i] = f
		}
	}
	return &made
}

// scalarOf returns the kind and text of a value that Expand inserts.
func scalarOf(value any) (Kind, string) {
	switch v := value.(type) {
	case bool:
		return Bool, strconv.FormatBool(v)
	case int64:
		return Int, strconv.FormatInt(v, 10)
	case float64:
		return Float, strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return String, fmt.Sprint(v)
	}
}

// Independent returns the findings about n that do not follow from the problems at the paths in
// wrong. A finding may follow from a problem with the same value, or, if a key that it is about is
// absent, from a problem with a key beside it, which may be a misspelling of that key.
func (n Node) Independent(findings []Finding, wrong []string) []Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool {
		return slices.ContainsFunc(append(f.Also[:len(f.Also):len(f.Also)], f.Path), func(path string) bool {
			return slices.ContainsFunc(wrong, func(w string) bool {
				return Related(path, w) || parentPath(path) == parentPath(w) && !n.has(path)
			})
		})
	})
}

// has reports whether the value itself has a non-null value at path.
func (n Node) has(path string) bool {
	at, found := n.node().lookup(path)
	return found && at.value.kind != Null
}

// parentPath returns a path without its last step.
func parentPath(path string) string {
	return path[:max(strings.LastIndexAny(path, ".["), 0)]
}

// Paths lists the paths of findings.
func Paths(findings []Finding) []string {
	var paths []string
	for _, f := range findings {
		paths = append(paths, f.Path)
	}
	return paths
}

// Leaf is a value that contains no list or mapping with values of its own: a scalar, a list of
// scalars, or an empty mapping.
type Leaf struct {
	Path string   // rules[2].value
	Keys []string // the keys in Path
	Node Node
}

// Leaves goes through the leaves of n, in file order.
func (n Node) Leaves() iter.Seq[Leaf] {
	return func(yield func(Leaf) bool) { n.node().leaves(nil, nil, yield) }
}

func (n *node) leaves(at *frame, keys []string, yield func(Leaf) bool) bool {
	for i, item := range n.items {
		if n.flat() {
			break
		}
		if !item.leaves(at.item(i), keys, yield) {
			return false
		}
	}
	for _, f := range n.fields {
		if !f.value.leaves(at.child(f.name), append(keys[:len(keys):len(keys)], f.name), yield) {
			return false
		}
	}
	return !n.flat() || yield(Leaf{at.String(), keys, Node{n}})
}

// flat reports whether n is a leaf.
func (n *node) flat() bool {
	for _, item := range n.items {
		if item.kind == List || item.kind == Map {
			return false
		}
	}
	return len(n.fields) == 0
}
