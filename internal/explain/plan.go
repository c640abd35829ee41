package explain

import (
	"context"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

// plan is one way to open the gates of a run: steps to carry out in this order.
type plan struct {
	steps   []step
	relied  []bool    // by rule: the way relies on it
	opensAt time.Time // when the gates are open after the steps; zero: at once
}

// planner looks for a plan. It tries ways on a copy of the facts, with the evaluation that the
// start itself uses.
type planner struct {
	*builder
	def    *pipeline.Definition
	gates  []*rule.Gate
	facts  *facts
	terms  []rule.Term // the rules of all gates
	leaves []Leaf      // their state now
	prices map[rule.Target]int
}

// newPlanner evaluates the gates of def as they are.
func (b *builder) newPlanner(ctx context.Context, def *pipeline.Definition, gates ...*rule.Gate) (*planner, error) {
	p := &planner{builder: b, def: def, gates: gates, facts: newFacts(b.Store, b.now), prices: map[rule.Target]int{}}
	for _, g := range gates {
		state, err := b.live(ctx, def, g)
		if err != nil {
			return nil, err
		}
		for i, leaf := range state.Leaves {
			p.terms = append(p.terms, g.Term(i))
			p.leaves = append(p.leaves, leaf)
		}
	}
	return p, nil
}

// plan returns the cheapest plan that opens the gates; nil if none was found.
func (p *planner) plan(ctx context.Context) (*plan, error) {
	for _, preferred := range []bool{true, false} {
		ways, err := p.ways(ctx, preferred)
		if err != nil {
			return nil, err
		}
		for _, way := range ways {
			for _, dated := range []bool{false, true} {
				found, err := p.try(ctx, way, dated)
				if found != nil || err != nil {
					return found, err
				}
			}
		}
	}
	return nil, nil
}

// ways lists ways to open all gates. Their targets count the rules of all gates.
func (p *planner) ways(ctx context.Context, preferred bool) ([]rule.Way, error) {
	all := []rule.Way{{}}
	offset := 0
	var err error
	for _, g := range p.gates {
		ways := g.Ways(preferred, func(t rule.Target) int {
			t.Rule += offset
			price, wrong := p.price(ctx, t)
			if wrong != nil {
				err = wrong
			}
			return price
		})
		for _, way := range ways {
			for i := range way.Targets {
				way.Targets[i].Rule += offset
			}
		}
		all = rule.Cross(all, ways)
		offset += g.Rules()
	}
	return all, err
}

// What a target costs: the fewer claims a person must make, the cheaper.
const (
	costTime     = 1
	costPush     = 3
	costWait     = 2 // in addition, if the rule also needs time after the push
	costUpstream = 20
	costProbe    = 50
)

// price returns what a target costs; negative if nothing meets it.
func (p *planner) price(ctx context.Context, t rule.Target) (int, error) {
	if price, known := p.prices[t]; known {
		return price, nil
	}
	price, err := p.estimate(ctx, t)
	p.prices[t] = price
	return price, err
}

func (p *planner) estimate(ctx context.Context, t rule.Target) (int, error) {
	leaf, term := p.leaves[t.Rule], p.terms[t.Rule]
	switch {
	case leaf.Outcome == outcome(t.Pass):
		return 0, nil
	case !leaf.PassesAt.IsZero() && t.Pass != leaf.Negated:
		return costTime, nil
	}
	w, err := p.work(ctx, []rule.Target{t}, true)
	if err != nil || w == nil {
		return -1, err
	}
	price := costPush * len(w.steps)
	for _, s := range w.steps {
		switch {
		case s.probe != nil:
			price += costProbe
		case !s.upstream.Period.IsZero():
			price += costUpstream
		}
	}
	if term.Settled() > 0 || t.Pass == (term.Check == rule.AgeGT) {
		price += costWait
	}
	return price, nil
}

// try returns the plan of a way, if it opens the gates. With dated, all writes are for the run's
// period, also where the reading that the rules see is undated.
func (p *planner) try(ctx context.Context, way rule.Way, dated bool) (*plan, error) {
	w, err := p.work(ctx, way.Targets, dated)
	if err != nil || w == nil || len(w.steps) > maxSteps {
		return nil, err
	}
	out := &plan{steps: w.steps, relied: make([]bool, len(p.terms))}
	for _, t := range way.Targets {
		out.relied[t.Rule] = true
	}
	for _, g := range p.gates {
		view, err := gate.Evaluate(ctx, w.facts, p.question(p.def, g), p.now)
		if err != nil {
			return nil, err
		}
		if !view.Open() {
			if view.OpensAt.IsZero() {
				return nil, nil
			}
			out.opensAt = period.Later(out.opensAt, view.OpensAt)
		}
	}
	return out, nil
}

// maxSteps is how many steps a plan may have.
const maxSteps = 60

// work is what the targets of a way need.
type work struct {
	steps []step
	facts *facts // after the steps
}

// step is one thing to do, or to wait for.
type step struct {
	rules    []int // the closed rules that it is for
	cell     cell
	write    *sensor.Reading // what is pushed; its Deleted means that the reading is deleted
	probe    *pipeline.Probe // a probe writes it, not a person
	upstream run.Key         // a run that must be COMPLETED
}

// work returns the steps that meet all targets; nil if they cannot be met together.
func (p *planner) work(ctx context.Context, targets []rule.Target, dated bool) (*work, error) {
	w := &work{facts: p.facts.copy()}
	var cells []*cell
	for _, t := range targets {
		term := p.terms[t.Rule]
		if term.Ref.Key.Engine() {
			ok, err := p.completeUpstream(ctx, w, t)
			if !ok || err != nil {
				return nil, err
			}
			continue
		}
		demands, err := p.demands(ctx, t, dated)
		if err != nil {
			return nil, err
		}
		for _, d := range demands {
			i := slices.IndexFunc(cells, func(c *cell) bool { return c.sameReading(d.place) })
			if i < 0 {
				i = len(cells)
				cells = append(cells, &cell{place: d.place})
			}
			cells[i].slice = cells[i].slice || d.slice
			cells[i].demands = append(cells[i].demands, d)
		}
	}
	for _, c := range cells {
		steps, err := p.fill(ctx, w.facts, c)
		if err != nil || steps == nil {
			return nil, err
		}
		w.steps = append(w.steps, steps...)
	}
	slices.SortStableFunc(w.steps, func(a, b step) int { return first(a.rules) - first(b.rules) })
	return w, nil
}

func first(rules []int) int {
	if len(rules) == 0 {
		return 0
	}
	return rules[0]
}
