package document

import "fmt"

// repeat is a key that its mapping already has.
type repeat struct {
	again, first field
}

// repeatedKeys are the problems of keys written twice, wherever they are; one that an alias brings to several places is
// told once, where it is written.
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

// index finds a key among the fields of a mapping while it is being read; a map pays only for the larger ones.
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

// add notes that name comes next after fields.
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
