package rule

import (
	"errors"
	"fmt"
	"slices"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/sensor"
)

// Part is one conjunct of a gate: a list of rules with its mode.
type Part struct {
	Mode  Mode // "" is ALL
	Rules []Rule
	Start bool // the start condition
}

// Compile compiles parts, all of which must hold, into a gate. Findings have paths relative to
// "parts[i].rules[j]"; callers with other positions use Rule.Findings. No parts, or parts with only
// advisory rules, make an open gate.
func Compile(parts ...Part) (*Gate, error) {
	if err := check(parts); err != nil {
		return nil, err
	}
	var c compiler
	c.gate.root.kind = allGroup
	for _, part := range parts {
		c.start = part.Start
		list := group{kind: allGroup, members: part.Rules}
		if part.Mode == ModeAny {
			list.kind = anyGroup
		}
		c.gate.root.add(c.list(list, place{top: true}, list.kind == anyGroup))
	}
	gate := c.gate // a copy, so that the compiler can be collected
	gate.settle(c.advisory)
	return &gate, nil
}

// settle copies all lists to their exact size.
func (g *Gate) settle(advisory []predicate) {
	g.refs, g.reports = exact(g.refs), exact(g.reports)
	g.predicates = make([]predicate, 0, len(g.reports))
	g.place(&g.root)
	if g.preferred != nil {
		g.place(g.preferred)
	}
	g.predicates = append(g.predicates, advisory...)
	for i, p := range g.predicates {
		g.reports[p.report].predicate = int32(i)
	}
}

// place moves the predicates of n and of its groups into the gate's list.
func (g *Gate) place(n *node) {
	from := len(g.predicates)
	g.predicates = append(g.predicates, n.predicates...)
	n.predicates = g.predicates[from:len(g.predicates):len(g.predicates)]
	n.groups = exact(n.groups)
	for i := range n.groups {
		g.place(&n.groups[i])
	}
}

func exact[T any](list []T) []T {
	if len(list) == cap(list) {
		return list
	}
	return append(make([]T, 0, len(list)), list...)
}

func check(parts []Part) error {
	var problems []error
	for i, part := range parts {
		at := fmt.Sprintf("parts[%d]", i)
		if part.Mode != "" && part.Mode != ModeAll && part.Mode != ModeAny {
			problems = append(problems, fmt.Errorf("%s.mode: %q is neither ALL nor ANY", at, part.Mode))
		}
		for _, f := range Findings(part.Rules) {
			if f.Severity != document.Warning {
				problems = append(problems, fmt.Errorf("%s.rules%s: %s", at, f.Path, f.Message))
			}
		}
	}
	return errors.Join(problems...)
}

// compiler builds a gate from rules without errors.
type compiler struct {
	gate     Gate
	advisory []predicate // in no group
	start    bool        // the current part is the start condition
}

// place is the position of a rule in the tree.
type place struct {
	path      string // for people: "any 1 of 3"
	negated   bool   // it is inside an odd number of "not" groups
	advisory  bool   // it, or an enclosing group, is advisory
	preferred bool   // it, or an enclosing group, closes the gate only for a time
	top       bool   // it is not inside a group
}

// list compiles the members of a group. If numbered, the path of each member includes its number.
func (c *compiler) list(g group, at place, numbered bool) node {
	n := node{kind: g.kind, n: int32(g.n)}
	for i, member := range g.members {
		inner := at
		if numbered {
			inner.path = join(at.path, g.member(i))
		}
		inner.negated = at.negated != (g.kind == notGroup)
		n.add(c.rule(member, inner))
	}
	return n
}

// member describes a member of the group for people: "any 1 of 3".
func (g group) member(i int) string {
	switch g.kind {
	case notGroup:
		return "not"
	case atLeastGroup:
		return fmt.Sprintf("at least %d: %d of %d", g.n, i+1, len(g.members))
	}
	return fmt.Sprintf("%s %d of %d", g.kind, i+1, len(g.members))
}

func join(path, place string) string {
	if path == "" {
		return place
	}
	return path + " › " + place
}

// rule compiles a predicate or a group. Advisory rules are reported but add no node; preferred
// rules go into a separate node.
func (c *compiler) rule(r Rule, at place) node {
	at.advisory = at.advisory || r.Level == Advisory
	if at.top && r.Level == Preferred {
		at.top, at.preferred = false, true
		r.Level = Required
		if c.gate.preferred == nil {
			c.gate.preferred = &node{kind: allGroup}
		}
		c.gate.preferred.add(c.rule(r, at))
		return node{}
	}
	at.top = false
	if groups := r.groups(); len(groups) > 0 {
		n := c.list(groups[0], at, true)
		if at.advisory {
			return node{}
		}
		return n
	}
	p := c.predicate(r)
	c.gate.reports = append(c.gate.reports, reportOn(r, at, c.start))
	if at.advisory {
		c.advisory = append(c.advisory, p)
		return node{}
	}
	return node{kind: allGroup, predicates: []predicate{p}}
}

func (c *compiler) predicate(r Rule) predicate {
	p, _ := parse(r)
	ref := Ref{From: r.From, Key: sensor.Key(r.Key), Start: c.start}
	if r.Over != nil {
		ref.Over = r.Over.compiled()
	}
	p.slot = c.slot(ref)
	p.report = int32(len(c.gate.reports))
	return p
}

// slot returns the index of ref in a Snapshot.
func (c *compiler) slot(ref Ref) int32 {
	slot := slices.Index(c.gate.refs, ref)
	if slot < 0 {
		slot = len(c.gate.refs)
		c.gate.refs = append(c.gate.refs, ref)
	}
	return int32(slot)
}
