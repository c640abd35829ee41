package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/reason"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
)

// maxHints is how many closed rules get their own hint, besides those that the plan is for.
const maxHints = 10

// hints adds what would open the gates of def: one way, as commands to run in this order, and the
// rules that it leaves out. Each hint starts with prefix.
func (b *builder) hints(ctx context.Context, def *pipeline.Definition, prefix string, gates ...*rule.Gate) error {
	if def == nil || b.x.Gate == nil || b.x.Gate.Open() {
		return nil
	}
	p, err := b.newPlanner(ctx, def, gates...)
	if err != nil {
		return err
	}
	found, err := p.plan(ctx)
	if err != nil {
		return err
	}
	if found == nil {
		return p.hopeless(ctx, prefix)
	}
	for _, s := range found.steps {
		if err := p.hint(ctx, prefix, s); err != nil {
			return err
		}
		if s.write != nil && s.probe == nil && !s.write.Deleted {
			b.pushable = append(b.pushable, pushable{p.result(s), s})
		}
	}
	p.waits(prefix, found)
	p.alternatives(prefix, found)
	b.times(found)
	return nil
}

// hint adds a step.
func (p *planner) hint(ctx context.Context, prefix string, s step) error {
	if !s.upstream.Period.IsZero() {
		return p.upstreamHint(ctx, p.also(prefix, s.rules...), s.upstream)
	}
	what, groups := p.also(prefix, s.rules...)+p.result(s), p.groups(s)
	switch command := s.command(p.now); {
	case s.probe != nil:
		p.say("hint", "%s%s%s", what, asked(s.probe), groups)
	case s.write.Deleted:
		p.say("delete", "%s, only if true: `%s`%s", what, command, groups)
	default:
		p.say("push", "%s, only if true: `%s`%s", what, command, groups)
	}
	return nil
}

// also returns the start of a hint about rules: those beside a start condition do not open the run.
func (p *planner) also(prefix string, rules ...int) string {
	if len(p.gates) > 1 && first(rules) >= p.gates[0].Rules() {
		return "the run also needs "
	}
	return prefix
}

// say adds a hint, unless it is there already.
func (b *builder) say(code reason.Code, format string, args ...any) {
	r := reason.Say(code, format, args...)
	if text := r.StringAt(b.now); !slices.Contains(b.x.Opens, text) {
		b.x.Said.Opens = append(b.x.Said.Opens, r)
		b.x.Opens = append(b.x.Opens, text)
	}
}

// result says what the data is after a step.
func (p *planner) result(s step) string {
	name := string(s.cell.key)
	if s.cell.owner != p.key.Pipeline {
		name += " of " + string(s.cell.owner)
	}
	if s.cell.slice {
		name += " for " + s.cell.period.String()
	}
	if s.write.Deleted {
		return "no reading of " + name
	}
	var conditions []string
	for _, d := range s.cell.demands {
		text := demanded(d)
		if text != "" && d.unmet && !slices.Contains(conditions, text) {
			conditions = append(conditions, text)
		}
	}
	if len(conditions) == 0 {
		return "a reading of " + name
	}
	return name + " with " + strings.Join(conditions, " and ")
}

// demanded says what a rule needs of the reading; "" if only that there is one.
func demanded(d demand) string {
	asked := d.term.Asked
	switch {
	case asked.Check == rule.Exists && asked.Field == "" && d.pass:
		return asked.Time
	case asked.Check == rule.Exists && d.pass:
		return strings.TrimSuffix("the field "+asked.Field+", "+asked.Time, ", ")
	case d.pass:
		return asked.Condition()
	}
	return "not (" + asked.Condition() + ")"
}

// groups names the groups of the rules that a step is for.
func (p *planner) groups(s step) string {
	var names []string
	for _, i := range s.rules {
		if group := p.leaves[i].Group; group != "" && !slices.Contains(names, group) {
			names = append(names, group)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " [" + strings.Join(names, "; ") + "]"
}

// waits adds the closed rules of the plan that only need time.
func (p *planner) waits(prefix string, found *plan) {
	for i, leaf := range p.leaves {
		pushed := slices.ContainsFunc(found.steps, func(s step) bool { return slices.Contains(s.rules, i) })
		if !found.relied[i] || leaf.PassesAt.IsZero() || pushed {
			continue
		}
		p.say("time", "%stime: %s %s at %s if its data does not change until then",
			p.also(prefix, i), sensorName(leaf.SeenLeaf), passes(leaf), reason.On("at", shown(leaf.PassesAt)))
	}
}

func passes(leaf Leaf) string {
	if leaf.Negated {
		return "stops closing the gate"
	}
	return "passes"
}

// alternatives adds the closed rules that the plan does without, because another rule of their
// group is enough.
func (p *planner) alternatives(prefix string, found *plan) {
	more := 0
	for i, leaf := range p.leaves {
		if leaf.Holds || leaf.Advisory || leaf.Moot || found.relied[i] || leaf.Preferred && p.x.Gate.lapsed() {
			continue
		}
		if more++; more <= maxHints {
			p.say("alternative", "%sanother way: %s", p.also(prefix, i), p.wish(leaf))
		}
	}
	if more > maxHints {
		p.say("more", "and %d more rules", more-maxHints)
	}
}

// times adds when the gate opens by itself, or some time after the plan's last step.
func (b *builder) times(found *plan) {
	g := b.x.Gate
	switch {
	case g.OpensAt.IsZero():
	case g.OpensAt.Equal(g.PreferUntil):
		b.say("hint", "time: the run starts without the preferred rules %s (validation.preferUntil)",
			reason.At("at", shown(g.OpensAt)))
	case len(found.steps) > 0 || len(g.Closed()) > 1:
		b.say("hint", "time: the gate opens %s if the data does not change until then", reason.At("at", shown(g.OpensAt)))
	}
	if len(found.steps) > 0 && !found.opensAt.IsZero() {
		b.say("then", "then time: if that is so now, the gate opens %s, unless the data changes again",
			reason.At("at", shown(found.opensAt)))
	}
}

// hopeless adds the closed rules of gates that nothing was found to open.
func (p *planner) hopeless(ctx context.Context, prefix string) error {
	const none = "no command opens the gate"
	never := ""
	var closed []Leaf
	for i, leaf := range p.leaves {
		if leaf.Holds || leaf.Advisory || leaf.Moot || leaf.Preferred && p.x.Gate.lapsed() {
			continue
		}
		closed = append(closed, leaf)
		price, err := p.price(ctx, rule.Target{Rule: i, Pass: !leaf.Negated})
		if err != nil {
			return err
		}
		if price < 0 && never == "" {
			never = none + ": " + p.impossible(leaf)
		}
	}
	p.say("no-command", "%s", cmp.Or(never, none+": its rules contradict each other, or too much is missing"))
	for _, leaf := range closed[:min(len(closed), maxHints)] {
		p.say("hint", "%s%s", prefix, p.wish(leaf))
	}
	if more := len(closed) - maxHints; more > 0 {
		p.say("more", "and %d more rules", more)
	}
	return nil
}

// impossible says why nothing that a person can push changes a rule.
func (p *planner) impossible(leaf Leaf) string {
	name := sensorName(leaf.SeenLeaf)
	switch up, engine := strings.CutPrefix(leaf.Key, "run/"); {
	case engine && p.Catalog.Current().Definition(pipeline.ID(up)) == nil:
		return fmt.Sprintf("%s needs a run of %s, which is not active", name, up)
	case engine:
		return fmt.Sprintf("only the engine writes %s, and no result of a run has what the rule needs", name)
	}
	return fmt.Sprintf("no value of %s is as the rule needs it", name)
}

// wish says what a closed rule needs, without a command.
func (p *planner) wish(leaf Leaf) string {
	name := leaf.Key
	if leaf.From != "" {
		name += " of " + leaf.From
	}
	text := name + " with " + condition(leaf)
	switch up, engine := strings.CutPrefix(leaf.Key, "run/"); {
	case engine && !leaf.Negated && leaf.Needs == string(run.Completed):
		text = "a COMPLETED run of " + up
	case leaf.Negated && leaf.Check == rule.Exists && leaf.Field == "":
		text = "no reading of " + name
	case leaf.Negated:
		text = fmt.Sprintf("a change of %s that makes this rule fail: %s", name, leaf.Reason)
	case leaf.Over:
		text = fmt.Sprintf("readings of %s with %s: %s", name, condition(leaf), leaf.Reason)
	case leaf.Check == rule.Exists && leaf.Field == "":
		text = "a reading of " + name
	case leaf.Check == rule.Exists:
		text = fmt.Sprintf("a reading of %s that has the field %s", name, leaf.Field)
	}
	if probe := p.probed(leaf); probe != nil {
		text += asked(probe)
	}
	if leaf.Group != "" {
		text += " [" + leaf.Group + "]"
	}
	return text
}

// condition returns the rule's condition on its field: `status equals "ready"`.
func condition(leaf Leaf) string {
	return rule.Asked{Check: leaf.Check, Field: leaf.Field, Value: leaf.Needs, Time: leaf.Time}.Condition()
}

// maxUpstreams is how many upstream runs of one explanation are themselves explained.
const maxUpstreams = 30

// upstreamHint adds what an upstream run needs to be COMPLETED: its own commands, if it has any.
func (p *planner) upstreamHint(ctx context.Context, prefix string, key run.Key) error {
	needed := prefix + fmt.Sprintf("a COMPLETED run of %s for %s", key.Pipeline, key.Period)
	if p.depth == nil {
		p.depth = new(int)
	}
	if *p.depth >= maxUpstreams {
		p.say("upstream", "%s", needed)
		return nil
	}
	*p.depth++
	q := Question{Pipeline: key.Pipeline, Schedule: key.Schedule, Period: key.Period, Real: true}
	up, err := explained(ctx, p.Sources, q, p.now, p.depth)
	if errors.Is(err, ErrUnknownPipeline) {
		p.say("upstream", "%s", needed)
		return nil
	}
	if err != nil {
		return err
	}
	any := false
	for _, r := range up.Said.Opens {
		if _, commands := r.Commands(p.now); len(commands) > 0 {
			any = true
			r = r.Prefixed("for " + needed + ": ")
			p.x.Said.Opens = append(p.x.Said.Opens, r)
			p.x.Opens = append(p.x.Opens, r.StringAt(p.now))
		}
	}
	if !any {
		p.say("upstream", "%s, which is %s: %s", needed, up.State, up.Summary)
	}
	return nil
}

// shown returns an instant as the next whole second: an explanation shows no fractions.
func shown(at time.Time) time.Time {
	if whole := at.Truncate(time.Second); whole.Before(at) {
		return whole.Add(time.Second)
	}
	return at
}
