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

// index finds a key among the fields of a mapping while it is being read; it builds a map only for large ones.
type index struct{ at map[string]int }

func (x *index) find(fields []field, name string) (int, bool) {
	if x.at != nil {
		at, found := x.at[name]
		return at, found
	}
	for i := range fields {
		if fields[i].name == name {
			return i, true
		}
	}
	return 0, false
}

// add records that name is appended to fields.
func (x *index) add(fields []field, name string) {
	const small = 16
	if x.at == nil && len(fields) >= small {
		x.at = make(map[string]int, 2*len(fields))
		for i := range fields {
			x.at[fields[i].name] = i
		}
	}
	if x.at != nil {
		x.at[name] = len(fields)
	}
}
