package explain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/rule"
)

// maxHints is how many closed rules are given a hint of their own.
const maxHints = 10

// hints says, for each rule that keeps the gate closed, what would change that.
func (l *look) hints() {
	closed := l.x.Gate.Closed()
	for _, leaf := range closed[:min(len(closed), maxHints)] {
		if hint := l.hint(leaf); !slices.Contains(l.x.Opens, hint) {
			l.x.Opens = append(l.x.Opens, hint)
		}
	}
	if more := len(closed) - maxHints; more > 0 {
		l.opens("and %d more rules", more)
	}
}

// hint says what would make a closed rule speak for opening.
func (l *look) hint(leaf Leaf) string {
	if up, ok := strings.CutPrefix(leaf.Key, "run/"); ok {
		return fmt.Sprintf("a COMPLETED run of %s: `interlock explain %s --date %s`", up, up, l.key.Period)
	}
	sensor := leaf.Key
	if leaf.From != "" {
		sensor += " of " + leaf.From
	}
	if strings.Contains(" › "+leaf.Group+" › ", " › not › ") {
		return fmt.Sprintf("%s so that this no longer decides: %s", sensor, leaf.Reason)
	}
	text := fmt.Sprintf("%s with %s", sensor, condition(leaf))
	switch leaf.Check {
	case rule.AgeGT:
		return text + "; only time does that"
	case rule.Exists:
		text = "a reading of " + sensor
		if leaf.Field != "" {
			text += " that has the field " + leaf.Field
		}
	}
	if p := l.probed(leaf); p != nil {
		text += asked(p)
	} else if command := l.command(leaf); command != "" {
		text += ": `" + command + "`"
	}
	if group, _, grouped := strings.Cut(leaf.Group, " › "); grouped || group != "" {
		text += " [" + leaf.Group + "]"
	}
	return text
}

// condition is what a rule asks of its field: `status equals "ready"`.
func condition(leaf Leaf) string {
	words := make([]string, 0, 3)
	if leaf.Field != "" {
		words = append(words, leaf.Field)
	}
	words = append(words, string(leaf.Check))
	if leaf.Needs != nil {
		words = append(words, literal(leaf.Needs))
	}
	return strings.Join(words, " ")
}

// command is what a person could type to write a reading that satisfies the rule; "" where no one value does.
func (l *look) command(leaf Leaf) string {
	value, ok := example(leaf)
	if !ok {
		return ""
	}
	key := leaf.Key
	if leaf.Version == 0 || !leaf.Period.IsZero() {
		key += "#" + l.key.Period.String()
	}
	return fmt.Sprintf("interlock sensor set %s %s %s", l.owner(leaf.SeenLeaf), key, value)
}

// example is a field that satisfies the rule, as `interlock sensor set` takes it.
func example(leaf Leaf) (string, bool) {
	field := leaf.Field
	switch leaf.Check {
	case rule.Exists:
		if field == "" {
			field = "ready"
		}
		return field + "=true", true
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

// assignment is field=value for a shell, where the value needs no quoting.
func assignment(field string, value any) (string, bool) {
	text, isText := value.(string)
	if !isText {
		text = literal(value)
	}
	if text == "" || strings.ContainsFunc(text, func(c rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+:/", c)
	}) {
		return "", false
	}
	return field + "=" + text, true
}

// literal shows a value as JSON writes it.
func literal(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
