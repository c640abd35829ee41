package rule

import (
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/sensor"
)

// Target is an outcome that a way needs of one rule.
type Target struct {
	Rule int  // its index in Verdict.Leaves
	Pass bool // the rule must pass; otherwise it must fail
}

// Way is a set of targets. The gate passes once all of them are met.
type Way struct {
	Targets []Target
	Cost    int
}

// maxWays bounds how many ways each group of a gate keeps.
const maxWays = 32

// Ways lists ways to open the gate, cheapest first. The cost of a target is negative if it cannot
// be met. Without preferred, the preferred rules need not pass.
func (g *Gate) Ways(preferred bool, cost func(Target) int) []Way {
	ways := g.root.ways(true, cost)
	if preferred && g.Prefers() {
		ways = Cross(ways, g.preferred.ways(true, cost))
	}
	return ways
}

// ways lists ways to make the group pass or fail.
func (n *node) ways(pass bool, cost func(Target) int) []Way {
	total := len(n.predicates) + len(n.groups)
	need := n.need()
	if n.kind == notGroup {
		pass = !pass
	}
	if !pass {
		need = total - need + 1
	}
	chosen := make([][]Way, need+1) // by how many members are chosen
	chosen[0] = []Way{{}}
	for i := range total {
		var member []Way
		if i < len(n.predicates) {
			member = single(Target{int(n.predicates[i].report), pass}, cost)
		} else {
			member = n.groups[i-len(n.predicates)].ways(pass, cost)
		}
		least := need - (total - 1 - i) // with fewer, the remaining members are not enough
		for k := min(need, i+1); k > 0 && k >= least; k-- {
			chosen[k] = cheapest(slices.Concat(chosen[k], Cross(chosen[k-1], member)))
		}
	}
	return chosen[need]
}

func single(t Target, cost func(Target) int) []Way {
	price := cost(t)
	if price < 0 {
		return nil
	}
	return []Way{{Targets: []Target{t}, Cost: price}}
}

// Cross lists the combinations of a way of each list.
func Cross(a, b []Way) []Way {
	var both []Way
	for _, x := range a {
		for _, y := range b {
			both = append(both, Way{Targets: slices.Concat(x.Targets, y.Targets), Cost: x.Cost + y.Cost})
		}
	}
	return cheapest(both)
}

func cheapest(ways []Way) []Way {
	slices.SortStableFunc(ways, func(x, y Way) int { return x.Cost - y.Cost })
	return ways[:min(len(ways), maxWays)]
}

// Term is one rule of a compiled gate.
type Term struct {
	Asked
	Ref       Ref
	Need      int // for a rule over several periods: in how many it must hold; 0 means all
	predicate *predicate
}

// Term returns the rule with that index in Verdict.Leaves.
func (g *Gate) Term(i int) Term {
	r := &g.reports[i]
	p := &g.predicates[r.predicate]
	t := Term{Asked: g.asked(r), Ref: g.refs[p.slot], predicate: p}
	if p.timed {
		t.Need = p.more.time.need
	}
	return t
}

// Rules returns how many rules g has, advisory ones included.
func (g *Gate) Rules() int { return len(g.reports) }

// Settled returns for how long the rule's data must have been unchanged; 0 if it need not.
func (t Term) Settled() time.Duration {
	if t.predicate.timed {
		return t.predicate.more.time.settled
	}
	return 0
}

// Path returns the field that the rule reads; "" for the reading as a whole. An age check without a
// field reads the time of the write.
func (t Term) Path() string { return t.predicate.field }

// On returns the outcome on a reading, which may be nil, without regard to settled and over.
func (t Term) On(r *sensor.Reading, now time.Time) Outcome { return t.predicate.on(r, now) }

// InTime reports whether the rule gets that outcome on the reading by the passing of time alone: it
// compares an age that only grows.
func (t Term) InTime(pass bool, r *sensor.Reading, now time.Time) bool {
	return !t.predicate.ages(pass, r, now).IsZero()
}
