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
	if *o = OutcomeOf(string(text)); o.String() != string(text) {
		return fmt.Errorf("outcome %.60q is not fail, unknown or pass", text)
	}
	return nil
}

// OutcomeOf returns the outcome of that name; Unknown if this version does not know it.
func OutcomeOf(name string) Outcome {
	for _, known := range []Outcome{Fail, Pass} {
		if name == known.String() {
			return known
		}
	}
	return Unknown
}

// Gate is a compiled tree of rules. It is immutable and safe for concurrent use. Every pipeline has
// one, so it holds each predicate once, and of the rules only what cannot be derived from their
// predicates.
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

// Decide returns the gate's outcome on s at now, including preferred rules. If the gate passes, it
// does not allocate.
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

// node is a group: its predicates are stored contiguously, its subgroups beside them. Rules have no
// side effects, so the order of evaluation does not matter.
type node struct {
	kind       groupKind
	n          int32 // for atLeast
	predicates []predicate
	groups     []node
}

// absent reports whether a group has no members.
func (n *node) absent() bool { return len(n.predicates) == 0 && len(n.groups) == 0 }

// add makes m a member of n. A group of one is replaced by its member, and an all inside an all (or
// an any inside an any) is merged, which saves a level of evaluation.
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

// eval stops as soon as enough members have passed, or so many have failed that enough no longer
// can.
func (n *node) eval(s Snapshot, now time.Time) Outcome {
	if n.kind == noGroup {
		return Unknown // a gate that was never compiled
	}
	var count [Pass + 1]int
	need, total := n.need(), len(n.predicates)+len(n.groups)
	for i := range total {
		var out Outcome
		if i < len(n.predicates) {
			out = n.predicates[i].eval(s, now)
		} else {
			out = n.groups[i-len(n.predicates)].eval(s, now)
		}
		if count[out]++; count[Pass] >= need || count[Fail] > total-need {
			return out.In(n.kind == notGroup)
		}
	}
	if need == 0 {
		return Pass
	}
	return Unknown
}

// need returns how many members must pass.
func (n *node) need() int {
	switch n.kind {
	case anyGroup:
		return 1
	case atLeastGroup:
		return int(n.n)
	default:
		return len(n.predicates) + len(n.groups) // a not has only one
	}
}
