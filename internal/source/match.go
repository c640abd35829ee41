package source

import (
	"fmt"
	"strings"

	"github.com/interlock-go/interlock/internal/sensor"
)

// lookup finds the values at paths of one message, and of one element of it, evaluating each path
// once.
type lookup struct {
	message   any
	found     map[string]answer
	element   any
	inElement map[string]answer // in the element; nil if the message is not split
}

// answer is what a path finds.
type answer struct {
	values []any
	fault  error
}

func newLookup(message map[string]any) *lookup {
	return &lookup{message: message, found: make(map[string]answer, 4)}
}

// in returns a lookup for an element of the message.
func (l *lookup) in(element any) *lookup {
	return &lookup{message: l.message, found: l.found, element: element, inElement: make(map[string]answer, 4)}
}

// at returns the values at a path. The error says why some of them cannot be decoded.
func (l *lookup) at(p *path) ([]any, error) {
	root, found := l.message, l.found
	if p.element {
		root, found = l.element, l.inElement
	}
	a, known := found[p.name]
	if !known {
		a.values, a.fault = p.find(root)
		found[p.name] = a
	}
	return a.values, a.fault
}

// matches reports whether an event meets all conditions, and returns the values of their groups. An
// event that may meet them, because a value cannot be decoded, is an error.
func (d *Definition) matches(l *lookup) (groups map[string]string, ok bool, err error) {
	for i := range d.conditions {
		holds, err2 := false, error(nil)
		if groups, holds, err2 = d.conditions[i].holds(l, groups); err2 != nil && err == nil {
			err = fmt.Errorf("match[%d]: %w", i, err2)
		}
		if !holds && err2 == nil {
			return nil, false, nil
		}
	}
	return groups, err == nil, err
}

// excludes reports whether a condition on the whole message does not hold.
func (d *Definition) excludes(l *lookup) bool {
	for i := range d.conditions {
		c := &d.conditions[i]
		if c.path.element {
			continue
		}
		if _, holds, err := c.holds(l, nil); !holds && err == nil {
			return true
		}
	}
	return false
}

// holds reports whether one of the values at the path meets the condition, and adds its groups. An
// error means that a value that cannot be decoded might meet it.
func (c *condition) holds(l *lookup, groups map[string]string) (map[string]string, bool, error) {
	values, err := l.at(&c.path)
	switch {
	case c.absent:
		return groups, len(values) == 0 && err == nil, err
	case c.values == nil && c.matches == nil:
		return groups, len(values) > 0, unless(len(values) > 0, err)
	}
	for _, v := range values {
		if c.matches != nil {
			if found := c.match(v); found != nil {
				return c.add(groups, found), true, nil
			}
			continue
		}
		for _, want := range c.values {
			if same(v, want) {
				return groups, true, nil
			}
		}
	}
	return groups, false, err
}

// unless returns err if not.
func unless(not bool, err error) error {
	if not {
		return nil
	}
	return err
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
	Element *int   `json:"element"` // the index of the element of each; nil if the message is not split
	Path    string `json:"path"`
	Holds   bool   `json:"holds"`
	Reason  string `json:"reason"` // what was found, and what is wanted
}

// Conditions checks each condition separately, to show which of them keeps an event, or an element
// of it, from matching.
func (d *Definition) Conditions(event map[string]any) []Checked {
	l, out := newLookup(event), make([]Checked, 0, len(d.conditions))
	if len(d.each) == 0 {
		return d.checked(l, nil, out)
	}
	elements, _, _ := d.split(event)
	for i, e := range elements {
		out = d.checked(l.in(e), &i, out)
	}
	return out
}

// checked adds the result of each condition.
func (d *Definition) checked(l *lookup, element *int, out []Checked) []Checked {
	for i := range d.conditions {
		c := &d.conditions[i]
		_, holds, _ := c.holds(l, nil)
		found := "there is no value"
		switch values, err := l.at(&c.path); {
		case err != nil:
			found = err.Error()
		case len(values) == 1:
			found = fmt.Sprintf("%.200s", sensor.Literal(values[0]))
		case len(values) > 1:
			found = fmt.Sprintf("%.200s (%d values)", sensor.Literal(values), len(values))
		}
		out = append(out, Checked{Element: element, Path: c.text, Holds: holds, Reason: found + "; wanted: " + c.wanted()})
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
