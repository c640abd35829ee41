package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/rule"
)

// findings lists what is wrong with an archetype regardless of a pipeline's parameters: everything
// except the texts that take a parameter, of which only the parameters' names can be checked.
func (a *archetypeFile) findings() []document.Finding {
	var probes []ProbeSection
	part := a.part("probes", a.Probes)
	if part.decode(&probes) {
		for i, p := range probes {
			_, wrong := resolveProbe(p)
			part.add(document.Under(fmt.Sprintf("[%d]", i), wrong))
		}
	}
	found := part.found
	var rules []rule.Rule
	part = a.part("rules", a.Rules)
	if part.decode(&rules) {
		part.add(rule.Findings(rules))
	}
	found = append(found, part.found...)
	found = append(found, traitFindings("requiredTraits", a.RequiredTraits)...)
	return append(found, traitFindings("optionalTraits", a.OptionalTraits)...)
}

// traitFindings lists what is wrong with the traits of an archetype regardless of the pipeline.
// Only the pipeline shows whether a builtin evaluator lacks settings, or whether there is no
// evaluator.
func traitFindings(path string, traits []traitDefault) []document.Finding {
	names := map[string]string{"key": "type", "config": "defaultConfig", "command": "defaultEvaluator", "url": "defaultEvaluator", "builtin": "defaultEvaluator"}
	var found []document.Finding
	for i, t := range traits {
		section := t.section(traitSection{})
		if t.Evaluator == nil || slices.Contains(builtins, string(section.Builtin)) {
			section.Builtin, section.Command = "", &document.TextOrList{Values: []string{"x"}}
		}
		_, wrong := resolveProbe(section)
		found = append(found, document.Under(fmt.Sprintf("%s[%d]", path, i), renamed(wrong, names))...)
	}
	return found
}

// archetypePart is a part of an archetype's file with sample values for its parameters.
type archetypePart struct {
	path  string
	node  document.Node
	holes []string // where it takes parameters: only the pipeline's value shows what is wrong there
	found []document.Finding
}

func (a *archetypeFile) part(path string, node document.Node) *archetypePart {
	values := map[string]any{}
	for name, p := range a.Parameters {
		values[name] = p.sample()
	}
	_, holes := node.Expand(func(text string) (any, error) {
		if strings.Contains(text, openParameter) {
			return nil, errors.New("needs a parameter")
		}
		return text, nil
	})
	p := &archetypePart{path: path}
	for _, hole := range holes {
		p.holes = append(p.holes, hole.Path)
	}
	var unknown []document.Finding
	p.node, unknown = node.Expand(func(text string) (any, error) { return substitute(text, values) })
	p.found = document.Under(path, unknown)
	return p
}

// decode decodes the part, if it exists, and reports whether it had no errors.
func (p *archetypePart) decode(into any) bool {
	if p.node.Kind() != document.Null {
		p.add(p.node.Decode(into))
	}
	return !document.HasErrors(p.found)
}

// add keeps the findings that are not about a parameter's value.
func (p *archetypePart) add(findings []document.Finding) {
	for _, f := range findings {
		if !slices.ContainsFunc(p.holes, func(hole string) bool { return document.Within(f.Path, hole) }) {
			p.found = append(p.found, document.Under(p.path, []document.Finding{f})...)
		}
	}
}
