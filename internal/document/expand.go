package document

import (
	"fmt"
	"strconv"
)

// Expand is n with every text replaced by what replace makes of it: a string, bool, int64 or float64. Each value keeps
// its place, so that what is wrong with it is reported where the file has it.
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

// scalarOf is the kind and text of a value that Expand puts in.
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
