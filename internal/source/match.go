package source

import (
	"fmt"
	"strings"

	"github.com/interlock-go/interlock/internal/sensor"
)

// lookup finds the values at paths of one event, evaluating each path once.
type lookup struct {
	event map[string]any
	found map[string][]any
}

func newLookup(event map[string]any) *lookup {
	return &lookup{event: event, found: make(map[string][]any, 4)}
}

func (l *lookup) at(p *path) []any {
	values, known := l.found[p.name]
	if !known {
		values = p.find(l.event)
		l.found[p.name] = values
	}
	return values
}

// matches reports whether an event meets all conditions, and returns the values of their groups.
func (d *Definition) matches(l *lookup) (groups map[string]string, ok bool) {
	for i := range d.conditions {
		if groups, ok = d.conditions[i].holds(l, groups); !ok {
			return nil, false
		}
	}
	return groups, true
}

// holds reports whether one of the values at the path meets the condition, and adds its groups.
func (c *condition) holds(l *lookup, groups map[string]string) (map[string]string, bool) {
	values := l.at(&c.path)
	switch {
	case c.absent:
		return groups, len(values) == 0
	case c.values == nil && c.matches == nil:
		return groups, len(values) > 0
	}
	for _, v := range values {
		if c.matches != nil {
			if found := c.match(v); found != nil {
				return c.add(groups, found), true
			}
			continue
		}
		for _, want := range c.values {
			if same(v, want) {
				return groups, true
			}
		}
	}
	return groups, false
}

// match returns the submatches of a scalar; nil if it does not match.
func (c *condition) match(v any) []string {
	text, isText := v.(string)
	if !isText {
		switch v.(type) {
		case bool, int64, float64:
			text = sensor.Literal(v)
		default:
			return nil
		}
	}
	if !strings.HasPrefix(text, c.prefix) {
		return nil
	}
	return c.matches.FindStringSubmatch(text)
}

func (c *condition) add(groups map[string]string, found []string) map[string]string {
	for i, name := range c.groups {
		if name == "" {
			continue
		}
		if groups == nil {
			groups = map[string]string{}
		}
		groups[name] = found[i]
	}
	return groups
}

// same compares scalars: numbers by value, everything else by type and value.
func same(a, b any) bool {
	switch a := a.(type) {
	case string, bool:
		return a == b
	case int64, float64:
		switch b.(type) {
		case int64, float64:
			return sensor.SameData(sensor.Fields{"": a}, sensor.Fields{"": b})
		}
	}
	return false
}

// Checked is the result of one condition.
type Checked struct {
	Path   string `json:"path"`
	Holds  bool   `json:"holds"`
	Reason string `json:"reason"` // what was found, and what is wanted
}

// Conditions checks each condition separately, to show which of them keeps an event from matching.
func (d *Definition) Conditions(event map[string]any) []Checked {
	l, out := newLookup(event), make([]Checked, 0, len(d.conditions))
	for i := range d.conditions {
		c := &d.conditions[i]
		_, holds := c.holds(l, nil)
		found := "there is no value"
		if values := l.at(&c.path); len(values) == 1 {
			found = fmt.Sprintf("%.200s", sensor.Literal(values[0]))
		} else if len(values) > 1 {
			found = fmt.Sprintf("%.200s (%d values)", sensor.Literal(values), len(values))
		}
		out = append(out, Checked{Path: c.text, Holds: holds, Reason: found + "; wanted: " + c.wanted()})
	}
	return out
}

// wanted describes what the condition requires.
func (c *condition) wanted() string {
	switch {
	case c.absent:
		return "no value"
	case c.matches != nil:
		return "matches " + c.matches.String()
	case len(c.values) == 1:
		return sensor.Literal(c.values[0])
	case c.values != nil:
		return "one of " + sensor.Literal(c.values)
	}
	return "any value"
}

// Check returns an error that names the field if an event is not of that format.
func Check(f Format, event map[string]any) error {
	switch f {
	case CloudEvents:
		return CheckCloudEvent(event)
	case OpenLineage:
		return CheckLineage(event)
	case JSON:
	}
	return nil
}
