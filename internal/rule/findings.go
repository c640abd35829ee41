package rule

import (
	"fmt"
	"strconv"

	"github.com/interlock-go/interlock/internal/document"
)

// Limits that no readable file approaches; they bound the cost of generated ones.
const (
	maxDepth  = 20   // groups inside groups
	maxLeaves = 1000 // predicates in a list of rules
)

// Findings lists what is wrong with r (and with the rules inside it), each at its path relative to
// r.
func (r Rule) Findings() []document.Finding {
	var c checker
	c.rule(r, "", 0)
	return c.found
}

// Findings lists what is wrong with a list of rules, each at its path relative to the list:
// "[2].value".
func Findings(rules []Rule) []document.Finding {
	var c checker
	for i := range rules {
		c.rule(rules[i], "["+strconv.Itoa(i)+"]", 0)
	}
	return c.found
}

// collector collects findings.
type collector struct{ found []document.Finding }

func (c *collector) errorf(path, format string, args ...any) {
	c.found = append(c.found, document.Finding{Path: path, Message: fmt.Sprintf(format, args...)})
}

// checker walks rules.
type checker struct {
	collector
	leaves int
	full   bool // too many leaves were reported; the rest is not checked
}

// rule checks r, and reports whether it affects the gate: an advisory rule does not, nor does a
// group of such rules.
func (c *checker) rule(r Rule, path string, depth int) (decides bool) {
	if c.full {
		return true
	}
	decides = true
	if r.Level == Preferred && depth > 0 {
		c.errorf(document.JoinPath(path, "level"), "is preferred inside a group; set the level on the outermost group instead")
	}
	groups := r.groups()
	switch {
	case len(groups) > 0:
		decides = c.group(r, groups, path, depth)
	case len(r.ownKeys()) == 0:
		c.errorf(path, "is empty; a rule has key and check, or is one of the groups all, any, atLeast, not")
	default:
		c.leaf(r, path)
	}
	return decides && r.Level != Advisory
}

// ownKeys lists the keys in r that only a predicate may have.
func (r Rule) ownKeys() []string {
	var keys []string
	for _, k := range []struct {
		name    string
		written bool
	}{
		{"key", r.Key != ""},
		{"check", r.Check != ""},
		{"field", r.Field != ""},
		{"value", r.Value != nil},
		{"from", r.From != ""},
		{"settled", r.Settled != nil},
		{"over", r.Over != nil},
	} {
		if k.written {
			keys = append(keys, k.name)
		}
	}
	return keys
}

func (c *checker) leaf(r Rule, path string) {
	c.leaves++
	if c.leaves > maxLeaves {
		c.errorf(path, "is one rule too many; at most %d are allowed", maxLeaves)
		c.full = true
		return
	}
	_, found := parse(r)
	c.found = append(c.found, document.Under(path, found)...)
}

func (c *checker) group(r Rule, groups []group, path string, depth int) (decides bool) {
	c.found = append(c.found, document.Under(path, levelFindings(r.Level))...)
	first := groups[0]
	for _, other := range groups[1:] {
		c.found = append(c.found, document.Finding{
			Path:    document.JoinPath(path, other.kind.String()),
			Message: fmt.Sprintf("is next to %s, but a rule can be only one group; nest one inside the other", first.kind),
			Also:    []string{document.JoinPath(path, first.kind.String())},
		})
	}
	for _, key := range r.ownKeys() {
		c.found = append(c.found, document.Finding{
			Path:    document.JoinPath(path, key),
			Message: fmt.Sprintf("is next to %s, but a group has no %s; move it into a rule of the group", first.kind, key),
			Also:    []string{document.JoinPath(path, first.kind.String())},
		})
	}
	if depth >= maxDepth {
		c.errorf(document.JoinPath(path, first.kind.String()), "is nested too deeply; at most %d levels of groups are allowed", maxDepth)
		return true
	}
	for _, g := range groups {
		decides = c.members(g, path, depth) || decides
	}
	return decides
}

func (c *checker) members(g group, path string, depth int) (decides bool) {
	here := document.JoinPath(path, g.path())
	if g.kind == notGroup {
		return c.not(g.members[0], here, depth)
	}
	deciding := 0
	for i, member := range g.members {
		if c.rule(member, here+"["+strconv.Itoa(i)+"]", depth+1) {
			deciding++
		}
	}
	switch {
	case len(g.members) == 0:
		c.errorf(here, "is empty; list at least one rule")
	case deciding == 0:
		c.found = append(c.found, document.Finding{
			Path: here, Severity: document.Warning,
			Message: "contains only advisory rules, so the group has no effect",
		})
	}
	if g.kind == atLeastGroup {
		c.count(g, deciding, document.JoinPath(path, "atLeast.n"))
	}
	return deciding > 0
}

// count checks how many rules of an atLeast must pass.
func (c *checker) count(g group, deciding int, path string) {
	switch total := len(g.members); {
	case g.n < 1:
		c.errorf(path, "is %d; it must be at least 1", g.n)
	case total > 0 && g.n > total:
		c.errorf(path, "is %d, but of has only %d rules; write a number from 1 to %d", g.n, total, total)
	case deciding > 0 && g.n > deciding:
		c.errorf(path, "is %d, but only %d of the %d rules count, because the others are advisory; write a number from 1 to %d", g.n, deciding, total, deciding)
	}
}

func (c *checker) not(inner Rule, path string, depth int) (decides bool) {
	if inner.Level == Advisory {
		c.errorf(document.JoinPath(path, "level"), "is advisory, so not has no effect; set the level beside not")
	}
	return c.rule(inner, path, depth+1)
}
