package rule

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/sensor"
)

// Outcome is a three-valued result. The order makes min and max Kleene's "and" and "or".
type Outcome uint8

// Fail < Unknown < Pass.
const (
	Fail Outcome = iota
	Unknown
	Pass
)

// String returns "fail", "unknown" or "pass".
func (o Outcome) String() string {
	switch o {
	case Fail:
		return "fail"
	case Pass:
		return "pass"
	}
	return "unknown"
}

// MarshalText returns String, so that reports contain the word.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText is the inverse of MarshalText, for stored reports.
func (o *Outcome) UnmarshalText(text []byte) error {
	for _, known := range []Outcome{Fail, Unknown, Pass} {
		if string(text) == known.String() {
			*o = known
			return nil
		}
	}
	return fmt.Errorf("outcome %.60q is not fail, unknown or pass", text)
}

// Gate is a compiled tree of rules. It is immutable and safe for concurrent use. Every pipeline has one, so it holds
// each predicate once, and of the rules only what cannot be derived from their predicates.
type Gate struct {
	refs       []Ref
	root       node
	preferred  *node       // must hold in addition to root, until a time that the caller determines; often nil
	predicates []predicate // those of each node contiguous, advisory ones last
	reports    []report    // one per predicate, as written
}

// Refs lists the sensors that g reads, without duplicates; a Snapshot has the same order.
func (g *Gate) Refs() []Ref { return append([]Ref(nil), g.refs...) }

// Snapshot is what each of the gate's Refs shows, in that order.
type Snapshot []sensor.Seen

// Decide returns the gate's outcome on s at now, including preferred rules. If the gate passes, it does not allocate.
func (g *Gate) Decide(s Snapshot, now time.Time) Outcome {
	out := g.root.eval(s, now)
	if g.Prefers() {
		out = min(out, g.preferred.eval(s, now))
	}
	return out
}

// DecideRequired is Decide without the preferred rules.
func (g *Gate) DecideRequired(s Snapshot, now time.Time) Outcome { return g.root.eval(s, now) }

// Prefers reports whether g has preferred rules.
func (g *Gate) Prefers() bool { return g.preferred != nil && !g.preferred.absent() }

// node is a group: its predicates are stored contiguously, its subgroups beside them. Rules have no side effects, so
// the order of evaluation does not matter.
type node struct {
	kind       groupKind
	n          int32 // for atLeast
	predicates []predicate
	groups     []node
}

// absent reports whether a group has no members.
func (n *node) absent() bool { return len(n.predicates) == 0 && len(n.groups) == 0 }

// add makes m a member of n. A group of one is replaced by its member, and an all inside an all (or an any inside an
// any) is merged, which saves a level of evaluation.
func (n *node) add(m node) {
	single := len(m.predicates)+len(m.groups) == 1 && m.kind != notGroup
	merges := m.kind == n.kind && (m.kind == allGroup || m.kind == anyGroup)
	switch {
	case m.absent():
	case single || merges:
		n.predicates = append(n.predicates, m.predicates...)
		n.groups = append(n.groups, m.groups...)
	default:
		n.groups = append(n.groups, m)
	}
}

func (n *node) eval(s Snapshot, now time.Time) Outcome {
	switch n.kind {
	case allGroup:
		return n.all(s, now)
	case anyGroup:
		return n.any(s, now)
	case atLeastGroup:
		return n.atLeast(s, now)
	case notGroup:
		return Pass - n.all(s, now) // its only member
	}
	return Unknown // a gate that was never compiled
}

func (n *node) all(s Snapshot, now time.Time) Outcome {
	out := Pass
	for i := range n.predicates {
		out = min(out, n.predicates[i].eval(s, now))
		if out == Fail {
			return Fail
		}
	}
	for i := range n.groups {
		out = min(out, n.groups[i].eval(s, now))
		if out == Fail {
			return Fail
		}
	}
	return out
}

func (n *node) any(s Snapshot, now time.Time) Outcome {
	out := Fail
	for i := range n.predicates {
		out = max(out, n.predicates[i].eval(s, now))
		if out == Pass {
			return Pass
		}
	}
	for i := range n.groups {
		out = max(out, n.groups[i].eval(s, now))
		if out == Pass {
			return Pass
		}
	}
	return out
}

// atLeast stops as soon as n have passed, or so many have failed that n no longer can.
func (n *node) atLeast(s Snapshot, now time.Time) Outcome {
	var count [Pass + 1]int
	need := int(n.n)
	mayFail := len(n.predicates) + len(n.groups) - need
	for i := range len(n.predicates) + len(n.groups) {
		var out Outcome
		if i < len(n.predicates) {
			out = n.predicates[i].eval(s, now)
		} else {
			out = n.groups[i-len(n.predicates)].eval(s, now)
		}
		count[out]++
		if count[Pass] >= need {
			return Pass
		}
		if count[Fail] > mayFail {
			return Fail
		}
	}
	return Unknown
}
