package document

import "fmt"

// repeat is a duplicate key of a mapping.
type repeat struct {
	again, first field
}

// repeatedKeys returns the problems of duplicate keys at any depth; one that an alias brings to several places is
// reported once, where it is written.
func (t *tree) repeatedKeys(n *node, at *frame, told map[field]bool) []Problem {
	var problems []Problem
	for _, r := range t.repeats[n] {
		if told[r.again] {
			continue
		}
		told[r.again] = true
		problems = append(problems, Problem{
			Line: int(r.again.line), Column: int(r.again.column), Path: at.child(r.again.name).String(), Severity: Error,
			Message: fmt.Sprintf("repeated key %s; first at %d:%d", quote(r.again.name), r.first.line, r.first.column),
		})
	}
	for i, item := range n.items {
		problems = append(problems, t.repeatedKeys(item, at.item(i), told)...)
	}
	for _, f := range n.fields {
		problems = append(problems, t.repeatedKeys(f.value, at.child(f.name), told)...)
	}
	return problems
}
