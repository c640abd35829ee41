package source

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
)

// template is text with references to groups.
type template []part

// part is plain text, or a group's name.
type part struct{ text, group string }

// parseTemplate parses ${name}; `\${` is a literal. It reports names that are not in groups.
func parseTemplate(text string, groups []string) (template, []document.Finding) {
	var t template
	var findings []document.Finding
	for text != "" {
		before, after, found := strings.Cut(text, "${")
		if literal, escaped := strings.CutSuffix(before, `\`); found && escaped {
			t = append(t, part{text: literal + "${"})
			text = after
			continue
		}
		if before != "" {
			t = append(t, part{text: before})
		}
		if !found {
			break
		}
		name, rest, closed := strings.Cut(after, "}")
		if !closed {
			return t, append(findings, document.Finding{Message: `"${" is not closed by "}"; write \${ for a literal one`})
		}
		if !slices.Contains(groups, name) {
			findings = append(findings, document.Finding{Message: unknownGroup(name, groups)})
		}
		t = append(t, part{group: name})
		text = rest
	}
	return t, findings
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
	if slices.ContainsFunc(t, func(p part) bool { return p.group != "" }) {
		return "", false
	}
	return t.fill(nil), true
}

// fill inserts the values of groups.
func (t template) fill(groups map[string]string) string {
	if len(t) == 1 && t[0].group != "" {
		return groups[t[0].group]
	}
	var b strings.Builder
	for _, p := range t {
		b.WriteString(p.text)
		b.WriteString(groups[p.group])
	}
	return b.String()
}

// uses reports whether the template refers to a group.
func (t template) uses(group string) bool {
	return slices.ContainsFunc(t, func(p part) bool { return p.group == group })
}
