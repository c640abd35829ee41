package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/rule"
)

// archetypeFile is a named template of probes and rules, as written. Texts of its probes and rules
// may contain ${with.NAME}; a text that is nothing else takes the parameter's value with its type.
type archetypeFile struct {
	Name           string               `yaml:"name" required:"true" doc:"The name that pipelines refer to."`
	Description    string               `yaml:"description" doc:"A description for people."`
	Parameters     map[string]parameter `yaml:"parameters" doc:"The parameters that a pipeline sets under with."`
	Probes         document.Node        `yaml:"probes" doc:"Evaluators, as in a pipeline file."`
	Rules          document.Node        `yaml:"rules" doc:"Rules, all of which must pass, as in a pipeline file."`
	RequiredTraits []traitDefault       `yaml:"requiredTraits" doc:"The older form: traits that must pass."`
	OptionalTraits []traitDefault       `yaml:"optionalTraits" doc:"The older form: traits that are shown but need not pass."`
	ReadinessRule  *readiness           `yaml:"readinessRule" doc:"The older form: how many required traits must pass."`
}

// archetype is an archetype that was read.
type archetype struct {
	file   archetypeFile
	doc    *document.Document
	source Source
}

func (a *archetype) name() string { return a.file.Name }

// at returns its name and the position of a path in its file.
func (a *archetype) at(path string) string {
	line, column := a.doc.Position(path)
	return fmt.Sprintf("archetype %q, at %s:%d:%d", a.file.Name, a.source.File, line, column)
}

func readArchetype(src Source) (*archetype, []document.Problem) {
	doc, problems := src.Parse()
	a := &archetype{doc: doc, source: src}
	if doc == nil {
		return a, problems
	}
	problems = append(problems, doc.Decode(&a.file)...)
	for _, name := range slices.Sorted(maps.Keys(a.file.Parameters)) {
		problems = append(problems, doc.Resolve(document.Under(document.KeyPath("parameters", name), a.file.Parameters[name].findings())...)...)
	}
	if !document.Failed(problems) {
		problems = append(problems, doc.Resolve(a.file.findings()...)...)
	}
	return a, problems
}

// additions is what the archetype, traits and probes add to a pipeline's gate.
type additions struct {
	rules  []rule.Rule
	failed bool
}

// buildAdditions resolves probes, the archetype and the older traits.
func (b *builder) buildAdditions() additions {
	var a additions
	b.addProbes()
	var arch *archetype
	switch name := b.file.Archetype; {
	case name != "":
		var ok bool
		if arch, ok = b.shelf.archetypes.byName[name]; !ok {
			b.errorf("archetype", "%s", b.shelf.archetypes.missing(name))
			return additions{failed: true}
		}
		b.def.Archetypes = withSource(b.def.Archetypes, arch.source)
		b.fill(arch, &a)
	case len(b.file.With) > 0:
		b.clashf("with", "archetype", "parameters need an archetype; add archetype: NAME")
	}
	b.addTraits(arch, &a)
	return a
}

// fill adds the archetype's probes and rules with this pipeline's parameters filled in.
func (b *builder) fill(arch *archetype, a *additions) {
	values, ok := b.parameters(arch)
	if !ok {
		a.failed = true
		return
	}
	replace := func(text string) (any, error) { return substitute(text, values) }
	var probes []ProbeSection
	if nodes, fine := b.expand(arch, "probes", arch.file.Probes, replace, &probes); fine && nodes {
		keepWords(probes, arch.file.Probes, values)
		b.addProbesOf(arch, probes)
	}
	var rules []rule.Rule
	_, fine := b.expand(arch, "rules", arch.file.Rules, replace, &rules)
	if fine {
		findings := document.Under("rules", rule.Findings(rules))
		b.blame(arch, findings)
		fine = !document.HasErrors(findings)
	}
	a.rules = append(a.rules, rules...)
	a.failed = a.failed || !fine
}

// keepWords splits commands written as one text before parameters are filled in, so that a value
// containing a space stays one word. If the text is just one parameter, its value is the whole
// command.
func keepWords(probes []ProbeSection, as document.Node, values map[string]any) {
	for i, item := range as.Items() {
		command, _ := item.Get("command")
		if command.Kind() != document.String || strings.HasPrefix(command.Text(), openParameter) && strings.Index(command.Text(), "}") == len(command.Text())-1 {
			continue
		}
		words, err := document.TextOrList{IsText: true, Values: []string{command.Text()}}.Words()
		for j := range words {
			var value any
			if value, err = substitute(words[j], values); err != nil {
				break
			}
			words[j] = written(value)
		}
		if err == nil { // otherwise the error of the whole text is reported
			probes[i].Command = &document.TextOrList{Values: words}
		}
	}
}

// expand decodes a part of the archetype with parameters filled in. there reports whether the part
// exists.
func (b *builder) expand(arch *archetype, path string, part document.Node, replace func(string) (any, error), into any) (there, fine bool) {
	if part.Kind() == document.Null {
		return false, true
	}
	node, findings := part.Expand(replace)
	if len(findings) == 0 {
		findings = node.Decode(into)
	}
	b.blame(arch, document.Under(path, findings))
	return true, !document.HasErrors(findings)
}

// blame reports a finding in the archetype's file as a problem of this pipeline's file, naming
// both.
func (b *builder) blame(arch *archetype, findings []document.Finding) {
	for _, p := range arch.doc.Resolve(findings...) {
		b.add(document.Finding{Path: "archetype", Severity: p.Severity, Message: fmt.Sprintf("archetype %q, at %s", arch.file.Name, p)})
	}
}

// parameters returns the value of every parameter of arch: the pipeline's, or else its default.
func (b *builder) parameters(arch *archetype) (map[string]any, bool) {
	values := map[string]any{}
	fine := true
	known := slices.Sorted(maps.Keys(arch.file.Parameters))
	for _, name := range known {
		p, at := arch.file.Parameters[name], arch.at(document.KeyPath("parameters", name))
		value, given := b.file.With[name]
		switch {
		case given:
			if message := p.refuses(value); message != "" {
				b.errorf(document.KeyPath("with", name), "%s (a parameter of %s)", message, at)
				fine = false
			}
		case p.Default == nil:
			b.errorf(b.withPath(), "%s: needs the parameter with.%s: %s", at, name, p.wants())
			fine = false
		default:
			value = p.Default
		}
		values[name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(b.file.With)) {
		if _, ok := arch.file.Parameters[name]; !ok {
			b.errorf(document.KeyPath("with", name), "%s", unknownParameter(arch, name, known))
			fine = false
		}
	}
	return values, fine
}

// withPath returns where parameters are given, or would have to be.
func (b *builder) withPath() string {
	if b.doc.Has("with") {
		return "with"
	}
	return "archetype"
}

func unknownParameter(arch *archetype, name string, known []string) string {
	at := arch.at("parameters")
	if near, ok := document.Suggest(name, known); ok {
		return fmt.Sprintf("%s: has no parameter %q; did you mean %q?", at, name, near)
	}
	if len(known) == 0 {
		return fmt.Sprintf("%s: has no parameters", at)
	}
	return fmt.Sprintf("%s: has no parameter %q; it has %s", at, name, strings.Join(known, ", "))
}
