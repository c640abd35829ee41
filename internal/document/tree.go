package document

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// node is a value of the file. Aliases share their target's children, so the tree is an acyclic
// graph, and size is its number of nodes as a tree.
type node struct {
	text   string // text of a scalar
	items  []*node
	fields []field
	mark
	size     int32
	kind     Kind
	block    bool // a mapping or list written over several lines, without brackets
	implicit bool // null because nothing is written
	broken   bool // could not be read; already reported
}

// mark is a position in a file, both from 1; zero if there is none.
type mark struct{ line, column int32 }

func (s mark) place() (line, column int) { return int(s.line), int(s.column) }

// field is a key of a mapping, its position, and its value.
type field struct {
	name string
	mark
	merged bool // from a merge, so the mapping's own keys override it
	value  *node
}

// index returns the position of a key among the fields of a mapping; -1 if there is none.
func (n *node) index(name string) int {
	return slices.IndexFunc(n.fields, func(f field) bool { return f.name == name })
}

func (n *node) get(name string) (field, bool) {
	if i := n.index(name); i >= 0 {
		return n.fields[i], true
	}
	return field{}, false
}

// describe describes n for a message after "found".
func (n *node) describe() string {
	switch n.kind {
	case Null:
		return "nothing"
	case Bool:
		return n.text
	case Int, Float:
		return "the number " + n.text
	case String:
		return "the text " + quote(n.text)
	case List:
		return "a list"
	default:
		return "a mapping"
	}
}

// quote quotes text, and shortens it if it is too long to help.
func quote(text string) string {
	const enough = 60
	if runes := []rune(text); len(runes) > enough {
		text = string(runes[:enough]) + "…"
	}
	return strconv.Quote(text)
}

// tree builds nodes from the library's syntax tree.
type tree struct {
	file     string
	where    *locator
	anchors  map[string]*node // nil while the anchor's own value is being read
	problems []Problem
	expanded int32
	repeats  map[*node][]repeat // duplicate keys of mappings
}

// mark returns the real position of a token.
func (t *tree) mark(at *token.Token) mark {
	line, column := t.where.place(at)
	return mark{int32(line), int32(column)}
}

// fail records a problem and returns a node to continue with.
func (t *tree) fail(at *token.Token, format string, args ...any) *node {
	n := &node{size: 1, broken: true}
	n.mark = t.mark(at)
	t.problem(n, fmt.Sprintf(format, args...))
	return n
}

func (t *tree) problem(at *node, message string) {
	if len(t.problems) < maxProblems {
		t.problems = append(t.problems, *problemAt(t.file, int(at.line), int(at.column), message))
	}
}

func (t *tree) node(from ast.Node) *node {
	switch v := from.(type) {
	case *ast.MappingNode:
		return t.mapping(v.Start, v.IsFlowStyle, v.Values)
	case *ast.MappingValueNode:
		return t.mapping(v.Start, v.IsFlowStyle, []*ast.MappingValueNode{v})
	case *ast.SequenceNode:
		return t.list(v)
	case *ast.AnchorNode:
		return t.anchor(v)
	case *ast.AliasNode:
		return t.alias(v)
	case *ast.TagNode:
		return t.tagged(v)
	case *ast.LiteralNode:
		n := &node{kind: String, text: v.Value.Value, size: 1}
		n.mark = t.mark(v.Start)
		return n
	case ast.ScalarNode:
		return t.scalar(v.GetToken())
	case nil:
		return &node{mark: mark{1, 1}, size: 1, implicit: true}
	}
	return t.fail(from.GetToken(), "is not a supported value")
}

func (t *tree) scalar(from *token.Token) *node {
	n := &node{kind: String, text: kept(from.Value), size: 1}
	n.mark = t.mark(from)
	switch from.Type {
	case token.SingleQuoteType, token.DoubleQuoteType:
	case token.ImplicitNullType:
		n.kind, n.implicit, n.text = Null, true, ""
	default:
		n.kind = plainKind(from.Value)
	}
	return n
}

func (t *tree) list(from *ast.SequenceNode) *node {
	n := &node{kind: List, block: !from.IsFlowStyle, size: 1, items: make([]*node, 0, len(from.Values))}
	n.mark = t.mark(from.Start)
	for i, item := range from.Values {
		child := t.node(item)
		if child.implicit && i < len(from.Entries) { // nothing follows the dash, so use the position of the dash
			child.mark = t.mark(from.Entries[i].Start)
		}
		n.items = append(n.items, child)
		n.size += child.size
	}
	return n
}

func (t *tree) mapping(start *token.Token, flow bool, values []*ast.MappingValueNode) *node {
	n := &node{kind: Map, block: !flow, size: 1, fields: make([]field, 0, len(values))}
	n.mark = t.mark(start)
	var merge field
	for i, entry := range values {
		key, ok := t.key(entry.Key)
		if !ok {
			continue
		}
		if i == 0 && n.block {
			n.mark = key.mark
		}
		key.value = t.node(entry.Value)
		n.size += key.value.size
		at := n.index(key.name)
		switch {
		case entry.Key.IsMergeKey() && merge.line > 0:
			t.repeat(n, key, merge)
		case entry.Key.IsMergeKey():
			merge = key
			t.merge(n, key.value)
		case at >= 0 && n.fields[at].merged:
			n.fields[at] = key
		case at >= 0:
			t.repeat(n, key, n.fields[at])
		default:
			n.fields = append(n.fields, key)
		}
	}
	return n
}

func (t *tree) repeat(n *node, again, first field) {
	if t.repeats == nil {
		t.repeats = map[*node][]repeat{}
	}
	t.repeats[n] = append(t.repeats[n], repeat{again: again, first: first})
}

// repeat is a duplicate key of a mapping.
type repeat struct {
	again, first field
}

// repeatedKeys returns the problems of duplicate keys at any depth; one that an alias brings to
// several places is reported once, where it is written.
func (t *tree) repeatedKeys(n *node, at *frame, reported map[field]bool) []Problem {
	var problems []Problem
	for _, r := range t.repeats[n] {
		if reported[r.again] {
			continue
		}
		reported[r.again] = true
		problems = append(problems, Problem{
			Line: int(r.again.line), Column: int(r.again.column), Path: at.child(r.again.name).String(), Severity: Error,
			Message: fmt.Sprintf("repeated key %s; first at %d:%d", quote(r.again.name), r.first.line, r.first.column),
		})
	}
	for i, item := range n.items {
		problems = append(problems, t.repeatedKeys(item, at.item(i), reported)...)
	}
	for _, f := range n.fields {
		problems = append(problems, t.repeatedKeys(f.value, at.child(f.name), reported)...)
	}
	return problems
}

// merge adds the keys of a mapping that n does not have itself; for a list of mappings, the first
// has precedence.
func (t *tree) merge(n, from *node) {
	switch {
	case from.broken:
	case from.kind == Map:
		for _, f := range from.fields {
			if n.index(f.name) < 0 {
				f.merged = true
				n.fields = append(n.fields, f)
			}
		}
	case from.kind == List:
		for _, item := range from.items {
			if item.kind != Map && !item.broken {
				t.problem(item, "<< merges mappings, found "+item.describe())
				continue
			}
			t.merge(n, item)
		}
	default:
		t.problem(from, "<< merges a mapping or a list of mappings, found "+from.describe())
	}
}

// key reads a key, which is text however it is written: 200 is the key "200".
func (t *tree) key(from ast.MapKeyNode) (field, bool) {
	var n *node
	switch v := ast.Node(from).(type) {
	case *ast.MappingKeyNode:
		n = t.node(v.Value)
	default:
		n = t.node(v)
	}
	if n.broken {
		return field{}, false
	}
	if n.kind == List || n.kind == Map || n.kind == Null {
		t.fail(from.GetToken(), "a key must be a text, found %s", n.describe())
		return field{}, false
	}
	return field{name: n.text, mark: n.mark}, true
}

func (t *tree) anchor(from *ast.AnchorNode) *node {
	name := tokenText(from.Name)
	t.anchors[name] = nil
	n := t.node(from.Value)
	t.anchors[name] = n
	return n
}

// alias returns its anchor's value, at its own position.
func (t *tree) alias(from *ast.AliasNode) *node {
	name := tokenText(from.Value)
	target, known := t.anchors[name]
	switch {
	case !known:
		return t.fail(from.Start, "unknown alias *%s; there is no anchor &%s before it", name, name)
	case target == nil:
		return t.fail(from.Start, "alias *%s is inside its own anchor &%s", name, name)
	}
	if t.expanded > maxNodes { // already reported
		return &node{size: 1, broken: true}
	}
	if t.expanded += target.size; t.expanded > maxNodes {
		return t.fail(from.Start, "alias *%s makes the file too large: it has more than %d values with all aliases expanded", name, maxNodes)
	}
	n := *target
	n.mark = t.mark(from.Start)
	n.block = false
	return &n
}

func tokenText(from ast.Node) string {
	if from == nil || from.GetToken() == nil {
		return ""
	}
	return strings.TrimSpace(from.GetToken().Value)
}

var tagKinds = map[string][]Kind{
	"!!null": {Null}, "!!bool": {Bool}, "!!int": {Int}, "!!float": {Float, Int},
	"!!seq": {List}, "!!map": {Map}, "!!str": {String},
}

// tagged allows the tags of YAML's core schema if they agree with the value; !!str turns any scalar
// into text.
func (t *tree) tagged(from *ast.TagNode) *node {
	n := t.node(from.Value)
	if n.broken {
		return n
	}
	n.mark = t.mark(from.Start)
	tag := strings.TrimSpace(from.Start.Value)
	if tag == "!!str" && n.kind < String {
		n.kind, n.implicit = String, false
	}
	kinds, known := tagKinds[tag]
	if !known {
		return t.fail(from.Start, "the tag %s is not supported here; remove it", quote(tag))
	}
	if slices.Contains(kinds, n.kind) {
		return n
	}
	return t.fail(from.Start, "the tag %s does not fit %s", tag, n.describe())
}
