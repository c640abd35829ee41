package pipeline

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/rule"
)

// The older form of readiness: traits, each decided by an evaluator. A trait becomes a probe that
// writes its answer to the sensor of the trait's name, and a rule on that sensor. Nothing else in
// Interlock knows traits.

// traitSection is one trait of a pipeline.
type traitSection struct {
	Evaluator *document.TextOrList `yaml:"evaluator" doc:"A program and its arguments, an http(s) address, or builtin:NAME."`
	Config    map[string]any       `yaml:"config" doc:"Passed to the evaluator, merged over the archetype's defaults."`
	Interval  *seconds             `yaml:"interval" doc:"How often it is evaluated; default watch.interval."`
	TTL       *seconds             `yaml:"ttl" doc:"How long its answer is valid."`
	Timeout   *seconds             `yaml:"timeout" doc:"How long it may run before it is killed."`
}

// traitMap is a pipeline's traits by type.
type traitMap map[string]traitSection

// traitDefault is a trait declared by an archetype.
type traitDefault struct {
	Type           string               `yaml:"type" required:"true" doc:"The trait's name."`
	Description    string               `yaml:"description" doc:"A description for people."`
	Evaluator      *document.TextOrList `yaml:"defaultEvaluator" doc:"The evaluator, if a pipeline sets none."`
	DefaultConfig  map[string]any       `yaml:"defaultConfig" doc:"The config; a pipeline's own config is merged over it."`
	DefaultTTL     *seconds             `yaml:"defaultTtl" doc:"How long an answer is valid."`
	DefaultTimeout *seconds             `yaml:"defaultTimeout" doc:"How long the evaluator may run before it is killed."`
}

// readiness is the older readinessRule: a name, or a name with a threshold.
type readiness struct {
	Type      string   `yaml:"type" required:"true" enum:"all-required-pass,majority-pass" doc:"Which required traits must pass."`
	Threshold *float64 `yaml:"threshold" above:"0" doc:"For majority-pass: a number of traits, or a share below 1."`
}

func (r *readiness) DecodeNode(n document.Node) []document.Finding {
	if n.Kind() != document.String {
		type plain readiness
		return n.Decode((*plain)(r))
	}
	r.Type = n.Text()
	if slices.Contains(readinessTypes, r.Type) {
		return nil
	}
	return []document.Finding{{Message: fmt.Sprintf("unknown readiness rule %q; use %s", r.Type, strings.Join(readinessTypes, " or "))}}
}

var readinessTypes = []string{allRequiredPass, majorityPass}

const (
	allRequiredPass = "all-required-pass"
	majorityPass    = "majority-pass"
)

func (readiness) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "string", Enum: []any{allRequiredPass, majorityPass}},
		{Type: "object", Required: []string{"type"}},
	}}
}

// addTraits compiles the pipeline's traits, and those its archetype declares, into probes and
// rules.
func (b *builder) addTraits(arch *archetype, a *additions) {
	var required, optional []traitDefault
	ready := readiness{Type: allRequiredPass}
	if arch != nil {
		required, optional = arch.file.RequiredTraits, arch.file.OptionalTraits
		if arch.file.ReadinessRule != nil {
			ready = *arch.file.ReadinessRule
		}
	}
	announced := map[string]bool{}
	for _, t := range slices.Concat(required, optional) {
		announced[t.Type] = true
	}
	for _, name := range slices.Sorted(maps.Keys(b.file.Traits)) {
		if !announced[name] {
			required = append(required, traitDefault{Type: name}) // the pipeline's own trait
		}
	}
	for _, t := range required {
		a.failed = !b.addTrait(t, true) || a.failed
	}
	for _, t := range optional {
		a.failed = !b.addTrait(t, false) || a.failed
	}
	a.rules = append(a.rules, traitRules(required, optional, ready)...)
}

// addTrait adds the probe of one trait, and reports whether it could. An optional trait without an
// evaluator is not probed. A trait without its own interval is evaluated whenever the pipeline is:
// at watch.interval.
func (b *builder) addTrait(t traitDefault, required bool) bool {
	section := t.section(b.file.Traits[t.Type])
	if section.Interval == nil {
		section.Interval = &seconds{Duration: b.def.Interval}
	}
	path := document.KeyPath("traits", t.Type)
	if section.kinds() == 0 {
		if required {
			b.errorf(path+".evaluator", "the trait %q needs an evaluator: a program, or an http(s) address", t.Type)
		}
		return !required
	}
	probe, findings := resolveProbe(section)
	b.addUnder(path, renamed(findings, map[string]string{"key": "", "command": "evaluator", "url": "evaluator", "builtin": "evaluator"}))
	b.keepProbe(path, probe)
	return !document.HasErrors(findings)
}

// renamed maps findings about a probe to the keys of the older form.
func renamed(findings []document.Finding, names map[string]string) []document.Finding {
	moved := slices.Clone(findings)
	for i, f := range findings {
		for name, older := range names {
			if document.Within(f.Path, name) {
				moved[i].Path = older + strings.TrimPrefix(f.Path, name)
			}
		}
	}
	return moved
}

// section returns the trait as a probe: the pipeline's settings override the archetype's.
func (t traitDefault) section(own traitSection) ProbeSection {
	evaluator := own.Evaluator
	if evaluator == nil {
		evaluator = t.Evaluator
	}
	section := ProbeSection{Key: t.Type, Config: map[string]any{}, Interval: own.Interval, TTL: own.TTL, Timeout: own.Timeout}
	maps.Copy(section.Config, t.DefaultConfig)
	maps.Copy(section.Config, own.Config)
	if section.TTL == nil {
		section.TTL = t.DefaultTTL
	}
	if section.Timeout == nil {
		section.Timeout = t.DefaultTimeout
	}
	if evaluator == nil {
		return section
	}
	address, isAddress := asAddress(evaluator)
	name, isBuiltin := asBuiltin(evaluator)
	switch {
	case isAddress:
		section.URL = address
	case isBuiltin:
		section.Builtin = name
	default:
		section.Command = evaluator
	}
	return section
}

// asAddress reports whether an evaluator is an HTTP endpoint rather than a program.
func asAddress(evaluator *document.TextOrList) (string, bool) {
	if !evaluator.IsText {
		return "", false
	}
	text := evaluator.Values[0]
	return text, strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

// asBuiltin reports whether an evaluator is built in, written as builtin:NAME.
func asBuiltin(evaluator *document.TextOrList) (Builtin, bool) {
	if !evaluator.IsText {
		return "", false
	}
	name, ok := strings.CutPrefix(evaluator.Values[0], "builtin:")
	return Builtin(name), ok
}

// traitRules returns the rules for traits: all required traits must pass, or enough of them;
// optional ones are only shown.
func traitRules(required, optional []traitDefault, ready readiness) []rule.Rule {
	passes := func(t traitDefault, level rule.Level) rule.Rule {
		return rule.Rule{Key: t.Type, Check: rule.Equals, Field: "status", Value: "PASS", Level: level}
	}
	var rules []rule.Rule
	for _, t := range required {
		rules = append(rules, passes(t, rule.Required))
	}
	if ready.Type == majorityPass && len(rules) > 0 {
		rules = []rule.Rule{{AtLeast: &rule.AtLeast{N: majority(len(rules), ready.Threshold), Of: rules}}}
	}
	for _, t := range optional {
		rules = append(rules, passes(t, rule.Advisory))
	}
	return rules
}

// majority returns how many of n must pass: more than half, or the threshold, which is a number or,
// below 1, a fraction.
func majority(n int, threshold *float64) int {
	switch {
	case threshold == nil:
		return n/2 + 1
	case *threshold < 1:
		return max(1, int(math.Ceil(*threshold*float64(n))))
	default:
		return int(min(float64(n), math.Ceil(*threshold)))
	}
}
