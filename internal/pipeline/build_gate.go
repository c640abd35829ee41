package pipeline

import (
	"fmt"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/rule"
)

// buildGate compiles what must hold before a start: the start condition if cron opens the run,
// every upstream, the archetype's rules, and the pipeline's own by their mode.
func (b *builder) buildGate(a additions) {
	fine := true
	if b.def.Start != nil {
		findings := b.def.Start.Rule.Findings()
		b.addUnder("schedule.trigger", findings)
		fine = !document.HasErrors(findings)
	}
	var own []rule.Part
	if v := b.file.Validation; v != nil {
		fine = b.checkRules("validation.rules", v.Rules) && fine
		if len(v.Rules) > 0 {
			own = append(own, rule.Part{Mode: v.Trigger, Rules: v.Rules})
		}
		if v.PreferUntil != nil {
			b.def.Prefer = &v.PreferUntil.Prefer
		}
		b.def.LateData = v.LateData
		fine = b.checkTimes(v) && fine
	}
	if !fine || a.failed {
		return
	}
	if len(a.rules) > 0 {
		own = append(own, rule.Part{Mode: rule.ModeAll, Rules: a.rules})
	}
	b.compileGates(own)
}

func (b *builder) compileGates(own []rule.Part) {
	var parts []rule.Part
	if start := b.def.Start; start != nil {
		part := rule.Part{Mode: rule.ModeAll, Rules: []rule.Rule{start.Rule}, Start: true}
		start.Gate = b.compile("schedule.trigger", part)
		if b.def.Opens == ByCron {
			parts = append(parts, part)
		}
	}
	b.def.Facts = b.compile("validation", append(parts, own...)...)
	b.def.Gate = b.def.Facts
	if len(b.def.After) > 0 {
		parts = append(parts, upstreamRules(b.def.After))
		b.def.Gate = b.compile("validation", append(parts, own...)...)
	}
}

// compile reports at path what is wrong with the rules only as a whole (too many of them).
func (b *builder) compile(path string, parts ...rule.Part) *rule.Gate {
	gate, err := rule.Compile(parts...)
	if err != nil {
		b.errorf(path, "%v", err)
	}
	return gate
}

// upstreamRules requires each upstream to be COMPLETED, using the sensor that the engine itself
// writes.
func upstreamRules(ids []ID) rule.Part {
	part := rule.Part{Mode: rule.ModeAll}
	for _, id := range ids {
		part.Rules = append(part.Rules, rule.Rule{Key: fmt.Sprintf("run/%s", id), Check: rule.Equals, Field: "status", Value: "COMPLETED"})
	}
	return part
}
