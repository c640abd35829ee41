package source

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/sensor"
)

// template is text with references to groups: ${name}; `\${` is a literal.
type template string

// names lists the groups that the template refers to.
func (t template) names() (names []string, err error) {
	_, err = document.Fill(string(t), func(name string) (string, error) {
		names = append(names, name)
		return "", nil
	})
	return names, err
}

// findings reports names that are not in groups.
func (t template) findings(groups []string) []document.Finding {
	var findings []document.Finding
	names, err := t.names()
	for _, name := range names {
		if !slices.Contains(groups, name) {
			findings = append(findings, document.Finding{Message: unknownGroup(name, groups)})
		}
	}
	if err != nil {
		findings = append(findings, document.Finding{Message: err.Error()})
	}
	return findings
}

func unknownGroup(name string, groups []string) string {
	if near, ok := document.Suggest(name, groups); ok {
		return fmt.Sprintf("unknown variable ${%s}; did you mean ${%s}?", name, near)
	}
	if len(groups) == 0 {
		return fmt.Sprintf("unknown variable ${%s}: no condition under match has a named group; write matches: '(?P<%s>…)', or \\${%s} for a literal one", name, name, name)
	}
	return fmt.Sprintf("unknown variable ${%s}; the named groups under match are %s", name, strings.Join(groups, ", "))
}

// constant returns the text of a template without groups.
func (t template) constant() (string, bool) {
	if names, err := t.names(); err != nil || len(names) > 0 {
		return "", false
	}
	return t.fill(nil), true
}

// fill inserts the values of groups.
func (t template) fill(groups map[string]string) string {
	text, _ := document.Fill(string(t), func(name string) (string, error) { return groups[name], nil }) // loading has rejected mistakes
	return text
}

// uses reports whether the template refers to a group.
func (t template) uses(group string) bool {
	names, _ := t.names()
	return slices.Contains(names, group)
}

// text is a template, or a path whose only value is the text.
type text struct {
	template template
	path     *path
}

func (t text) empty() bool { return t.path == nil && t.template == "" }

// name identifies the text in its file.
func (t text) name() string {
	if t.path != nil {
		return t.path.name
	}
	return string(t.template)
}

// constant returns the text if it is the same for every event.
func (t text) constant() (string, bool) {
	if t.path != nil {
		return "", false
	}
	return t.template.constant()
}

// read returns the text for an event, or why there is none.
func (t text) read(l *lookup, groups map[string]string) (string, error) {
	if t.path == nil {
		return t.template.fill(groups), nil
	}
	values, err := l.at(t.path)
	switch {
	case err != nil:
		return "", err
	case len(values) == 0:
		return "", fmt.Errorf("%s finds nothing", t.path.query)
	case len(values) > 1:
		return "", fmt.Errorf("%s finds %d values; make the path match exactly one", t.path.query, len(values))
	}
	switch v := values[0].(type) {
	case string:
		return v, nil
	case int64, float64, bool:
		return sensor.Literal(v), nil
	}
	return "", fmt.Errorf("%s finds %.80s, which is not text", t.path.query, sensor.Literal(values[0]))
}
