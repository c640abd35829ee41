package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
)

// write prints one line per rule, whether the gate is open, and notes.
func (e *evaluation) write(a *app) {
	var start *client.Rule
	if e.answer.Start != nil && e.def.Opens != pipeline.ByCron { // under cron the start condition is one of the rules
		start = new(leafRule(*e.answer.Start))
	}
	a.writeRules(start, leafRules(e.answer.Verdict.Leaves))
	fmt.Fprintf(a.stdout, "gate: %s (%s) for period %s at %s\n", a.openWord(e.open()), e.why(), e.period, period.Stamp(e.at))
	for _, note := range e.notes() {
		fmt.Fprintf(a.stdout, "note: %s\n", printable(note))
	}
}

// The maximum widths of a condition and a value. JSON output has both in full.
const (
	conditionCells = 48
	valueCells     = 32
)

// leafRule converts a rule's result to the API's form.
func leafRule(leaf rule.Leaf) client.Rule {
	r := reportOn(leaf)
	return client.Rule{
		Key: r.Key, Check: string(r.Check), Field: r.Field, Needs: r.Needs, From: r.From, Level: string(r.Level), Time: r.Time, Group: r.Group,
		EffectiveOutcome: r.EffectiveOutcome.String(), Value: r.Value, Reason: r.Reason,
	}
}

func leafRules(leaves []rule.Leaf) []client.Rule {
	var rules []client.Rule
	for _, leaf := range leaves {
		rules = append(rules, leafRule(leaf))
	}
	return rules
}

// outcomeMark marks whether a rule lets the gate open.
func outcomeMark(o rule.Outcome, advisory bool, s style) cell {
	c := cell{"?", s.yellow}
	switch o {
	case rule.Pass:
		c = cell{"✓", s.green}
	case rule.Fail:
		c = cell{"✗", s.red}
	case rule.Unknown:
	}
	if advisory {
		c.paint = s.dim
	}
	return c
}

// why says what keeps the gate closed, or sums up the rules that are not advisory.
func (e *evaluation) why() string {
	v := e.answer.Verdict
	if v.Outcome == rule.Pass && !e.open() {
		return printable(e.unmet[0].Reason.String())
	}
	var n [rule.Pass + 1]int
	total := 0
	for _, leaf := range v.Leaves {
		if !leaf.Advisory {
			n[leaf.Effective()]++
			total++
		}
	}
	switch {
	case total == 0:
		return "there are no rules"
	case len(e.answer.Degraded) > 0:
		return "degraded: without " + plural(len(e.answer.Degraded), "preferred rule")
	case v.Outcome == rule.Pass && n[rule.Pass] == total && total == 1:
		return "its rule passes"
	case v.Outcome == rule.Pass && n[rule.Pass] == total:
		return fmt.Sprintf("all %d rules pass", total)
	case v.Outcome == rule.Pass:
		return fmt.Sprintf("%d of %d rules pass, which is enough", n[rule.Pass], total)
	}
	var parts []string
	words := [...]string{rule.Fail: "failed", rule.Unknown: "unknown", rule.Pass: "passed"}
	for _, o := range []rule.Outcome{rule.Fail, rule.Unknown, rule.Pass} {
		if n[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[o], words[o]))
		}
	}
	return fmt.Sprintf("%s: %s", plural(total, "rule"), strings.Join(parts, ", "))
}

func (e *evaluation) notes() []string {
	var notes []string
	if reason := e.def.Schedule.Excluded(e.period); reason != "" {
		notes = append(notes, fmt.Sprintf("the calendar excludes %s (%s), so nothing starts for it", e.period, reason))
	}
	if len(e.def.After) > 0 {
		ids := make([]string, len(e.def.After))
		for i, id := range e.def.After {
			ids[i] = string(id)
		}
		notes = append(notes, fmt.Sprintf("not evaluated offline: %s must also be COMPLETED for %s", strings.Join(ids, " and "), e.period))
	}
	if until := e.answer.PreferUntil; until.After(e.at) {
		notes = append(notes, fmt.Sprintf("preferred rules close the gate until %s (validation.preferUntil)", period.Stamp(until)))
	}
	for _, missing := range e.answer.Degraded {
		notes = append(notes, "degraded: open without "+printable(missing))
	}
	if at := e.answer.OpensAt; !at.IsZero() {
		notes = append(notes, fmt.Sprintf("the gate opens at %s if the facts do not change", period.Stamp(at)))
	}
	if slices.ContainsFunc(e.answer.Verdict.Leaves, func(l rule.Leaf) bool { return !l.PassesAt.IsZero() }) {
		notes = append(notes, "the facts count as written at --at; for rules with settled, set their age with --age")
	}
	return append(notes, e.unreadNotes()...)
}

func (e *evaluation) unreadNotes() []string {
	var known []string
	for _, ref := range e.def.Facts.Refs() {
		known = append(known, sensorName{ref.From, ref.Key}.String())
	}
	var notes []string
	for _, name := range e.unread() {
		notes = append(notes, fmt.Sprintf("no rule reads the sensor %q%s", name, document.DidYouMean(name.String(), known)))
	}
	slices.Sort(notes)
	return notes
}
