package pipeline

import (
	"fmt"
	"slices"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/rule"
)

// checkTimes checks the time conditions of rules against the pipeline's schedule, and reports
// whether they can be compiled.
func (b *builder) checkTimes(v *ValidationSection) bool {
	fine := true
	for path, leaf := range rule.Leaves(v.Rules) {
		if leaf.Over != nil {
			fine = b.checkOver("validation.rules"+path+".over", leaf.Over) && fine
		}
	}
	preferred := slices.IndexFunc(v.Rules, func(r rule.Rule) bool { return r.Level == rule.Preferred })
	switch {
	case preferred >= 0 && b.def.Prefer == nil:
		b.errorf(fmt.Sprintf("validation.rules[%d].level", preferred),
			"is preferred, but validation.preferUntil is missing, which says how long the rule closes the gate; add it, like preferUntil: \"09:00\" or preferUntil: 45m")
		return false
	case preferred < 0 && b.def.Prefer != nil:
		b.warnf("validation.preferUntil", "has no effect, because no rule has level: preferred; add the level, or remove it")
	case b.def.Prefer != nil:
		b.warnAboutPreference()
	}
	return fine
}

// warnAboutPreference warns of rules that are preferred beyond the end of the window.
func (b *builder) warnAboutPreference() {
	for _, p := range b.sampled() {
		opens := b.def.Schedule.OpensFrom(p)
		if until := b.def.PreferUntil(p, opens); until.Sub(opens) >= b.def.Window {
			b.warnf("validation.preferUntil", "is %s after a run opens, but its window ends after %s, so no run can start without the preferred rules; lengthen schedule.evaluation.window",
				document.Duration(until.Sub(opens)), document.Duration(b.def.Window))
			return
		}
	}
}

// perSlice is the maximum number of periods of a size in each larger one.
var perSlice = map[period.Size]map[period.Size]int{
	period.Hour:    {period.Minute: 60},
	period.Day:     {period.Hour: 25, period.Minute: 1500},
	period.Week:    {period.Day: 7, period.Hour: 169, period.Minute: 10140},
	period.Month:   {period.Week: 5, period.Day: 31, period.Hour: 745, period.Minute: 44700},
	period.Quarter: {period.Month: 3, period.Week: 14, period.Day: 92, period.Hour: 2209, period.Minute: 132540},
}

// maxSlices is the maximum number of periods a rule is evaluated for.
const maxSlices = 1500

func (b *builder) checkOver(path string, o *rule.Over) bool {
	slice, err := period.ParseSize(o.Slices)
	if err != nil {
		return true // another form, or already reported
	}
	size := b.def.Schedule.Size()
	most := perSlice[size][slice]
	switch {
	case slice >= size:
		b.clashf(path+".slices", b.sizePath(), "a %s contains no %ss; use smaller slices, or {last: 7, of: %s}", size, slice, slice)
	case most > maxSlices:
		b.clashf(path+".slices", b.sizePath(), "a %s has up to %d %ss, but at most %d are allowed; use larger slices", size, most, slice, maxSlices)
	case o.AtLeast > most:
		b.clashf(path+".atLeast", b.sizePath(), "is %d, but a %s has at most %d %ss", o.AtLeast, size, most, slice)
	default:
		return true
	}
	return false
}

// checkCounts warns of atLeast if an upstream has only one run for the period.
func (g *graph) checkCounts(e *entry) {
	if e.def == nil {
		return
	}
	for i, id := range e.def.After {
		least := e.def.AtLeast[id]
		if least == 0 || g.missing(id) || g.byID[id][0].def == nil {
			continue
		}
		size, own := g.byID[id][0].def.Schedule.Size(), e.def.Schedule.Size()
		if size >= own {
			e.report(document.Finding{Path: fmt.Sprintf("schedule.after[%d]", i), Severity: document.Warning, Message: fmt.Sprintf(
				"atLeast: %d has no effect: %s runs for each %s, so there is one run of it for a %s; write %s alone", least, id, size, own, id)})
		} else if most := perSlice[own][size]; least > most {
			e.report(document.Finding{Path: fmt.Sprintf("schedule.after[%d]", i), Severity: document.Warning, Message: fmt.Sprintf(
				"atLeast: %d cannot be reached: a %s has at most %d %ss", least, own, most, size)})
		}
	}
}
