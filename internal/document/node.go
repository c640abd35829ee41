package document

import (
	"github.com/google/jsonschema-go/jsonschema"
)

// Node is a value of a file, for types that read themselves. A field of this type keeps its value to be decoded later,
// when it is known into what; its zero value is an absent one, of kind Null.
type Node struct{ n *node }

// Kind is what the value is.
func (n Node) Kind() Kind {
	if n.n == nil {
		return Null
	}
	return n.n.kind
}

// Text is a scalar as the file writes it, without quotes; "" for lists and mappings.
func (n Node) Text() string {
	if n.n == nil {
		return ""
	}
	return n.n.text
}

// Describe says what the value is as it follows "found" in a message: the text "yes", a list, nothing.
func (n Node) Describe() string {
	if n.n == nil {
		return "nothing"
	}
	return n.n.describe()
}

// Value is the value as nil, bool, int64, float64, string, []any or map[string]any. An integer beyond 64 bits is a
// float64.
func (n Node) Value() any {
	if n.n == nil {
		return nil
	}
	return n.n.value()
}

// Items are the values of a list.
func (n Node) Items() []Node {
	if n.n == nil {
		return nil
	}
	items := make([]Node, len(n.n.items))
	for i, item := range n.n.items {
		items[i] = Node{item}
	}
	return items
}

// Get is the value of a key of a mapping.
func (n Node) Get(key string) (Node, bool) {
	if n.n == nil {
		return Node{}, false
	}
	f, found := n.n.get(key)
	return Node{f.value}, found
}

// Decode fills what into points to, as strictly as Document.Decode. Paths are relative to the node. An absent
// node is read as an empty mapping.
func (n Node) Decode(into any) []Finding {
	if n.n == nil {
		return decodeInto(&node{kind: Map}, into) // so that what is required is asked for
	}
	return decodeInto(n.n, into)
}

// DecodeNode keeps the value.
func (n *Node) DecodeNode(value Node) []Finding {
	*n = value
	return nil
}

// JSONSchema allows anything: what is right depends on what the node will be decoded into.
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
