package explain

import (
	"maps"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/sensor"
)

// pushes adds, for each rule that keeps the gate closed, the reading that would satisfy it, if it is
// true. There is none for what the engine or a probe writes, for a rule that only time or several
// readings satisfy, nor where no value is known to satisfy it.
func (b *builder) pushes() {
	g := b.x.Gate
	if g == nil || !g.Live {
		return
	}
	for _, leaf := range g.Closed() {
		owner, key := b.owner(leaf.SeenLeaf), sensor.Key(leaf.Key)
		known := slices.ContainsFunc(b.x.Actions, func(a Action) bool { return a.Kind == ActPush && a.Pipeline == owner && a.Key == key })
		if known || key.Engine() || b.probed(leaf) != nil || b.Catalog.Current().Get(owner) == nil {
			continue
		}
		fields, asked, ok := b.satisfying(leaf)
		if !ok {
			continue
		}
		a := b.act(ActPush, "Push it only if it is true: %s.", sensorName(leaf.SeenLeaf)+" with "+strings.Join(asked, ", "))
		a.Pipeline, a.Key, a.Fields = owner, key, fields
		if leaf.Version == 0 || !leaf.Period.IsZero() {
			a.Period = b.key.Period
		}
	}
}

// satisfying returns a reading that satisfies a closed rule, and what the rules ask of it. A write
// replaces the whole reading, so it also has what the other rules on the same sensor need. It
// returns false if the rules ask for different values of one field.
func (b *builder) satisfying(closed Leaf) (sensor.Fields, []string, bool) {
	values, asked := map[string]any{}, []string{}
	for _, leaf := range b.x.Gate.Leaves {
		if leaf.Key != closed.Key || b.owner(leaf.SeenLeaf) != b.owner(closed.SeenLeaf) || leaf.Advisory || leaf.Moot {
			continue
		}
		value, ok := leaf.Value, true
		if !leaf.Holds {
			value, ok = b.satisfies(leaf)
			asked = append(asked, requirement(leaf))
		}
		if !ok {
			return nil, nil, false
		}
		if leaf.Field == "" || leaf.Field == "updatedAt" || value == nil {
			continue
		}
		if before, there := values[leaf.Field]; there && before != value {
			return nil, nil, false
		}
		values[leaf.Field] = value
	}
	fields := sensor.Fields{}
	for _, path := range slices.Sorted(maps.Keys(values)) {
		setField(fields, path, values[path])
	}
	if len(fields) == 0 {
		fields["status"] = "ready"
	}
	return fields, asked, true
}

// requirement returns the rule's condition, negated inside a "not".
func requirement(leaf Leaf) string {
	if leaf.Negated {
		return "not (" + condition(leaf) + ")"
	}
	return condition(leaf)
}

// setField sets a field by its dotted path.
func setField(fields map[string]any, path string, value any) {
	name, rest, dotted := strings.Cut(path, ".")
	if !dotted {
		fields[name] = value
		return
	}
	inner, ok := fields[name].(map[string]any)
	if !ok {
		inner = map[string]any{}
		fields[name] = inner
	}
	setField(inner, rest, value)
}

// satisfies returns a value of the rule's field that satisfies the rule. It returns false if no
// single reading does, or no such value is known; nil means that the reading alone is enough.
func (b *builder) satisfies(leaf Leaf) (any, bool) {
	if leaf.Over || !leaf.PassesAt.IsZero() {
		return nil, false
	}
	switch leaf.Check {
	case rule.Exists:
		return true, !leaf.Negated
	case rule.AgeLT:
		return period.Stamp(b.now), !leaf.Negated
	case rule.Equals, rule.NotEquals:
		if (leaf.Check == rule.Equals) != leaf.Negated {
			return leaf.Needs, leaf.Needs != nil
		}
		if flag, is := leaf.Needs.(bool); is {
			return !flag, true
		}
		return shifted(leaf.Needs, 1)
	case rule.In:
		if list, ok := leaf.Needs.([]any); ok && len(list) > 0 && !leaf.Negated {
			return list[0], true
		}
	case rule.GTE, rule.LTE:
		by := map[rule.Check]int64{rule.GTE: -1, rule.LTE: 1}[leaf.Check]
		if !leaf.Negated {
			by = 0
		}
		return shifted(leaf.Needs, by)
	case rule.GT, rule.LT:
		by := map[rule.Check]int64{rule.GT: 1, rule.LT: -1}[leaf.Check]
		if leaf.Negated {
			by = 0
		}
		return shifted(leaf.Needs, by)
	case rule.AgeGT, rule.Matches:
	}
	return nil, false
}

// shifted returns a number plus by; false if it is no number.
func shifted(needs any, by int64) (any, bool) {
	switch n := needs.(type) {
	case int:
		return int64(n) + by, true
	case int64:
		return n + by, true
	case float64:
		return n + float64(by), true
	}
	return nil, false
}
