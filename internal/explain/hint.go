package explain

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/reason"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

// maxHints is how many closed rules get their own hint.
const maxHints = 10

// hints adds, for each rule that keeps the gate closed, what would change that. Each starts with
// prefix.
func (b *builder) hints(ctx context.Context, prefix string) error {
	closed := b.x.Gate.Closed()
	if len(closed) > 0 && b.others == nil && b.def != nil && b.def.Start != nil {
		for _, g := range []*rule.Gate{b.def.Start.Gate, b.def.Gate} {
			other, err := b.live(ctx, b.def, g)
			if err != nil {
				return err
			}
			b.others = append(b.others, other.Leaves...)
		}
	}
	for _, leaf := range closed[:min(len(closed), maxHints)] {
		hint, err := b.hint(ctx, leaf)
		if err != nil {
			return err
		}
		if hint = prefix + hint; !slices.Contains(b.x.Opens, hint) {
			b.opens("hint", strings.ReplaceAll(hint, "%", "%%"))
		}
	}
	if more := len(closed) - maxHints; more > 0 {
		b.opens("more", "and %d more rules", more)
	}
	if g := b.x.Gate; g != nil && g.Live && !g.OpensAt.IsZero() {
		if g.OpensAt.Equal(g.PreferUntil) {
			b.opens("hint", "time: the run starts without the preferred rules %s (validation.preferUntil)", reason.At("at", g.OpensAt))
		} else if len(closed) > 1 {
			b.opens("hint", "time: the gate opens %s if the data does not change until then", reason.At("at", g.OpensAt))
		}
	}
	return nil
}

// hint says what would make a closed rule hold.
func (b *builder) hint(ctx context.Context, leaf Leaf) (string, error) {
	if up, ok := strings.CutPrefix(leaf.Key, "run/"); ok {
		p, err := b.awaited(ctx, pipeline.ID(up))
		return fmt.Sprintf("a COMPLETED run of %s for %s: `interlock explain %s --date %s`", up, p, up, p), err
	}
	return b.reading(leaf), nil
}

// awaited returns the period of the upstream run that the gate needs next: the first inside ours, or
// of those that contain ours, that is not COMPLETED.
func (b *builder) awaited(ctx context.Context, up pipeline.ID) (period.Period, error) {
	def := b.Catalog.Current().Definition(up)
	if def == nil || b.def == nil {
		return b.key.Period, nil
	}
	periods := b.def.Awaited(def, b.key.Period)
	if len(periods) == 1 {
		return periods[0], nil
	}
	var keys []run.Key
	for _, p := range periods {
		keys = append(keys, run.Key{Pipeline: up, Schedule: def.Opens, Period: p})
	}
	runs, err := b.Store.RunsAt(ctx, keys)
	if err != nil {
		return b.key.Period, fmt.Errorf("read runs of %s: %w", up, err)
	}
	for _, key := range keys {
		if runs[key].Status != run.Completed {
			return key.Period, nil
		}
	}
	return b.key.Period, nil
}

// reading says which reading would make a closed rule hold.
func (b *builder) reading(leaf Leaf) string {
	sensor := leaf.Key
	if leaf.From != "" {
		sensor += " of " + leaf.From
	}
	if leaf.Negated && leaf.Check == rule.Exists && leaf.Field == "" {
		command := fmt.Sprintf("interlock sensor delete %s %s", b.owner(leaf.SeenLeaf), leaf.Key)
		if !leaf.Period.IsZero() {
			command += " --date " + leaf.Period.String()
		}
		return fmt.Sprintf("no reading of %s: `%s` [%s]", sensor, command, leaf.Group)
	}
	if leaf.Negated {
		return fmt.Sprintf("a change of %s that makes this rule fail: %s [%s]", sensor, leaf.Reason, leaf.Group)
	}
	if !leaf.PassesAt.IsZero() && !leaf.Negated {
		return fmt.Sprintf("time: %s passes at %s if its data does not change until then", sensor, period.Stamp(leaf.PassesAt))
	}
	if leaf.Over {
		return fmt.Sprintf("readings of %s with %s: %s", sensor, condition(leaf), leaf.Reason)
	}
	text := fmt.Sprintf("%s with %s", sensor, condition(leaf))
	switch leaf.Check {
	case rule.AgeGT:
		if leaf.Outcome == rule.Fail {
			return text + "; only time is needed"
		}
	case rule.Exists:
		text = "a reading of " + sensor
		if leaf.Field != "" {
			text += " that has the field " + leaf.Field
		}
	}
	if p := b.probed(leaf); p != nil {
		text += asked(p)
	} else if command := b.command(leaf); command != "" {
		text += ": `" + command + "`"
	}
	if group, _, grouped := strings.Cut(leaf.Group, " › "); grouped || group != "" {
		text += " [" + leaf.Group + "]"
	}
	return text
}

// condition returns the rule's condition on its field: `status equals "ready"`.
func condition(leaf Leaf) string {
	return rule.Asked{Check: leaf.Check, Field: leaf.Field, Value: leaf.Needs, Time: leaf.Time}.Condition()
}

// command returns a command that writes a reading which satisfies the rule; "" if no single value
// does. A write replaces the whole reading, so the command includes the fields that the other rules
// and the start condition need.
func (b *builder) command(leaf Leaf) string {
	value, ok := example(leaf)
	if !ok {
		return ""
	}
	values, fields := []string{value}, []string{leaf.Field}
	for _, other := range slices.Concat(b.x.Gate.Leaves, b.others) {
		if other.Key != leaf.Key || b.owner(other.SeenLeaf) != b.owner(leaf.SeenLeaf) || slices.Contains(fields, other.Field) || !other.needed() {
			continue
		}
		if value, ok = kept(other); !ok {
			return ""
		}
		values, fields = append(values, value), append(fields, other.Field)
	}
	key := leaf.Key
	if leaf.Version == 0 || !leaf.Period.IsZero() {
		key += "#" + b.key.Period.String()
	}
	return fmt.Sprintf("interlock sensor set %s %s %s", b.owner(leaf.SeenLeaf), key, strings.Join(values, " "))
}

// needed reports whether a reading must have the rule's field: the rule holds on it, or no other
// rule can replace it. The time of the write itself is not a field of the data.
func (leaf Leaf) needed() bool {
	if leaf.Advisory || leaf.Over || leaf.Field == "" || leaf.Field == "updatedAt" {
		return false
	}
	return leaf.Holds && leaf.Value != nil || !leaf.Holds && leaf.Group == ""
}

// kept returns the current field of a rule that holds, or else one that satisfies it.
func kept(leaf Leaf) (string, bool) {
	if leaf.Holds {
		return assignment(leaf.Field, leaf.Value)
	}
	return example(leaf)
}

// example returns a field that satisfies the rule, in the syntax of `interlock sensor set`.
func example(leaf Leaf) (string, bool) {
	field := leaf.Field
	switch leaf.Check {
	case rule.Exists:
		if field == "" {
			field = "ready"
		}
		return assignment(field, true)
	case rule.Equals:
		return assignment(field, leaf.Needs)
	case rule.In:
		if list, ok := leaf.Needs.([]any); ok && len(list) > 0 {
			return assignment(field, list[0])
		}
	case rule.GTE, rule.LTE:
		return assignment(field, leaf.Needs)
	case rule.NotEquals, rule.GT, rule.LT, rule.AgeLT, rule.AgeGT, rule.Matches:
	}
	return "", false
}

// assignment returns field=value for a shell; false if it needs more quoting than marking a number
// as text.
func assignment(field string, value any) (string, bool) {
	text, isText := value.(string)
	if !isText {
		text = sensor.Literal(value)
	}
	if !bare(field) || !bare(text) {
		return "", false
	}
	if isText && json.Valid([]byte(text)) {
		text = `'"` + text + `"'`
	}
	return field + "=" + text, true
}

// bare reports whether a text needs no quoting in a shell.
func bare(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+:/", c)
	})
}
