package pipeline

import (
	"fmt"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/rule"
)

// warnAboutStatuses warns of rules that yesterday's reading would still pass: a status compared by value, with no
// age rule on the same sensor beside it. A dated reading is safe, but whether one is dated shows only at run time.
// The start condition's own sensor is left out: an undated reading counts there only for the slice it was written in.
func (b *builder) warnAboutStatuses() {
	v := b.file.Validation
	if v == nil {
		return
	}
	type sensorName struct{ from, key string }
	aged := map[sensorName]bool{}
	for _, leaf := range rule.Leaves(v.Rules) {
		if leaf.Check == rule.AgeLT {
			aged[sensorName{leaf.From, leaf.Key}] = true
		}
	}
	for _, p := range b.def.Probes {
		aged[sensorName{"", p.Key}] = true // it dates its readings, and they expire
	}
	if s := b.def.Start; s != nil {
		aged[sensorName{s.Rule.From, s.Rule.Key}] = true
	}
	for path, leaf := range rule.Leaves(v.Rules) {
		name := sensorName{leaf.From, leaf.Key}
		if !comparesStatus(leaf) || aged[name] {
			continue
		}
		aged[name] = true // one warning per sensor
		b.add(document.Finding{Path: "validation.rules" + path, Severity: document.Warning, Message: fmt.Sprintf(
			"a reading of %q without a date stays true for ever; date the readings, or add a rule {key: %s, check: age_lt, field: updatedAt, value: …} beside it", leaf.Key, leaf.Key)})
	}
}

// warnAboutUnasked warns of a start condition that nothing ever answers: without cron no gate asks for it, and a probe
// without an interval only answers one that does.
func (b *builder) warnAboutUnasked() {
	start := b.def.Start
	if start == nil || b.def.Opens == ByCron || start.Rule.From != "" {
		return
	}
	for _, p := range b.def.Probes {
		if p.Key == start.Rule.Key && p.Interval == 0 {
			b.warnf("schedule.trigger.key", "the probe %q answers only when a gate asks, and no gate does before the run opens; give it an interval", p.Key)
		}
	}
}

// comparesStatus says whether r passes on what a reading says rather than on how much or how old.
func comparesStatus(r rule.Rule) bool {
	if r.Level == rule.Advisory {
		return false
	}
	switch r.Check {
	case rule.Equals, rule.In, rule.Matches:
		return true
	default:
		return false
	}
}
